package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Cluster is what the engine asks of the API server. Errors are those of the API server, wrapped so that a person can act
// on them: apierrors.IsNotFound and its like still tell them apart, and [ErrUnserved].
type Cluster interface {
	Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (Object, error)
	// List returns the objects in a namespace, or in all if it is empty, that a selector matches.
	List(ctx context.Context, resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]Object, error)
	// Survey returns the objects in a namespace, or in all if it is empty, with their metadata alone.
	Survey(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]Object, error)
	// Patch applies a JSON Patch and returns the object after it.
	Patch(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte) (Object, error)
	Create(ctx context.Context, resource schema.GroupVersionResource, namespace string, object []byte) error
	Delete(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) error
	Service(ctx context.Context, namespace, name string) (intent.Service, error)
}

// ErrUnserved says that the API server does not know a resource.
var ErrUnserved = errors.New("resource is not served")

// Target is a set of objects that carry a Rollout's traffic: one by name, or all of a namespace that a selector matches.
type Target struct {
	API       API
	Namespace string
	// Name is the object's; empty: Selector says which.
	Name string
	// Selector matches the objects' labels; nil: any.
	Selector labels.Selector
	// Routes narrows the objects' routes; nil: every one that forwards to stable.
	Routes *config.RouteSelector
}

// Engine brings objects in a cluster to what Rollouts want. It is safe for concurrent use.
type Engine struct {
	Cluster Cluster
	Log     hclog.Logger

	generations generations
	// narrow says once that not every object can be listed.
	narrow sync.Once
}

// Set brings every object of the targets to in, and puts at rest what the Rollout holds on objects that are not selected
// any more. An object that cannot be served makes it fail, but does not keep the others from being served.
func (e *Engine) Set(ctx context.Context, in intent.Intent, targets []Target) error {
	in, err := e.lookUp(ctx, in)
	if err != nil {
		return err
	}
	var served []error
	selected, faults := e.eachSelected(ctx, targets, func(target Target, objects []Object) {
		served = append(served, e.serve(ctx, in, target, objects)...)
	})
	faults = append(faults, served...)
	if in.KeepWeights {
		return join(faults)
	}
	leftBehind, err := e.leftBehind(ctx, in, targets, selected)
	if err != nil {
		faults = append(faults, err)
	}
	for _, l := range leftBehind {
		if err := e.bring(ctx, l.api, l.object, Selection{None: true}, in); err != nil {
			faults = append(faults, err)
		}
	}
	return join(faults)
}

// eachSelected calls do with the objects of each target, and returns the names of all of them. The names are nil if some
// target could not be read, so that it is not known what is not selected.
func (e *Engine) eachSelected(ctx context.Context, targets []Target, do func(Target, []Object)) (selected map[string]bool, faults []error) {
	selected, known := map[string]bool{}, true
	for _, target := range targets {
		objects, err := e.find(ctx, target)
		if err != nil {
			faults = append(faults, err)
			known = known && errors.Is(err, errNone)
			continue
		}
		do(target, objects)
		for _, o := range objects {
			selected[objectName(target.API, o)] = true
		}
	}
	if !known {
		return nil, faults
	}
	return selected, faults
}

// RemoveManaged takes the Rollout's managed routes out of every object that holds some, selected or not. It fails only
// where some are known to be there and cannot be taken out: what cannot be read is left to Set.
func (e *Engine) RemoveManaged(ctx context.Context, in intent.Intent, targets []Target) error {
	in.Managed, in.KeepWeights = nil, true
	var faults []error
	done := map[string]bool{}
	for _, target := range targets {
		for _, o := range e.withManaged(ctx, in, target) {
			name := objectName(target.API, o)
			if done[name] {
				continue
			}
			done[name] = true
			if err := e.bring(ctx, target.API, o, Selection{None: true}, in); err != nil && !apierrors.IsNotFound(err) {
				faults = append(faults, err)
			}
		}
	}
	return join(faults)
}

// withManaged returns the objects that have managed routes of the Rollout: those that a target selects, by their routes'
// label, and others by their annotation.
func (e *Engine) withManaged(ctx context.Context, in intent.Intent, target Target) []Object {
	note := func(err error) {
		e.Log.Debug("managed routes not looked for everywhere", "rollout", in.Owner, "reason", err.Error())
	}
	var objects []Object
	if target.Name != "" || target.Selector != nil {
		selected, err := e.find(ctx, target)
		if err != nil {
			note(err)
		}
		objects = selected
	}
	surveyed, err := e.survey(ctx, target, in.Namespace)
	if err != nil {
		note(err)
	}
	for _, o := range surveyed {
		if !recall(o.Annotations, in.Owner).managed {
			continue
		}
		whole, err := e.whole(ctx, target.API, o)
		if err != nil {
			note(err)
			continue
		}
		objects = append(objects, whole)
	}
	return slices.DeleteFunc(objects, func(o Object) bool { return !mayHoldManaged(o, in) })
}

