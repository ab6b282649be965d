package engine

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Rest is what puts one object at rest for a Rollout: planned, so that a person can look at it, and not written yet.
type Rest struct {
	API API
	// Observed is the object as it was planned on.
	Observed Object
	// Patch is what is to be done to it; it may be empty.
	Patch []Operation
	// Policies are those of the Rollout beside the object. They are to go.
	Policies []Object

	plan      Plan
	selection Selection
}

// Object names the object as errors do.
func (r Rest) Object() string { return objectName(r.API, r.Observed) }

// PlanRest returns what puts every object of a namespace, or of all if that is empty, at rest for a Rollout: those that the
// targets select, and those on which it holds something all the same. Of the objects that are at rest already there is
// nothing. Nothing is written. An object for which there is no plan makes it fail, and the others are returned all the same.
func (e *Engine) PlanRest(ctx context.Context, api API, in intent.Intent, namespace string, targets []Target) ([]Rest, error) {
	in.CanaryShare, in.Experiments, in.Managed = 0, nil, nil
	objects, err := e.Cluster.List(ctx, api.Resource(), namespace, labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("%ss: %w", api.Kind(), err)
	}
	policies, unread := e.policiesOf(ctx, api, in, namespace)
	var rests []Rest
	var faults []error
	for _, o := range objects {
		rest := Rest{API: api, Policies: policies[policyLabels(in, o)[ObjectLabel]]}
		if o.PoliciesKnown = unread == nil; unread != nil && mayHoldManaged(o, in) && mayBeMirrored(o, in) {
			faults = append(faults, fmt.Errorf("%s: %s: %w", objectName(api, o), api.Policies().Kind, unread))
		}
		rest.Observed = o
		if err := e.planRest(ctx, &rest, targets, in); err != nil {
			faults = append(faults, err)
		} else if len(rest.Patch)+len(rest.Policies) > 0 {
			rests = append(rests, rest)
		}
	}
	return rests, join(faults)
}

// planRest plans on one object, as if its policies were gone. One that a target selects and that does not forward to stable
// is treated as one that is selected no more.
func (e *Engine) planRest(ctx context.Context, rest *Rest, targets []Target, in intent.Intent) (err error) {
	for _, target := range targets {
		if target.API.Kind() != rest.API.Kind() || !target.Selects(rest.Observed) {
			continue
		}
		rest.selection = target.selection()
		if rest.plan, err = e.plan(ctx, rest.API, rest.Observed, rest.selection, in); !errors.Is(err, ErrNoRoute) {
			rest.Patch = rest.plan.Patch
			return err
		}
	}
	o := []Object{rest.Observed}
	if len(byOwner.Filter(o, in.Owner))+len(byTrace(rest.API).Filter(o, traces(in)...)) == 0 {
		return nil
	}
	rest.selection = Selection{None: true}
	rest.plan, err = e.plan(ctx, rest.API, rest.Observed, rest.selection, in)
	rest.Patch = rest.plan.Patch
	return err
}

// PutAtRest carries out what was planned, unless the object is another by now: then it fails with a conflict, and nothing
// is written. Policies go last, when no route has their label any more.
func (e *Engine) PutAtRest(ctx context.Context, in intent.Intent, rest Rest) error {
	in.CanaryShare, in.Experiments, in.Managed = 0, nil, nil
	if len(rest.Patch) > 0 {
		err := e.writeOnce(ctx, rest.API, rest.Observed, rest.plan, rest.selection, in)
		if apierrors.IsConflict(err) {
			return worded{rest.Object() + ": somebody has changed it meanwhile, so nothing was written to it; look at it again", err}
		}
		if err != nil {
			return err
		}
	}
	var faults []error
	kind := rest.API.Policies()
	for _, policy := range rest.Policies {
		if err := e.Cluster.Delete(ctx, kind.Resource, policy.Namespace, policy.Name); err != nil && !apierrors.IsNotFound(err) {
			faults = append(faults, fmt.Errorf("%s: %s %s is left and mirrors nothing any more: %w", rest.Object(), kind.Kind, policy.Name, err))
		}
	}
	return join(faults)
}

// policiesOf returns the policies of a Rollout in a namespace, or in all, by the object beside which they stand as
// ObjectLabel has it.
func (e *Engine) policiesOf(ctx context.Context, api API, in intent.Intent, namespace string) (map[string][]Object, error) {
	if api.Policies().Kind == "" {
		return nil, nil
	}
	mine := labels.SelectorFromSet(labels.Set{OwnerLabel: ownerLabelValue(in.Owner)})
	found, err := e.Cluster.List(ctx, api.Policies().Resource, namespace, mine)
	if err != nil && !errors.Is(err, ErrUnserved) {
		return nil, err
	}
	beside := map[string][]Object{}
	for _, policy := range found {
		object := policy.Labels[ObjectLabel]
		beside[object] = append(beside[object], policy)
	}
	return beside, nil
}

// Selects reports whether an object is one of the target.
func (t Target) Selects(o Object) bool {
	return o.Namespace == t.Namespace && (t.Name == "" || o.Name == t.Name) &&
		(t.Selector == nil || t.Selector.Matches(labels.Set(o.Labels)))
}
