package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

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

func (v *Verdict) add(more Verdict) {
	v.Waiting = append(v.Waiting, more.Waiting...)
	v.Faults = append(v.Faults, more.Faults...)
	v.Warnings = append(v.Warnings, more.Warnings...)
}

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
	found := []sighting{}
	selected, faults := e.eachSelected(ctx, targets, func(target Target, objects []Object) {
		found = append(found, sighting{target, objects})
		e.verify(ctx, &verdict, in, target, objects, acceptance)
	})
	verdict.Faults = slices.Concat(faults, e.unmanaged(in, found), verdict.Faults)
	leftBehind, err := e.leftBehind(ctx, in, targets, selected)
	if err != nil {
		verdict.fault(err)
	}
	for _, l := range leftBehind {
		err := e.atRest(l.api, l.object, in)
		if err != nil {
			if fresh, changed := e.again(ctx, l.api, l.object); changed {
				err = e.atRest(l.api, fresh, in)
			}
		}
		if err != nil {
			verdict.fault(err)
		}
	}
	return verdict
}

// atRest fails if an object that is not selected any more is not at rest.
func (e *Engine) atRest(api API, o Object, in intent.Intent) error {
	plan, err := e.makePlan(api, o, Selection{None: true}, in)
	if err == nil && len(plan.Patch) > 0 {
		return fmt.Errorf("%s: it is not selected any more, and not at rest", objectName(api, o))
	}
	return err
}

// verify adds what is to be said of the objects of one target to the verdict.
func (e *Engine) verify(ctx context.Context, verdict *Verdict, in intent.Intent, target Target, objects []Object, acceptance bool) {
	passedOver := 0
	for _, o := range objects {
		one, err := e.verifyOne(ctx, in, target, o, acceptance)
		if errors.Is(err, ErrNoRoute) && target.Name == "" && passedOver+1 < len(objects) {
			passedOver++
			continue
		}
		if err != nil {
			verdict.fault(err)
		}
		verdict.add(one)
	}
}

// verifyOne says of one object whether it is as in wants it. Its error is why there is no plan for it. Before anything is
// said against an object, it is read afresh: what is remembered of it may be old.
func (e *Engine) verifyOne(ctx context.Context, in intent.Intent, target Target, o Object, acceptance bool) (Verdict, error) {
	verdict, err := e.compare(ctx, in, target, o, acceptance)
	if err == nil && verdict.Verified() || errors.Is(err, ErrNoRoute) && target.Name == "" {
		return verdict, err
	}
	if fresh, changed := e.again(ctx, target.API, o); changed {
		return e.compare(ctx, in, target, fresh, acceptance)
	}
	return verdict, err
}

// compare says of an object as it was read whether it is as in wants it.
func (e *Engine) compare(ctx context.Context, in intent.Intent, target Target, o Object, acceptance bool) (Verdict, error) {
	verdict := Verdict{}
	o, unread := e.withPolicies(ctx, target.API, o, in)
	plan, err := e.makePlan(target.API, o, target.selection(), in)
	switch {
	case err != nil:
	case unread != nil && intent.Mirrors(in.Managed):
		verdict.fault(unread)
	case len(plan.Patch) > 0:
		verdict.fault(fmt.Errorf("%s: it is not as it was set", objectName(target.API, o)))
	default:
		e.verifyPolicies(&verdict, target.API, o, plan, acceptance)
		if unread != nil {
			verdict.Warnings = append(verdict.Warnings, unread.Error())
		}
	}
	if acceptance && !errors.Is(err, ErrNoRoute) {
		e.judge(&verdict, target.API, target.API.Kind(), o)
	}
	return verdict, err
}