// serve brings the objects of one target to in. Objects that were found by label and that never forward to stable are
// passed over, as long as one is left.
func (e *Engine) serve(ctx context.Context, in intent.Intent, target Target, objects []Object) []error {
	var faults, passedOver []error
	for _, o := range objects {
		err := e.bring(ctx, target.API, o, Selection{Routes: target.Routes}, in)
		if errors.Is(err, ErrNoRoute) && target.Name == "" {
			e.Log.Debug("object passed over", "rollout", in.Owner, "object", objectName(target.API, o), "reason", err.Error())
			passedOver = append(passedOver, err)
			err = e.bring(ctx, target.API, o, Selection{None: true}, in)
		}
		if err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) == 0 && len(passedOver) == len(objects) {
		return passedOver
	}
	return faults
}

// holding is an object that a Rollout may hold something on, though it is not selected.
type holding struct {
	api    API
	object Object
}

// leftBehind returns the objects that are not selected and on which the Rollout may hold something; none if it is not known
// what is selected. Their annotations tell which those are. While the Rollout is under way, the objects in a target's namespace are looked at as a whole, for those
// whose annotation was lost.
func (e *Engine) leftBehind(ctx context.Context, in intent.Intent, targets []Target, selected map[string]bool) ([]holding, error) {
	if selected == nil {
		return nil, nil
	}
	var found []holding
	seen := maps.Clone(selected)
	for _, target := range targets {
		objects, err := e.survey(ctx, target, in.Namespace)
		if err != nil {
			return nil, err
		}
		if len(in.Used) > 0 {
			near, err := e.Cluster.List(ctx, target.API.Resource(), target.Namespace, labels.Everything())
			if err != nil && !apierrors.IsForbidden(err) {
				return nil, err
			}
			objects = append(objects, near...)
		}
		for _, o := range objects {
			name := objectName(target.API, o)
			if seen[name] || !mayHold(target.API, o, in) {
				continue
			}
			seen[name] = true
			whole, err := e.whole(ctx, target.API, o)
			if err != nil {
				return nil, err
			}
			found = append(found, holding{target.API, whole})
		}
	}
	return found, nil
}

// whole reads an object of which only the metadata may be known.
func (e *Engine) whole(ctx context.Context, api API, o Object) (Object, error) {
	if o.JSON != nil {
		return o, nil
	}
	read, err := e.Cluster.Get(ctx, api.Resource(), o.Namespace, o.Name)
	if err != nil {
		return o, fmt.Errorf("%s: %w", objectName(api, o), err)
	}
	return read, nil
}

