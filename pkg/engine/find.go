package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

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

// holding is an object that a Rollout may hold something on, though it is not selected.
type holding struct {
	api    API
	object Object
}

// leftBehind returns the objects that are not selected and on which the Rollout may hold something; none if it is not known
// what is selected. Their annotations tell which those are; while the Rollout is under way, in a target's namespace also what
// else it leaves in an object, should the annotation be lost. Of objects of kinds that are not selected any more, those that
// cannot be read are left.
func (e *Engine) leftBehind(ctx context.Context, in intent.Intent, targets []Target, selected map[string]bool) ([]holding, error) {
	if selected == nil {
		return nil, nil
	}
	var found []holding
	seen := maps.Clone(selected)
	for _, target := range targets {
		held, err := e.heldBeside(ctx, in, target, seen)
		if err != nil {
			return nil, err
		}
		found = append(found, held...)
	}
	left := map[string]bool{}
	for _, target := range e.elsewhere(ctx, in, targets) {
		held, err := e.heldBeside(ctx, in, target, seen)
		if err != nil && !unreadable(err) {
			return nil, err
		}
		if err != nil {
			e.Log.Debug("objects not looked for", "rollout", in.Owner, "kind", target.API.Kind(), "reason", err.Error())
		}
		found = append(found, held...)
		left[target.API.Kind()] = left[target.API.Kind()] || len(held) > 0 || err != nil
	}
	for kind, some := range left {
		if !some {
			e.whereabouts.leave(in.Owner, kind)
		}
	}
	return found, nil
}

// heldBeside returns the objects of a target's kind on which the Rollout may hold something, but for those that were seen, and
// notes that it has seen them.
func (e *Engine) heldBeside(ctx context.Context, in intent.Intent, target Target, seen map[string]bool) ([]holding, error) {
	objects, err := e.recorded(ctx, target, in)
	if err != nil {
		return nil, err
	}
	if len(in.Used) > 0 {
		traced, err := e.Cluster.Find(ctx, target.API.Resource(), target.Namespace, byTrace(target.API), traces(in)...)
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		objects = append(objects, traced...)
	}
	var held []holding
	for _, o := range objects {
		name := objectName(target.API, o)
		if seen[name] {
			continue
		}
		seen[name] = true
		whole, err := e.whole(ctx, target.API, o)
		if err != nil {
			return nil, err
		}
		held = append(held, holding{target.API, whole})
	}
	return held, nil
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

// recorded returns the objects whose annotations have a record of the Rollout: those of all namespaces, or, where listing
// those is not permitted, of the target's and the Rollout's own.
func (e *Engine) recorded(ctx context.Context, target Target, in intent.Intent) ([]Object, error) {
	resource := target.API.Resource()
	all, err := e.Cluster.Find(ctx, resource, "", byOwner, in.Owner)
	if err == nil || !apierrors.IsForbidden(err) {
		return all, err
	}
	e.narrow.Do(func() {
		e.Log.Warn("what a change of selection leaves behind is only found in namespaces that may be listed", "reason", err.Error())
	})
	var objects []Object
	for _, ns := range slices.Compact([]string{target.Namespace, in.Namespace}) {
		found, err := e.Cluster.Find(ctx, resource, ns, byOwner, in.Owner)
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
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
	objects, err := e.Cluster.List(ctx, target.API.Resource(), target.Namespace, labels.Everything())
	if err != nil {
		return "; correct the selector or create it"
	}
	if len(objects) == 0 {
		return "; that namespace has none at all: is it the right one?"
	}
	return fmt.Sprintf("; there are %s: correct the selector or create it",
		list(objects, func(o Object) string { return o.Name }, ", "))
}
