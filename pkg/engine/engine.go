package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/lru"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/logs"
)

// Cluster is what the engine asks of the API server. Errors are those of the API server, wrapped so that a person can act
// on them: apierrors.IsNotFound and its like still tell them apart, and [ErrUnserved].
//
// Reads may be answered from memory, which lags behind what others write, and never behind what was written through this
// Cluster.
type Cluster interface {
	Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (Object, error)
	// Fresh is Get, and never answered from memory.
	Fresh(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (Object, error)
	// List returns the objects in a namespace, or in all if it is empty, that a selector matches.
	List(ctx context.Context, resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]Object, error)
	// Find returns the objects in a namespace, or in all if it is empty, that an index has under any of the keys. By an index
	// of metadata alone, they may come without their JSON.
	Find(ctx context.Context, resource schema.GroupVersionResource, namespace string, index Index, keys ...string) ([]Object, error)
	// Patch applies a JSON Patch and returns the object after it.
	Patch(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte) (Object, error)
	// Rehearse returns what Patch would, and nothing is written.
	Rehearse(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte) (Object, error)
	// Create creates an object and returns it as it then is.
	Create(ctx context.Context, resource schema.GroupVersionResource, namespace string, object []byte) (Object, error)
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
	// NoHeaders says that no header routes are to be added to the objects.
	NoHeaders bool
}

// selection returns which routes of the target's objects are meant.
func (t Target) selection() Selection { return Selection{Routes: t.Routes, NoHeaders: t.NoHeaders} }

// Engine brings objects in a cluster to what Rollouts want. It is safe for concurrent use.
type Engine struct {
	Cluster Cluster
	Log     hclog.Logger

	known       known
	generations generations
	turns       turns
	whereabouts whereabouts
	said        *logs.Repeats
	// narrow says once that not every object can be listed.
	narrow sync.Once
}

// New returns an engine that works on a cluster. The routing APIs are those in which a Rollout may have left something that now
// names objects of others.
func New(cluster Cluster, log hclog.Logger, apis ...API) *Engine {
	return &Engine{
		Cluster: cluster, Log: log,
		known: newKnown(), generations: generations{lru.New(maxKnown)}, whereabouts: newWhereabouts(apis), said: logs.NewRepeats(),
	}
}

// Set brings every object of the targets to in, and puts at rest what the Rollout holds on objects that are not selected
// any more. An object that cannot be served makes it fail, but does not keep the others from being served.
func (e *Engine) Set(ctx context.Context, in intent.Intent, targets []Target) error {
	in, err := e.lookUp(ctx, in)
	if err != nil {
		return err
	}
	for _, target := range targets {
		e.whereabouts.note(in.Owner, target.API.Kind(), target.Namespace)
	}
	found := []sighting{}
	selected, faults := e.eachSelected(ctx, targets, func(target Target, objects []Object) {
		found = append(found, sighting{target, objects})
	})
	unmanaged := e.unmanaged(in, found)
	faults = append(faults, unmanaged...)
	for _, f := range found {
		if len(unmanaged) == 0 {
			faults = append(faults, e.serve(ctx, in, f.target, f.objects)...)
		}
	}
	if in.KeepWeights {
		return join(faults)
	}
	leftBehind, err := e.leftBehind(ctx, in, targets, selected)
	if err != nil {
		faults = append(faults, err)
	}
	for _, l := range leftBehind {
		faults = append(faults, e.bring(ctx, l.api, l.object, Selection{None: true}, in))
	}
	return join(faults)
}

// serve brings the objects of one target to in. Objects that were found by label and that never forward to stable are
// passed over, as long as one is left.
func (e *Engine) serve(ctx context.Context, in intent.Intent, target Target, objects []Object) []error {
	faults := each(objects, func(o Object) error { return e.serveOne(ctx, in, target, o) })
	passedOver := func(err error) bool { return errors.Is(err, ErrNoRoute) && target.Name == "" }
	left := slices.DeleteFunc(slices.Clone(faults), passedOver)
	if len(left) == 0 {
		return faults
	}
	return left
}

// serveOne brings one object of a target to in. It fails with ErrNoRoute if the object never forwards to stable, and puts at
// rest what the Rollout may hold on it then. Before anything else is said against an object, it is read afresh.
func (e *Engine) serveOne(ctx context.Context, in intent.Intent, target Target, o Object) error {
	selection := target.selection()
	err := e.bring(ctx, target.API, o, selection, in)
	if err == nil || apierrors.IsConflict(err) { // of which it is known that the object was read afresh
		return err
	}
	if errors.Is(err, ErrNoRoute) && target.Name == "" {
		e.Log.Debug("object passed over", "rollout", in.Owner, "object", objectName(target.API, o), "reason", err.Error())
		return cmp.Or(e.bring(ctx, target.API, o, Selection{None: true}, in), err)
	}
	if fresh, changed := e.again(ctx, target.API, o); changed {
		return e.bring(ctx, target.API, fresh, selection, in)
	}
	return err
}

// sighting is what was found of a target.
type sighting struct {
	target  Target
	objects []Object
}

// unmanaged returns why no object of any target can have the managed routes that are wanted; nothing if one can.
func (e *Engine) unmanaged(in intent.Intent, found []sighting) []error {
	var faults []error
	if len(in.Managed) == 0 {
		return nil
	}
	for _, f := range found {
		for _, o := range f.objects {
			plan, err := e.makePlan(f.target.API, o, f.target.selection(), in)
			switch {
			case plan.Unmanaged != nil:
				faults = append(faults, plan.Unmanaged)
			case !errors.Is(err, ErrNoRoute): // it has the routes, or what is wrong with it is another thing
				return nil
			}
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
