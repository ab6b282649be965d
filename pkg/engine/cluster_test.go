package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// memoryCluster keeps objects as an API server would: a patch that replaces resourceVersion by another than the present
// one is a conflict.
type memoryCluster struct {
	objects  []engine.Object
	services map[string]intent.Service
	version  int
	// writes counts the patches that were taken.
	writes int
	// meddle is called before each patch, as somebody who is faster.
	meddle func()
	// forbidden are verbs that are not allowed; "list" forbids lists of all namespaces only.
	forbidden []string
	// failing is a verb that ends in an error.
	failing string
	// reverts says that patches are answered with what they were to change.
	reverts bool
}

var _ engine.Cluster = &memoryCluster{}

// put stores an object, given as JSON.
func (c *memoryCluster) put(raw []byte) {
	c.version++
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		panic(err)
	}
	meta := tree["metadata"].(map[string]any)
	meta["resourceVersion"] = strconv.Itoa(c.version)
	generation, _ := meta["generation"].(float64)
	meta["generation"] = generation + 1
	raw, err := json.Marshal(tree)
	if err != nil {
		panic(err)
	}
	var head struct {
		Metadata struct {
			Namespace, Name     string
			Generation          int64
			Labels, Annotations map[string]string
		}
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		panic(err)
	}
	o := engine.Object{
		Namespace: head.Metadata.Namespace, Name: head.Metadata.Name, ResourceVersion: strconv.Itoa(c.version),
		UID: head.Metadata.Namespace + "/" + head.Metadata.Name, Generation: head.Metadata.Generation,
		Labels: head.Metadata.Labels, Annotations: head.Metadata.Annotations, JSON: raw,
	}
	if i := c.index(o.Namespace, o.Name); i >= 0 {
		c.objects[i] = o
	} else {
		c.objects = append(c.objects, o)
	}
}

func (c *memoryCluster) index(namespace, name string) int {
	return slices.IndexFunc(c.objects, func(o engine.Object) bool { return o.Namespace == namespace && o.Name == name })
}

func (c *memoryCluster) Get(_ context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	i := c.index(namespace, name)
	if i < 0 {
		return engine.Object{}, apierrors.NewNotFound(resource.GroupResource(), name)
	}
	return c.objects[i], nil
}

func (c *memoryCluster) List(_ context.Context, resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]engine.Object, error) {
	if c.failing == "list" {
		return nil, errors.New("the list failed")
	}
	if namespace == "" && slices.Contains(c.forbidden, "list") {
		return nil, apierrors.NewForbidden(resource.GroupResource(), "", fmt.Errorf("in all namespaces"))
	}
	var found []engine.Object
	for _, o := range c.objects {
		if (namespace == "" || o.Namespace == namespace) && selector.Matches(labels.Set(o.Labels)) {
			found = append(found, o)
		}
	}
	return found, nil
}

func (c *memoryCluster) Survey(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]engine.Object, error) {
	objects, err := c.List(ctx, resource, namespace, labels.Everything())
	for i := range objects {
		objects[i].JSON = nil
	}
	return objects, err
}

func (c *memoryCluster) Patch(_ context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte) (engine.Object, error) {
	if slices.Contains(c.forbidden, "patch") {
		return engine.Object{}, apierrors.NewForbidden(resource.GroupResource(), name, fmt.Errorf("in namespace %s", namespace))
	}
	if c.meddle != nil {
		c.meddle()
	}
	i := c.index(namespace, name)
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return engine.Object{}, err
	}
	raw, err := decoded.Apply(c.objects[i].JSON)
	if err != nil {
		return engine.Object{}, apierrors.NewInvalid(schema.GroupKind{}, name, nil)
	}
	var after struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(raw, &after); err != nil {
		return engine.Object{}, err
	}
	if after.Metadata.ResourceVersion != c.objects[i].ResourceVersion {
		return engine.Object{}, apierrors.NewConflict(resource.GroupResource(), name, fmt.Errorf("changed meanwhile"))
	}
	c.writes++
	if c.reverts {
		raw = c.objects[i].JSON
	}
	c.put(raw)
	return c.objects[i], nil
}

func (c *memoryCluster) Service(_ context.Context, _, name string) (intent.Service, error) {
	if c.failing == "service" {
		return intent.Service{}, errors.New("the read failed")
	}
	service, found := c.services[name]
	if !found {
		return service, apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, name)
	}
	return service, nil
}
