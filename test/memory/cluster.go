// Package memory is a cluster in memory, for tests of what reads and patches objects there.
package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Cluster keeps objects as an API server would: a patch that replaces resourceVersion by another than the present one is a
// conflict. Its methods may be called concurrently; its fields may not be changed meanwhile, but by Meddle.
type Cluster struct {
	mu       sync.Mutex
	patching sync.Mutex // one at a time, each with what Meddle does before it
	// Objects are route tables, or other routes whose names differ, and Policies mirror policies.
	Objects, Policies []engine.Object
	Services          map[string]intent.Service
	version           int
	// Writes counts what was written, deletions included.
	Writes int
	// Meddle is called before each patch, as somebody who is faster.
	Meddle func()
	// Forbidden are verbs that are not allowed; "list" forbids lists of all namespaces only. With "policy " before it, a verb
	// is forbidden for policies; "policy unserved" says that there is no such resource.
	Forbidden []string
	// Failing is a verb that ends in an error.
	Failing string
	// Drops is a field that the API server does not know and drops; empty: it knows all.
	Drops string
	// Reverts says that patches are answered with what they were to change.
	Reverts bool
}

var _ engine.Cluster = &Cluster{}

// Put stores a route table, given as JSON, with the next resourceVersion and generation.
func (c *Cluster) Put(raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(&c.Objects, raw)
}

func (c *Cluster) put(objects *[]engine.Object, raw []byte) {
	c.version++
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var tree map[string]any
	if err := decoder.Decode(&tree); err != nil {
		panic(err)
	}
	meta := tree["metadata"].(map[string]any)
	meta["resourceVersion"] = strconv.Itoa(c.version)
	generation, _ := strconv.Atoi(fmt.Sprint(meta["generation"])) // there is none at first
	meta["generation"] = generation + 1
	raw, err := json.Marshal(tree)
	if err != nil {
		panic(err)
	}
	o := engine.Object{ResourceVersion: strconv.Itoa(c.version), Generation: int64(generation) + 1, JSON: raw}
	o.Namespace, _ = meta["namespace"].(string)
	o.Name, _ = meta["name"].(string)
	o.UID = o.Namespace + "/" + o.Name
	o.Labels, o.Annotations = texts(meta["labels"]), texts(meta["annotations"])
	if i := index(*objects, o.Namespace, o.Name); i >= 0 {
		(*objects)[i] = o
	} else {
		*objects = append(*objects, o)
	}
}

func texts(tree any) map[string]string {
	object, found := tree.(map[string]any)
	if !found {
		return nil
	}
	texts := map[string]string{}
	for key, value := range object {
		texts[key] = fmt.Sprint(value)
	}
	return texts
}

// Index returns where in Objects an object stands; -1 if it does not.
func (c *Cluster) Index(namespace, name string) int { return index(c.Objects, namespace, name) }

func index(objects []engine.Object, namespace, name string) int {
	return slices.IndexFunc(objects, func(o engine.Object) bool { return o.Namespace == namespace && o.Name == name })
}

// of returns the objects of a resource. It fails if the verb is forbidden for policies. To ask for no resource is a fault of
// the code.
func (c *Cluster) of(resource schema.GroupVersionResource, verb string) (*[]engine.Object, error) {
	if resource.Resource == "" {
		panic("no resource is named")
	}
	if resource.Resource != "mirrorpolicies" {
		return &c.Objects, nil
	}
	if slices.Contains(c.Forbidden, "policy unserved") {
		return nil, engine.ErrUnserved
	}
	if slices.Contains(c.Forbidden, "policy "+verb) {
		return nil, apierrors.NewForbidden(resource.GroupResource(), "", fmt.Errorf("to %s", verb))
	}
	return &c.Policies, nil
}

// Get is part of [engine.Cluster].
func (c *Cluster) Get(_ context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	objects, err := c.of(resource, "get")
	if err != nil {
		return engine.Object{}, err
	}
	i := index(*objects, namespace, name)
	if i < 0 {
		return engine.Object{}, apierrors.NewNotFound(resource.GroupResource(), name)
	}
	return (*objects)[i], nil
}

// Fresh is part of [engine.Cluster].
func (c *Cluster) Fresh(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	return c.Get(ctx, resource, namespace, name)
}

// List is part of [engine.Cluster].
func (c *Cluster) List(_ context.Context, resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]engine.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Failing == "list" {
		return nil, errors.New("the list failed")
	}
	if namespace == "" && slices.Contains(c.Forbidden, "list") {
		return nil, apierrors.NewForbidden(resource.GroupResource(), "", fmt.Errorf("in all namespaces"))
	}
	objects, err := c.of(resource, "list")
	if err != nil {
		return nil, err
	}
	var found []engine.Object
	for _, o := range *objects {
		if (namespace == "" || o.Namespace == namespace) && selector.Matches(labels.Set(o.Labels)) && isOf(o, resource) {
			found = append(found, o)
		}
	}
	return found, nil
}

