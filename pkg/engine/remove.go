package engine

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// RemoveManaged takes the Rollout's managed routes out of every object that holds some, selected or not. It fails only
// where some are known to be there and cannot be taken out: what cannot be read is left to Set.
func (e *Engine) RemoveManaged(ctx context.Context, in intent.Intent, targets []Target) error {
	in.Managed, in.KeepWeights = nil, true
	var faults []error
	done := map[string]bool{}
	for _, target := range slices.Concat(targets, e.elsewhere(ctx, in, targets)) {
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
	recorded, err := e.recorded(ctx, target, in)
	if err != nil {
		note(err)
	}
	for _, o := range recorded {
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
