package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// patience is how often, and how long apart, an object that others change at the same time is planned on afresh: some two
// seconds in all.
var patience = wait.Backoff{Steps: 20, Duration: 10 * time.Millisecond, Factor: 1.2, Jitter: 0.5}

// bring makes one object what in wants, and then sees to it that just those policies are beside it that in wants. Policies
// that are not wanted go before the object is written, which until then tells of them, and new ones come after it. One that
// cannot be removed mirrors nothing any more: it keeps nothing from being served, is tried again, and Verify tells of it.
func (e *Engine) bring(ctx context.Context, api API, observed Object, selection Selection, in intent.Intent) error {
	observed, err := e.withPolicies(ctx, api, observed, in)
	if err != nil && intent.Mirrors(in.Managed) {
		return err
	}
	plan, err := MakePlan(api, observed, selection, in)
	if err != nil {
		return err
	}
	observed.Policies = e.removePolicies(ctx, api, observed, plan, in)
	if err := e.write(ctx, api, observed, selection, in); err != nil {
		return err
	}
	return e.writePolicies(ctx, api, observed, plan, in)
}

// write makes one object what in wants. On a conflict it reads afresh and plans again.
func (e *Engine) write(ctx context.Context, api API, observed Object, selection Selection, in intent.Intent) error {
	policies, known := observed.Policies, observed.PoliciesKnown
	err := retry.RetryOnConflict(patience, func() error {
		plan, err := MakePlan(api, observed, selection, in)
		if err != nil || len(plan.Patch) == 0 {
			return err
		}
		if err := e.checkServices(ctx, plan.NewServices, in); err != nil {
			return fmt.Errorf("%s: %w", objectName(api, observed), err)
		}
		written, err := e.send(ctx, api, observed, plan)
		if err == nil {
			e.log(in, objectName(api, observed), plan)
			written.Policies, written.PoliciesKnown = policies, known
			return stillAsWritten(api, written, selection, in)
		}
		if apierrors.IsConflict(err) {
			if fresh, getErr := e.Cluster.Get(ctx, api.Resource(), observed.Namespace, observed.Name); getErr != nil {
				err = fmt.Errorf("%s: %w", objectName(api, observed), getErr)
			} else {
				observed = fresh
				observed.Policies, observed.PoliciesKnown = policies, known
			}
		}
		return err
	})
	if apierrors.IsConflict(err) {
		return fmt.Errorf("%s: others changed it each of the %d times that it was about to be written; it will be tried again (%w)",
			objectName(api, observed), patience.Steps, err)
	}
	return err
}

// stillAsWritten fails if an object that was just written is not as it was to be: something in the API server's way, such
// as a webhook, has changed it back.
func stillAsWritten(api API, written Object, selection Selection, in intent.Intent) error {
	left, err := MakePlan(api, written, selection, in)
	if err != nil {
		return fmt.Errorf("after it was written: %w", err)
	}
	if len(left.Patch) > 0 {
		return fmt.Errorf("%s: it was written and is not as it was to be; does an admission webhook change it back?", objectName(api, written))
	}
	return nil
}

// send patches an object on condition that it is still the one that was planned on.
func (e *Engine) send(ctx context.Context, api API, observed Object, plan Plan) (Object, error) {
	patch := append([]Operation{{Op: "replace", Path: "/metadata/resourceVersion", Value: observed.ResourceVersion}}, plan.Patch...)
	data, err := json.Marshal(patch)
	if err != nil {
		return Object{}, fmt.Errorf("%s: %w", objectName(api, observed), err)
	}
	written, err := e.Cluster.Patch(ctx, api.Resource(), observed.Namespace, observed.Name, data)
	if err != nil {
		return Object{}, fmt.Errorf("%s: %w", objectName(api, observed), err)
	}
	e.generations.wrote(written)
	return written, nil
}

// checkServices fails if a Service that is about to get traffic, or its port, is not there: Gloo answers 500 on such a
// route. Services of other clusters cannot be seen from here.
func (e *Engine) checkServices(ctx context.Context, services []NewService, in intent.Intent) error {
	seen := map[string]bool{}
	for _, s := range services {
		d := s.Destination
		if d.Cluster != "" && d.Cluster != in.Cluster || seen[d.Key()] {
			continue
		}
		seen[d.Key()] = true
		service, err := e.Cluster.Service(ctx, d.Namespace, d.Name)
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("%s: Service %s/%s does not exist, so traffic cannot be sent to it; create it", s.Place, d.Namespace, d.Name)
		}
		if err != nil {
			return fmt.Errorf("%s: Service %s/%s: %w", s.Place, d.Namespace, d.Name, err)
		}
		if _, found := service.Find(d.Port); !found {
			if len(service.Ports) == 0 {
				return fmt.Errorf("%s: Service %s/%s has no ports, so traffic cannot be sent to it; add one", s.Place, d.Namespace, d.Name)
			}
			if d.Port == nil {
				return fmt.Errorf("%s: Service %s/%s has several ports (%s), and the route gives none; give stable a port there", s.Place, d.Namespace, d.Name, service)
			}
			return fmt.Errorf("%s: Service %s/%s has no port %s (it has %s); add it, or list the destination with another",
				s.Place, d.Namespace, d.Name, d.Port, service)
		}
	}
	return nil
}

// log tells what a patch has changed.
func (e *Engine) log(in intent.Intent, object string, plan Plan) {
	for _, c := range plan.Changes {
		e.Log.Info("weight changed", "rollout", in.Owner, "object", object, "route", c.Place,
			"destination", c.Destination.String(), "from", c.From, "to", c.To)
	}
	for _, place := range plan.Added {
		e.Log.Info("managed route added", "rollout", in.Owner, "object", object, "before", place)
	}
	for _, place := range plan.Changed {
		e.Log.Info("managed route changed", "rollout", in.Owner, "object", object, "route", place)
	}
	for _, place := range plan.Removed {
		e.Log.Info("managed route removed", "rollout", in.Owner, "object", object, "route", place)
	}
}