// isOf reports whether an object is of a resource, as its kind says. One without a kind is of Gloo's.
func isOf(o engine.Object, resource schema.GroupVersionResource) bool {
	head := metav1.TypeMeta{}
	if err := json.Unmarshal(o.JSON, &head); err != nil {
		panic(err)
	}
	plural, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(head.APIVersion, head.Kind))
	return plural.Resource == resource.Resource || head.Kind == "" && resource.Group != "gateway.networking.k8s.io"
}

// Find is part of [engine.Cluster].
func (c *Cluster) Find(ctx context.Context, resource schema.GroupVersionResource, namespace string, index engine.Index, keys ...string) ([]engine.Object, error) {
	objects, err := c.List(ctx, resource, namespace, labels.Everything())
	return index.Filter(objects, keys...), err
}

// Patch is part of [engine.Cluster].
func (c *Cluster) Patch(_ context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte) (engine.Object, error) {
	return c.patch(resource, namespace, name, patch, false)
}

// Rehearse is part of [engine.Cluster].
func (c *Cluster) Rehearse(_ context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte) (engine.Object, error) {
	return c.patch(resource, namespace, name, patch, true)
}

func (c *Cluster) patch(resource schema.GroupVersionResource, namespace, name string, patch []byte, rehearse bool) (engine.Object, error) {
	if slices.Contains(c.Forbidden, "patch") {
		return engine.Object{}, apierrors.NewForbidden(resource.GroupResource(), name, fmt.Errorf("in namespace %s", namespace))
	}
	c.patching.Lock()
	defer c.patching.Unlock()
	if c.Meddle != nil {
		c.Meddle()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	objects, err := c.of(resource, "patch")
	if err != nil {
		return engine.Object{}, err
	}
	i := index(*objects, namespace, name)
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return engine.Object{}, err
	}
	raw, err := decoded.Apply((*objects)[i].JSON)
	if err != nil {
		return engine.Object{}, apierrors.NewInvalid(schema.GroupKind{}, name, nil)
	}
	var after struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(raw, &after); err != nil {
		return engine.Object{}, err
	}
	if after.Metadata.ResourceVersion != (*objects)[i].ResourceVersion {
		return engine.Object{}, apierrors.NewConflict(resource.GroupResource(), name, fmt.Errorf("changed meanwhile"))
	}
	if raw, err = withoutField(raw, c.Drops); err != nil {
		return engine.Object{}, err
	}
	if rehearse {
		return engine.ReadObject(raw)
	}
	c.Writes++
	if c.Reverts {
		raw = (*objects)[i].JSON
	}
	c.put(objects, raw)
	return (*objects)[i], nil
}

// withoutField returns JSON without a field, wherever it stands in the rules of a route.
func withoutField(raw []byte, field string) ([]byte, error) {
	if field == "" {
		return raw, nil
	}
	tree := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	dropField(tree["spec"].(map[string]any)["rules"], field)
	return json.Marshal(tree)
}

func dropField(value any, field string) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			dropField(element, field)
		}
	case map[string]any:
		delete(v, field)
		for _, element := range v {
			dropField(element, field)
		}
	}
}

// Create is part of [engine.Cluster].
func (c *Cluster) Create(_ context.Context, resource schema.GroupVersionResource, _ string, object []byte) (engine.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	objects, err := c.of(resource, "create")
	if err != nil {
		return engine.Object{}, err
	}
	head := metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(object, &head); err != nil {
		return engine.Object{}, err
	}
	if index(*objects, head.Namespace, head.Name) >= 0 {
		return engine.Object{}, apierrors.NewAlreadyExists(resource.GroupResource(), head.Name)
	}
	c.Writes++
	c.put(objects, object)
	return (*objects)[len(*objects)-1], nil
}

// Delete is part of [engine.Cluster].
func (c *Cluster) Delete(_ context.Context, resource schema.GroupVersionResource, namespace, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	objects, err := c.of(resource, "delete")
	if err != nil {
		return err
	}
	i := index(*objects, namespace, name)
	if i < 0 {
		return apierrors.NewNotFound(resource.GroupResource(), name)
	}
	c.Writes++
	*objects = slices.Delete(*objects, i, i+1)
	return nil
}

// Service is part of [engine.Cluster].
func (c *Cluster) Service(_ context.Context, _, name string) (intent.Service, error) {
	if c.Failing == "service" {
		return intent.Service{}, errors.New("the read failed")
	}
	service, found := c.Services[name]
	if !found {
		return service, apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, name)
	}
	return service, nil
}
