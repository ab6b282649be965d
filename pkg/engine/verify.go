package engine

import (
	"context"
	"errors"
	"fmt"

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
	for _, fault := range unmanaged(in, target, objects) {
		verdict.fault(fault)
	}
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
