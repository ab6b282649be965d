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
// what is selected. Their annotations tell which those are. While the Rollout is under way, the objects in a target's
// namespace are looked at as a whole, for those whose annotation was lost.
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
