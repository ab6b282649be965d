package engine

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// bring makes one object what in wants, and sees to it that just those policies are beside it that in wants. Nothing is
// written unless all that can be known beforehand is as it must be. Policies come first: a new one mirrors nothing before the
// object has its route, and of those that go the object tells until it is written. One that cannot be removed mirrors
// nothing any more: it keeps nothing from being served, is tried again, and Verify tells of it.
func (e *Engine) bring(ctx context.Context, api API, observed Object, selection Selection, in intent.Intent) error {
	observed, err := e.withPolicies(ctx, api, observed, in)
	if err != nil && intent.Mirrors(in.Managed) && !selection.None {
		return err
	}
	plan, err := e.plan(ctx, api, observed, selection, in)
	if err != nil {
		return err
	}
	if err := e.writePolicies(ctx, api, observed, plan, in); err != nil {
		return err
	}
	if left := e.removePolicies(ctx, api, observed, plan, in); len(left) < len(observed.Policies) {
		observed.Policies = left
		if plan, err = e.makePlan(api, observed, selection, in); err != nil { // there is less to remember
			return err
		}
	}
	if len(plan.Patch) == 0 {
		e.generations.settle(observed)
		return nil
	}
	return e.write(ctx, api, observed, plan, selection, in)
}

// plan plans on an object, and fails also if a Service that is to get traffic cannot.
func (e *Engine) plan(ctx context.Context, api API, observed Object, selection Selection, in intent.Intent) (Plan, error) {
	plan, err := e.makePlan(api, observed, selection, in)
	if err != nil {
		return plan, err
	}
	if err := e.checkServices(ctx, plan.NewServices, in); err != nil {
		return plan, fmt.Errorf("%s: %w", objectName(api, observed), err)
	}
	return plan, nil
}

// write carries out what was planned on an object. If somebody changes that meanwhile, it reads afresh and plans again.
func (e *Engine) write(ctx context.Context, api API, observed Object, plan Plan, selection Selection, in intent.Intent) error {
	give, stale, err := e.turns.take(ctx, objectName(api, observed))
	if err != nil {
		return fmt.Errorf("%s: it was being written for other Rollouts all the time; it will be tried again (%w)", objectName(api, observed), err)
	}
	defer give()
	times, err := persist(ctx, func() (err error) {
		if stale {
			if observed, err = e.afresh(ctx, api, observed); err != nil {
				return err
			}
			if plan, err = e.plan(ctx, api, observed, selection, in); err != nil {
				return err
			}
			if len(plan.Patch) == 0 {
				e.generations.settle(observed)
				return nil
			}
		}
		err = e.writeOnce(ctx, api, observed, plan, selection, in)
		stale = apierrors.IsConflict(err)
		return err
	})
	if apierrors.IsConflict(err) {
		return fmt.Errorf("%s: others changed it each of the %d times that it was about to be written; it will be tried again (%w)",
			objectName(api, observed), times, err)
	}
	return err
}

// writeOnce sends the patch that was planned on an object as observed.
func (e *Engine) writeOnce(ctx context.Context, api API, observed Object, plan Plan, selection Selection, in intent.Intent) error {
	patch, err := patchOf(observed, plan)
	if err != nil {
		return fmt.Errorf("%s: %w", objectName(api, observed), err)
	}
	if plan.Rehearsed {
		if err := e.rehearse(ctx, api, observed, patch, selection, in); err != nil {
			return e.explainRefusal(ctx, api, observed, err)
		}
	}
	written, err := e.send(ctx, api, observed, patch)
	if err != nil {
		return e.explainRefusal(ctx, api, observed, err)
	}
	e.log(in, objectName(api, observed), plan)
	written.Policies, written.PoliciesKnown = observed.Policies, observed.PoliciesKnown
	return e.stillAsWritten(api, written, selection, in)
}

// afresh reads an object again. Its policies are still those that were found.
func (e *Engine) afresh(ctx context.Context, api API, o Object) (Object, error) {
	fresh, err := e.Cluster.Fresh(ctx, api.Resource(), o.Namespace, o.Name)
	if err != nil {
		return o, fmt.Errorf("%s: %w", objectName(api, o), err)
	}
	fresh.Policies, fresh.PoliciesKnown = o.Policies, o.PoliciesKnown
	return fresh, nil
}

