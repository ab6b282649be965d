package gatewayapi

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// observer is the control plane: it takes routes up after the delay, judges them, says what is served and writes their
// status, in this order: what is reported as accepted is served.
type observer struct {
	gateway          *Gateway
	client           dynamic.Interface
	resources        map[string]schema.GroupVersionResource // by kind
	delay            time.Duration
	queue            workqueue.TypedRateLimitingInterface[routeKey]
	stores           map[string]cache.Store // of routes, by kind
	gateways, grants cache.Store

	mu     sync.Mutex
	served map[routeKey]*Route
	known  map[routeKey]bool
}

type routeKey struct {
	kind string
	cache.ObjectName
}

func newObserver(g *Gateway, client dynamic.Interface, resources map[string]schema.GroupVersionResource, delay time.Duration) *observer {
	return &observer{
		gateway:   g,
		client:    client,
		resources: resources,
		delay:     delay,
		queue:     workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[routeKey]()),
		stores:    map[string]cache.Store{},
		served:    map[routeKey]*Route{},
		known:     map[routeKey]bool{},
	}
}

// handlerOf takes up the routes of a kind.
func (o *observer) handlerOf(kind string) cache.ResourceEventHandler {
	see := func(obj any) {
		if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = last.Obj
		}
		key := routeKey{kind, cache.MetaObjectToName(obj.(*unstructured.Unstructured))}
		o.mu.Lock()
		o.known[key] = true
		o.mu.Unlock()
		o.queue.AddAfter(key, o.delay)
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, obj any) { see(obj) }, DeleteFunc: see}
}

// surroundings judges all routes again: what they refer to has changed.
func (o *observer) surroundings() cache.ResourceEventHandler {
	again := func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		for key := range o.known {
			o.queue.Add(key)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { again() }, UpdateFunc: func(any, any) { again() }, DeleteFunc: func(any) { again() },
	}
}

func (o *observer) run(ctx context.Context) {
	for {
		key, shutdown := o.queue.Get()
		if shutdown {
			return
		}
		if err := o.observe(ctx, key); err != nil {
			o.queue.AddRateLimited(key)
		} else {
			o.queue.Forget(key)
		}
		o.queue.Done(key)
	}
}

func (o *observer) observe(ctx context.Context, key routeKey) error {
	item, exists, err := o.stores[key.kind].GetByKey(key.String())
	if err != nil {
		return err
	}
	if !exists {
		o.serve(key, nil)
		return nil
	}
	obj := item.(*unstructured.Unstructured)
	route, err := Decode(obj)
	if err != nil {
		return err // the CRD lets no such thing in
	}
	route = route.Resolved(o.lookUp())
	want := route.statuses(newGateways(list(o.gateways)), obj.GetGeneration())
	if len(want) == 0 {
		route = nil
	}
	o.serve(key, route)
	return o.write(ctx, key, obj, want)
}

// serve serves a route, or no longer if it is nil.
func (o *observer) serve(key routeKey, route *Route) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if delete(o.served, key); route != nil {
		o.served[key] = route
	}
	var routes []*Route
	for _, r := range o.served {
		routes = append(routes, r)
	}
	o.gateway.routes.Store(&routes)
}

func (o *observer) lookUp() Surroundings {
	s := Surroundings{Service: o.gateway.pods.Service}
	for _, obj := range list(o.grants) {
		s.Grants = append(s.Grants, newGrant(obj))
	}
	return s
}

func list(store cache.Store) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, item := range store.List() {
		objects = append(objects, item.(*unstructured.Unstructured))
	}
	return objects
}

// write brings the status of a route on the API server to what is wanted. On a conflict the route is taken up again.
func (o *observer) write(ctx context.Context, key routeKey, obj *unstructured.Unstructured, want []parentStatus) error {
	status, err := json.Marshal(obj.Object["status"])
	if err != nil {
		return err
	}
	patch, err := statusPatch(status, obj.GetResourceVersion(), want, time.Now())
	if err != nil || patch == nil {
		return err
	}
	_, err = o.client.Resource(o.resources[key.kind]).Namespace(key.Namespace).
		Patch(ctx, key.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
