package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
	turns       turns
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

// serve brings the objects of one target to in. Objects that were found by label and that never forward to stable are
// passed over, as long as one is left.
func (e *Engine) serve(ctx context.Context, in intent.Intent, target Target, objects []Object) []error {
	if unmanaged := unmanaged(in, target, objects); len(unmanaged) > 0 {
		return unmanaged
	}
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

// unmanaged returns why no object can have the managed routes that are wanted; nothing if one can.
func unmanaged(in intent.Intent, target Target, objects []Object) []error {
	var faults []error
	if len(in.Managed) == 0 {
		return nil
	}
	for _, o := range objects {
		plan, err := MakePlan(target.API, o, Selection{Routes: target.Routes}, in)
		switch {
		case plan.Unmanaged != nil:
			faults = append(faults, plan.Unmanaged)
		case !errors.Is(err, ErrNoRoute): // it has the routes, or what is wrong with it is another thing
			return nil
		}
	}
	return faults
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

func objectName(api API, o Object) string {
	return fmt.Sprintf("%s %s/%s", api.Kind(), o.Namespace, o.Name)
}