// again reads an object again, and reports whether it is another than it was when it was read.
func (e *Engine) again(ctx context.Context, api API, o Object) (fresh Object, changed bool) {
	fresh, err := e.afresh(ctx, api, o)
	return fresh, err == nil && fresh.ResourceVersion != o.ResourceVersion
}

// explainRefusal tells a conflict from a patch that is refused for what it says. The API server applies a patch before it
// compares versions, so one that was planned on an older object may not fit and be called invalid: that is a conflict too.
func (e *Engine) explainRefusal(ctx context.Context, api API, planned Object, err error) error {
	if !apierrors.IsInvalid(err) {
		return err
	}
	fresh, getErr := e.afresh(ctx, api, planned)
	if getErr != nil || fresh.ResourceVersion == planned.ResourceVersion {
		return err
	}
	return apierrors.NewConflict(api.Resource().GroupResource(), planned.Name, err)
}

// stillAsWritten fails if an object that was just written is not as it was to be: something in the API server's way, such
// as a webhook, has changed it back.
func (e *Engine) stillAsWritten(api API, written Object, selection Selection, in intent.Intent) error {
	left, err := e.makePlan(api, written, selection, in)
	if err != nil {
		return fmt.Errorf("after it was written: %w", err)
	}
	if len(left.Patch) > 0 {
		return fmt.Errorf("%s: it was written and is not as it was to be; does an admission webhook change it back?", objectName(api, written))
	}
	return nil
}

// patchOf returns the patch of a plan, on condition that the object is still the one that was planned on.
func patchOf(observed Object, plan Plan) ([]byte, error) {
	return json.Marshal(append([]Operation{{Op: "replace", Path: "/metadata/resourceVersion", Value: observed.ResourceVersion}}, plan.Patch...))
}

// rehearse fails if the API server would not keep all that a patch says: an older definition of a kind drops fields that it
// does not know.
func (e *Engine) rehearse(ctx context.Context, api API, observed Object, patch []byte, selection Selection, in intent.Intent) error {
	rehearsed, err := e.Cluster.Rehearse(ctx, api.Resource(), observed.Namespace, observed.Name, patch)
	if err != nil {
		return fmt.Errorf("%s: %w", objectName(api, observed), err)
	}
	left, err := MakePlan(api, rehearsed, selection, in)
	if err == nil && len(left.Patch) > 0 {
		return fmt.Errorf("%s: nothing was written, since the API server would not keep that a part of the requests is to be mirrored: its definition of %s is too old for it; mirror all of them, or install a newer one",
			objectName(api, observed), api.Kind())
	}
	return err
}

// send patches an object.
func (e *Engine) send(ctx context.Context, api API, observed Object, patch []byte) (Object, error) {
	written, err := e.Cluster.Patch(ctx, api.Resource(), observed.Namespace, observed.Name, patch)
	if err != nil {
		e.generations.doubt(observed)
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

// log tells what a patch has changed: where that is no share of a route, but how one is spelt or what is remembered, that
// something has.
func (e *Engine) log(in intent.Intent, object string, plan Plan) {
	if len(plan.Changes)+len(plan.Added)+len(plan.Changed)+len(plan.Removed) == 0 {
		e.Log.Info("object changed, and no share of its routes", "rollout", in.Owner, "object", object)
	}
	for _, c := range plan.Changes {
		e.Log.Info("weight changed", "rollout", in.Owner, "object", object, "route", c.Place,
			"destination", c.Destination.String(), "from", c.From, "to", c.To)
	}
	for _, place := range plan.Added {
		e.Log.Info("managed route added", "rollout", in.Owner, "object", object, "source", place)
	}
	for _, place := range plan.Changed {
		e.Log.Info("managed route changed", "rollout", in.Owner, "object", object, "route", place)
	}
	for _, place := range plan.Removed {
		e.Log.Info("managed route removed", "rollout", in.Owner, "object", object, "route", place)
	}
}