// survey returns the metadata of the objects that may carry a record of the Rollout: those of all namespaces, or, where
// listing those is not permitted, of the target's and the Rollout's own.
func (e *Engine) survey(ctx context.Context, target Target, namespace string) ([]Object, error) {
	resource := target.API.Resource()
	all, err := e.Cluster.Survey(ctx, resource, "")
	if err == nil || !apierrors.IsForbidden(err) {
		return all, err
	}
	e.narrow.Do(func() {
		e.Log.Warn("what a change of selection leaves behind is only found in namespaces that may be listed", "reason", err.Error())
	})
	var objects []Object
	for _, ns := range slices.Compact([]string{target.Namespace, namespace}) {
		found, err := e.Cluster.Survey(ctx, resource, ns)
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// Verdict is whether the cluster holds and serves what was asked for.
type Verdict struct {
	// Waiting says what the control plane has not come to yet. It will pass.
	Waiting []string
	// Faults are what is wrong, or what kept it from being seen. Somebody has to act.
	Faults []error
	// Warnings are what a person should know all the same.
	Warnings []string
}

// Verified reports whether everything is as it was asked for.
func (v Verdict) Verified() bool { return len(v.Waiting) == 0 && len(v.Faults) == 0 }

// Fault returns all faults as one, or nil.
func (v Verdict) Fault() error { return join(v.Faults) }

func (v *Verdict) fault(err error) { v.Faults = append(v.Faults, err) }

// Verify tells whether every object of the targets is as in wants it and, with acceptance, whether the control plane has
// accepted it as this process last wrote it; and whether nothing is left on objects that are not selected any more.
func (e *Engine) Verify(ctx context.Context, in intent.Intent, targets []Target, acceptance bool) Verdict {
	verdict := Verdict{}
	in, err := e.lookUp(ctx, in)
	if err != nil {
		verdict.fault(err)
		return verdict
	}
	selected, faults := e.eachSelected(ctx, targets, func(target Target, objects []Object) {
		e.verify(ctx, &verdict, in, target, objects, acceptance)
	})
	verdict.Faults = append(faults, verdict.Faults...)
	leftBehind, err := e.leftBehind(ctx, in, targets, selected)
	if err != nil {
		verdict.fault(err)
	}
	for _, l := range leftBehind {
		if plan, err := MakePlan(l.api, l.object, Selection{None: true}, in); err != nil {
			verdict.fault(err)
		} else if len(plan.Patch) > 0 {
			verdict.fault(fmt.Errorf("%s: it is not selected any more, and not at rest", objectName(l.api, l.object)))
		}
	}
	return verdict
}

// verify adds what is to be said of the objects of one target to the verdict.
func (e *Engine) verify(ctx context.Context, verdict *Verdict, in intent.Intent, target Target, objects []Object, acceptance bool) {
	passedOver := 0
	for _, o := range objects {
		o, unread := e.withPolicies(ctx, target.API, o, in)
		plan, err := MakePlan(target.API, o, Selection{Routes: target.Routes}, in)
		switch {
		case errors.Is(err, ErrNoRoute) && target.Name == "" && passedOver+1 < len(objects):
			passedOver++
			continue
		case err != nil:
			verdict.fault(err)
		case unread != nil && intent.Mirrors(in.Managed):
			verdict.fault(unread)
		case len(plan.Patch) > 0:
			verdict.fault(fmt.Errorf("%s: it is not as it was set", objectName(target.API, o)))
		default:
			e.verifyPolicies(verdict, target.API, o, plan, acceptance)
			if unread != nil {
				verdict.Warnings = append(verdict.Warnings, unread.Error())
			}
		}
		if acceptance {
			e.judge(verdict, target.API, target.API.Kind(), o)
		}
	}
}

// errNone says that a selection matches no object. It is an answer, where other errors leave it open.
var errNone = errors.New("none")

// find reads the objects of a target. None is an error.
func (e *Engine) find(ctx context.Context, target Target) ([]Object, error) {
	resource := target.API.Resource()
	if target.Name != "" {
		o, err := e.Cluster.Get(ctx, resource, target.Namespace, target.Name)
		if apierrors.IsNotFound(err) {
			return nil, worded{fmt.Sprintf("%s %s/%s does not exist%s", target.API.Kind(), target.Namespace, target.Name, e.neighbours(ctx, target)), errNone}
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s/%s: %w", target.API.Kind(), target.Namespace, target.Name, err)
		}
		if target.Selector != nil && !target.Selector.Matches(labels.Set(o.Labels)) {
			return nil, worded{fmt.Sprintf("%s: its labels do not match %s, as the config block wants; drop the labels there or add them here",
				objectName(target.API, o), target.Selector), errNone}
		}
		return []Object{o}, nil
	}
	objects, err := e.Cluster.List(ctx, resource, target.Namespace, target.Selector)
	if err != nil {
		return nil, fmt.Errorf("%ss in namespace %s: %w", target.API.Kind(), target.Namespace, err)
	}
	if len(objects) == 0 {
		return nil, worded{fmt.Sprintf("no %s in namespace %s matches %s%s", target.API.Kind(), target.Namespace, target.Selector, e.neighbours(ctx, target)), errNone}
	}
	return objects, nil
}

// neighbours names the objects that are there when the wanted one is not.
func (e *Engine) neighbours(ctx context.Context, target Target) string {
	objects, err := e.Cluster.Survey(ctx, target.API.Resource(), target.Namespace)
	if err != nil {
		return "; correct the selector or create it"
	}
	if len(objects) == 0 {
		return "; that namespace has none at all: is it the right one?"
	}
	return fmt.Sprintf("; there are %s: correct the selector or create it",
		list(objects, func(o Object) string { return o.Name }, ", "))
}

// lookUp fills in the Services that the plan has to know: those of the experiments and, for the ports, stable's.
func (e *Engine) lookUp(ctx context.Context, in intent.Intent) (intent.Intent, error) {
	if len(in.Experiments) == 0 || in.KeepWeights {
		return in, nil
	}
	names := []string{in.Stable.Name, in.Canary.Name} // either may be the one that is listed
	for _, experiment := range in.Experiments {
		names = append(names, experiment.Destination.Name)
	}
	in.Services = map[string]intent.Service{}
	for _, name := range names {
		service, err := e.Cluster.Service(ctx, in.Namespace, name)
		if err == nil {
			in.Services[name] = service
		} else if !apierrors.IsNotFound(err) {
			return in, fmt.Errorf("Service %s/%s: %w", in.Namespace, name, err)
		}
	}
	return in, nil
}

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

func objectName(api API, o Object) string {
	return fmt.Sprintf("%s %s/%s", api.Kind(), o.Namespace, o.Name)
}
