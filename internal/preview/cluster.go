package preview

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Source is where a preview finds the objects as they are.
type Source interface {
	Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error)
	List(ctx context.Context, resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]engine.Object, error)
	Service(ctx context.Context, namespace, name string) (intent.Service, error)
}

// Cluster is what a preview changes: a source's objects as they would be. Nothing is written to the source. As any cluster
// it serves several callers at once.
type Cluster struct {
	source Source
	// services are those that only the release itself brings, by name.
	services map[string]intent.Service

	mu sync.Mutex // over the fields below
	// changed are the objects that are otherwise than in the source, nil for those that are gone.
	changed map[key]*engine.Object
	// created are those that the source may not have, by name: they may come in any order.
	created []key
	version int
}

type key struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

func (k key) compare(other key) int {
	return cmp.Or(strings.Compare(k.namespace, other.namespace), strings.Compare(k.name, other.name), strings.Compare(k.resource.Resource, other.resource.Resource))
}

var _ engine.Cluster = &Cluster{}

// NewCluster returns a cluster that is as the source says until it is changed.
func NewCluster(source Source) *Cluster {
	return &Cluster{source: source, changed: map[key]*engine.Object{}, services: map[string]intent.Service{}}
}

// Get returns an object as it would be.
func (c *Cluster) Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	c.mu.Lock()
	o, found := c.changed[key{resource, namespace, name}]
	c.mu.Unlock()
	if !found {
		return c.source.Get(ctx, resource, namespace, name)
	}
	if o == nil {
		return engine.Object{}, apierrors.NewNotFound(resource.GroupResource(), name)
	}
	return *o, nil
}

// Fresh is Get.
func (c *Cluster) Fresh(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	return c.Get(ctx, resource, namespace, name)
}

// List returns the objects as they would be.
func (c *Cluster) List(ctx context.Context, resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]engine.Object, error) {
	listed, err := c.source.List(ctx, resource, namespace, selector)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var objects []engine.Object
	seen := map[key]bool{}
	for _, o := range listed {
		k := key{resource, o.Namespace, o.Name}
		if now, changed := c.changed[k]; changed && now == nil {
			continue
		} else if changed {
			o = *now
		}
		objects, seen[k] = append(objects, o), true
	}
	for _, k := range c.created {
		o := c.changed[k]
		if o != nil && !seen[k] && k.resource == resource && (namespace == "" || namespace == o.Namespace) && selector.Matches(labels.Set(o.Labels)) {
			objects, seen[k] = append(objects, *o), true
		}
	}
	return objects, nil
}

// Find returns the objects as they would be.
func (c *Cluster) Find(ctx context.Context, resource schema.GroupVersionResource, namespace string, index engine.Index, keys ...string) ([]engine.Object, error) {
	objects, err := c.List(ctx, resource, namespace, labels.Everything())
	return index.Filter(objects, keys...), err
}

// Patch changes an object. Nobody else does, so there are no conflicts.
func (c *Cluster) Patch(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte) (engine.Object, error) {
	raw, err := c.patched(ctx, resource, namespace, name, patch)
	if err != nil {
		return engine.Object{}, err
	}
	return c.put(resource, raw)
}

// Rehearse returns what would come of a patch.
func (c *Cluster) Rehearse(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte) (engine.Object, error) {
	raw, err := c.patched(ctx, resource, namespace, name, patch)
	if err != nil {
		return engine.Object{}, err
	}
	return engine.ReadObject(raw)
}

func (c *Cluster) patched(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte) ([]byte, error) {
	o, err := c.Get(ctx, resource, namespace, name)
	if err != nil {
		return nil, err
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	return decoded.Apply(o.JSON)
}

// Create adds an object.
func (c *Cluster) Create(_ context.Context, resource schema.GroupVersionResource, _ string, object []byte) (engine.Object, error) {
	o, err := c.put(resource, object)
	if err != nil {
		return o, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.created = append(c.created, key{resource, o.Namespace, o.Name})
	slices.SortFunc(c.created, key.compare)
	return o, nil
}

// Delete takes an object away.
func (c *Cluster) Delete(_ context.Context, resource schema.GroupVersionResource, namespace, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed[key{resource, namespace, name}] = nil
	return nil
}

// Service reads a Service, or returns one that the release brings.
func (c *Cluster) Service(ctx context.Context, namespace, name string) (intent.Service, error) {
	if service, found := c.services[name]; found {
		return service, nil
	}
	return c.source.Service(ctx, namespace, name)
}

func (c *Cluster) put(resource schema.GroupVersionResource, raw json.RawMessage) (engine.Object, error) {
	o, err := engine.ReadObject(raw)
	if err != nil {
		return o, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	o.ResourceVersion = "preview-" + strconv.Itoa(c.version)
	c.changed[key{resource, o.Namespace, o.Name}] = &o
	return o, nil
}
