package preview

import (
	"context"
	"encoding/json"
	"strconv"

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

// Cluster is what a preview changes: a source's objects as they would be. Nothing is written to the source.
type Cluster struct {
	source Source
	// changed are the objects that are otherwise than in the source, nil for those that are gone.
	changed map[key]*engine.Object
	// created are those that the source may not have, in their order.
	created []key
	// services are those that only the release itself brings, by name.
	services map[string]intent.Service
	version  int
}

type key struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

var _ engine.Cluster = &Cluster{}

// NewCluster returns a cluster that is as the source says until it is changed.
func NewCluster(source Source) *Cluster {
	return &Cluster{source: source, changed: map[key]*engine.Object{}, services: map[string]intent.Service{}}
}

// Get returns an object as it would be.
func (c *Cluster) Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	o, found := c.changed[key{resource, namespace, name}]
	if !found {
		return c.source.Get(ctx, resource, namespace, name)
	}
	if o == nil {
		return engine.Object{}, apierrors.NewNotFound(resource.GroupResource(), name)
	}
	return *o, nil
}

// List returns the objects as they would be.
func (c *Cluster) List(ctx context.Context, resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]engine.Object, error) {
	listed, err := c.source.List(ctx, resource, namespace, selector)
	if err != nil {
		return nil, err
	}
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

// Survey returns the objects as they would be, with their metadata alone.
func (c *Cluster) Survey(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]engine.Object, error) {
	objects, err := c.List(ctx, resource, namespace, labels.Everything())
	for i := range objects {
		objects[i].JSON = nil
	}
	return objects, err
}

// Patch changes an object. Nobody else does, so there are no conflicts.
func (c *Cluster) Patch(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte) (engine.Object, error) {
	o, err := c.Get(ctx, resource, namespace, name)
	if err != nil {
		return o, err
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return o, err
	}
	raw, err := decoded.Apply(o.JSON)
	if err != nil {
		return o, err
	}
	return c.put(resource, raw)
}

// Create adds an object.
func (c *Cluster) Create(_ context.Context, resource schema.GroupVersionResource, _ string, object []byte) error {
	o, err := c.put(resource, object)
	c.created = append(c.created, key{resource, o.Namespace, o.Name})
	return err
}

// Delete takes an object away.
func (c *Cluster) Delete(_ context.Context, resource schema.GroupVersionResource, namespace, name string) error {
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
	c.version++
	o.ResourceVersion = "preview-" + strconv.Itoa(c.version)
	c.changed[key{resource, o.Namespace, o.Name}] = &o
	return o, nil
}
