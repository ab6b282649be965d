package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/logs"
)

// Cache is [Clusters] that answers reads from memory where it may. It begins to remember a resource when that is first asked
// for: in all namespaces or, where that is not permitted, in the one in question. What it remembers is believed only while a
// watch tells of changes, and compared with the API server now and then, should a watch leave something out. Otherwise, and
// where listing or watching is not permitted at all, it asks the API server.
type Cache struct {
	clusters Clusters
	log      hclog.Logger
	said     *logs.Repeats
	relist   time.Duration

	running context.Context
	stop    context.CancelFunc
	feeds   sync.WaitGroup
	mu      sync.Mutex
	views   map[viewKey]*view
}

var _ engine.Cluster = &Cache{}

// NewCache returns a cache that remembers nothing yet. It compares what it remembers with the API server every relist.
func NewCache(clusters Clusters, relist time.Duration, log hclog.Logger) *Cache {
	c := &Cache{clusters: clusters, log: log, said: logs.NewRepeats(), relist: relist, views: map[viewKey]*view{}}
	c.running, c.stop = context.WithCancel(context.Background())
	return c
}

// Close ends all watches. Nothing may be asked for afterwards.
func (c *Cache) Close() {
	c.stop()
	c.feeds.Wait()
}

// Objects returns how many objects are remembered.
func (c *Cache) Objects() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, v := range c.views {
		n += v.shelf.count()
	}
	return n
}

// Get returns an object. What is not remembered is asked for, since it may be new.
func (c *Cache) Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	if v, err := c.view(ctx, resource, namespace); err == nil {
		if o, found := v.shelf.get(namespace, name); found {
			return o, nil
		}
	}
	return c.Fresh(ctx, resource, namespace, name)
}

// Fresh asks the API server for an object.
func (c *Cache) Fresh(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	held := c.held(resource, namespace, name)
	o, err := c.client(resource).Get(ctx, resource, namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		c.eachView(resource, namespace, func(v *view) { v.shelf.remove(namespace, name, held) })
	case err == nil:
		err = c.remember(resource, o)
	}
	return o, err
}

// List returns the objects in a namespace, or in all if it is empty, that a selector matches.
func (c *Cache) List(ctx context.Context, resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]engine.Object, error) {
	v, err := c.view(ctx, resource, namespace)
	if err == nil {
		return v.shelf.selected(namespace, selector), nil
	}
	if refused(err) {
		return nil, err
	}
	return c.client(resource).List(ctx, resource, namespace, selector)
}

// Find returns the objects in a namespace, or in all if it is empty, that an index has under any of the keys.
func (c *Cache) Find(ctx context.Context, resource schema.GroupVersionResource, namespace string, index engine.Index, keys ...string) ([]engine.Object, error) {
	if index.Once {
		return c.client(resource).Find(ctx, resource, namespace, index, keys...)
	}
	v, err := c.view(ctx, resource, namespace)
	if err == nil {
		return v.shelf.found(namespace, index, keys), nil
	}
	if refused(err) {
		return nil, err
	}
	return c.client(resource).Find(ctx, resource, namespace, index, keys...)
}

// Patch applies a JSON Patch, and remembers what came of it.
func (c *Cache) Patch(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte) (engine.Object, error) {
	o, err := c.client(resource).Patch(ctx, resource, namespace, name, patch)
	if err == nil {
		err = c.remember(resource, o)
	}
	return o, err
}

// Rehearse returns what would come of a JSON Patch.
func (c *Cache) Rehearse(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte) (engine.Object, error) {
	return c.client(resource).Rehearse(ctx, resource, namespace, name, patch)
}

// Create creates an object, and remembers it.
func (c *Cache) Create(ctx context.Context, resource schema.GroupVersionResource, namespace string, object []byte) (engine.Object, error) {
	o, err := c.client(resource).Create(ctx, resource, namespace, object)
	if err == nil {
		err = c.remember(resource, o)
	}
	return o, err
}

// Delete deletes an object, and forgets it.
func (c *Cache) Delete(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) error {
	held := c.held(resource, namespace, name)
	err := c.client(resource).Delete(ctx, resource, namespace, name)
	if err == nil || apierrors.IsNotFound(err) {
		c.eachView(resource, namespace, func(v *view) { v.shelf.remove(namespace, name, held) })
	}
	return err
}

// Service returns what has to be known of a Service of the controller's cluster.
func (c *Cache) Service(ctx context.Context, namespace, name string) (intent.Service, error) {
	o, err := c.Get(ctx, services, namespace, name)
	if err != nil {
		return intent.Service{}, err
	}
	return serviceOf(o)
}

// client returns that of the cluster which holds a resource.
func (c *Cache) client(resource schema.GroupVersionResource) *Client {
	if resource == services {
		return c.clusters.Controller
	}
	return c.clusters.Client
}

// remember puts an object, as the API server just sent it, where others of its kind are remembered.
func (c *Cache) remember(resource schema.GroupVersionResource, o engine.Object) error {
	small, err := trim(resource, o.JSON)
	if err != nil {
		return fmt.Errorf("%s %s/%s: %w", resource.Resource, o.Namespace, o.Name, err)
	}
	c.eachView(resource, o.Namespace, func(v *view) { v.shelf.put(small) })
	return nil
}

// held returns the version in which an object is remembered: what is gone after it was asked for is at most that one, and not
// one of the same name that was made meanwhile.
func (c *Cache) held(resource schema.GroupVersionResource, namespace, name string) string {
	version := "0"
	c.eachView(resource, namespace, func(v *view) {
		if o, found := v.shelf.get(namespace, name); found && !isLater(version, o.ResourceVersion) {
			version = o.ResourceVersion
		}
	})
	return version
}

// eachView calls do with the views that an object in a namespace is in.
func (c *Cache) eachView(resource schema.GroupVersionResource, namespace string, do func(*view)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ns := range []string{"", namespace} {
		if v, found := c.views[viewKey{resource, ns}]; found {
			do(v)
		}
	}
}
