package check_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/check"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// cluster is an API server that only answers.
type cluster struct {
	// objects are by resource.
	objects map[string][]engine.Object
	// versions are those in which resources are served, by their full names.
	versions map[string][]string
	// forbidden are what the person who checks may not do: "list rollouts", or "list routetables in apps" for one namespace;
	// without one, a list of all namespaces is meant.
	forbidden []string
	// denied are what the plugin may not do, and granted what it may all the same, in the same words.
	denied, granted []string
	// asked are the users about whom was asked; empty: the one who asks.
	asked map[string]bool
}

var _ check.Cluster = &cluster{}

var resources = map[string]string{
	"ConfigMap": "configmaps", "Deployment": "deployments", "Rollout": "rollouts", "Service": "services",
	"RouteTable": "routetables", "MirrorPolicy": "mirrorpolicies", "HTTPRoute": "httproutes",
}

// healthy returns the cluster of testdata/healthy.yaml, each text of the changes replaced by the one after it.
func healthy(t *testing.T, changes ...string) *cluster { return in(t, "healthy.yaml", changes...) }

// in returns the cluster of a file in testdata, likewise.
func in(t *testing.T, file string, changes ...string) *cluster {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(string(text), changes[i]) {
			t.Fatalf("nothing to change: %s", changes[i])
		}
		text = []byte(strings.ReplaceAll(string(text), changes[i], changes[i+1]))
	}
	c := &cluster{objects: map[string][]engine.Object{}, asked: map[string]bool{}, versions: map[string][]string{
		"rollouts.argoproj.io":                              {"v1alpha1"},
		"routetables.networking.gloo.solo.io":               {"v2"},
		"mirrorpolicies.trafficcontrol.policy.gloo.solo.io": {"v2"},
	}}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		raw, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		head := struct{ Kind string }{}
		if err := json.Unmarshal(raw, &head); err != nil || resources[head.Kind] == "" {
			t.Fatalf("%v in\n%s", err, document)
		}
		o, err := engine.ReadObject(raw)
		if err != nil {
			t.Fatal(err)
		}
		c.objects[resources[head.Kind]] = append(c.objects[resources[head.Kind]], o)
	}
	return c
}

// without takes away what is called so.
func (c *cluster) without(resource, name string) {
	c.objects[resource] = slices.DeleteFunc(c.objects[resource], func(o engine.Object) bool { return o.Name == name })
}

func (c *cluster) refuses(verb, resource, namespace string) error {
	words := strings.TrimSuffix(fmt.Sprintf("%s %s in %s", verb, resource, namespace), " in ")
	if slices.Contains(c.forbidden, words) {
		return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil)
	}
	return nil
}

func (c *cluster) Get(_ context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	if err := c.refuses("get", resource.Resource, namespace); err != nil {
		return engine.Object{}, err
	}
	for _, o := range c.objects[resource.Resource] {
		if o.Namespace == namespace && o.Name == name {
			return o, nil
		}
	}
	return engine.Object{}, apierrors.NewNotFound(resource.GroupResource(), name)
}

func (c *cluster) List(_ context.Context, resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]engine.Object, error) {
	if err := c.refuses("list", resource.Resource, namespace); err != nil {
		return nil, err
	}
	if versions, named := c.versions[resource.GroupResource().String()]; named && (len(versions) == 0 || resource.Version != "" && !slices.Contains(versions, resource.Version)) {
		return nil, engine.ErrUnserved
	}
	var found []engine.Object
	for _, o := range c.objects[resource.Resource] {
		if (namespace == "" || o.Namespace == namespace) && selector.Matches(labels.Set(o.Labels)) {
			found = append(found, o)
		}
	}
	return found, nil
}

func (c *cluster) Service(ctx context.Context, namespace, name string) (intent.Service, error) {
	o, err := c.Get(ctx, schema.GroupVersionResource{Version: "v1", Resource: "services"}, namespace, name)
	if err != nil {
		return intent.Service{}, err
	}
	read := corev1.Service{}
	if err := json.Unmarshal(o.JSON, &read); err != nil {
		return intent.Service{}, err
	}
	service := intent.Service{}
	for _, p := range read.Spec.Ports {
		service.Ports = append(service.Ports, intent.ServicePort{Number: int(p.Port), Name: p.Name, Target: p.TargetPort.String()})
	}
	return service, nil
}

// Create answers access reviews.
func (c *cluster) Create(_ context.Context, resource schema.GroupVersionResource, _ string, object []byte) (engine.Object, error) {
	if err := c.refuses("create", resource.Resource, ""); err != nil {
		return engine.Object{}, err
	}
	review := struct {
		Spec struct {
			User               string
			ResourceAttributes struct{ Verb, Group, Resource, Namespace string }
		}
	}{}
	if err := json.Unmarshal(object, &review); err != nil {
		return engine.Object{}, err
	}
	c.asked[review.Spec.User] = true
	of := review.Spec.ResourceAttributes
	place := ""
	if of.Namespace != "" {
		place = " in " + of.Namespace
	}
	is := func(words string) bool {
		return words == of.Verb+" "+of.Resource || words == of.Verb+" "+of.Resource+place
	}
	allowed := !slices.ContainsFunc(c.denied, is) || place != "" && slices.Contains(c.granted, of.Verb+" "+of.Resource+place)
	return engine.Object{JSON: fmt.Appendf(nil, `{"status":{"allowed":%t}}`, allowed)}, nil
}

func (c *cluster) Versions(_ context.Context, group, resource string) ([]string, error) {
	if err := c.refuses("discover", resource, ""); err != nil {
		return nil, err
	}
	return c.versions[resource+"."+group], nil
}
