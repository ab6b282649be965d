package preview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Files is a source of objects that were read from files. Of two of the same name the later one counts, as if they were
// applied one after the other.
type Files struct {
	// Namespace is that of objects that name none.
	Namespace string
	Rollouts  []*v1alpha1.Rollout
	objects   map[string][]engine.Object // by resource
	services  []corev1.Service
}

var _ Source = &Files{}

// resources are where the kinds that matter are kept; others are passed over.
var resources = map[string]string{
	"RouteTable": "routetables", "MirrorPolicy": "mirrorpolicies",
	"HTTPRoute": "httproutes", "GRPCRoute": "grpcroutes", "TCPRoute": "tcproutes", "TLSRoute": "tlsroutes",
}

// Read adds the objects of a YAML or JSON stream. Its error says which document it is about.
func (f *Files) Read(name string, stream io.Reader) error {
	decoder := yaml.NewYAMLOrJSONDecoder(stream, 4096)
	for n := 1; ; n++ {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && len(raw) > 0 && string(raw) != "null" {
			err = f.add(raw)
		}
		if err != nil {
			return fmt.Errorf("%s: document %d: %w", name, n, err)
		}
	}
}

func (f *Files) add(raw json.RawMessage) error {
	head := struct {
		metav1.PartialObjectMetadata `json:",inline"`
		Items                        []json.RawMessage `json:"items"`
	}{}
	if err := json.Unmarshal(raw, &head); err != nil {
		return err
	}
	for _, item := range head.Items {
		if err := f.add(item); err != nil {
			return err
		}
	}
	switch head.Kind {
	case "Rollout":
		ro := &v1alpha1.Rollout{}
		if err := json.Unmarshal(raw, ro); err != nil {
			return fmt.Errorf("Rollout %s: %w", head.Name, err)
		}
		ro.Namespace = f.namespace(ro.Namespace)
		f.Rollouts = slices.DeleteFunc(f.Rollouts, func(before *v1alpha1.Rollout) bool {
			return before.Namespace == ro.Namespace && before.Name == ro.Name
		})
		f.Rollouts = append(f.Rollouts, ro)
	case "Service":
		service := corev1.Service{}
		if err := json.Unmarshal(raw, &service); err != nil {
			return fmt.Errorf("Service %s: %w", head.Name, err)
		}
		service.Namespace = f.namespace(service.Namespace)
		f.services = slices.DeleteFunc(f.services, func(before corev1.Service) bool {
			return before.Namespace == service.Namespace && before.Name == service.Name
		})
		f.services = append(f.services, service)
	default:
		return f.addObject(head.Kind, raw)
	}
	return nil
}

func (f *Files) addObject(kind string, raw json.RawMessage) error {
	resource, matters := resources[kind]
	if !matters {
		return nil
	}
	object := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &object); err != nil {
		return err
	}
	meta := map[string]any{}
	if err := json.Unmarshal(object["metadata"], &meta); err != nil {
		return fmt.Errorf("%s: metadata: %w", kind, err)
	}
	given, _ := meta["namespace"].(string)
	meta["namespace"], meta["resourceVersion"] = f.namespace(given), "1" // which a patch is to replace
	var err error
	if object["metadata"], err = json.Marshal(meta); err != nil {
		return err
	}
	if raw, err = json.Marshal(object); err != nil {
		return err
	}
	o, err := engine.ReadObject(raw)
	if f.objects == nil {
		f.objects = map[string][]engine.Object{}
	}
	others := slices.DeleteFunc(f.objects[resource], func(before engine.Object) bool { return before.Namespace == o.Namespace && before.Name == o.Name })
	f.objects[resource] = append(others, o)
	return err
}

func (f *Files) namespace(given string) string {
	if given != "" {
		return given
	}
	return f.Namespace
}

// Get returns an object of the files.
func (f *Files) Get(_ context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	for _, o := range f.objects[resource.Resource] {
		if o.Namespace == namespace && o.Name == name {
			return o, nil
		}
	}
	return engine.Object{}, apierrors.NewNotFound(resource.GroupResource(), name)
}

// List returns the objects of the files that a selector matches.
func (f *Files) List(_ context.Context, resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]engine.Object, error) {
	var found []engine.Object
	for _, o := range f.objects[resource.Resource] {
		if (namespace == "" || o.Namespace == namespace) && selector.Matches(labels.Set(o.Labels)) {
			found = append(found, o)
		}
	}
	return found, nil
}

// AssumesServices reports whether the files hold no Service at all, so that any is taken to exist.
func (f *Files) AssumesServices() bool { return len(f.services) == 0 }

// Service returns a Service of the files.
func (f *Files) Service(_ context.Context, namespace, name string) (intent.Service, error) {
	if f.AssumesServices() {
		return intent.Service{Assumed: true}, nil
	}
	for _, s := range f.services {
		if s.Namespace == namespace && s.Name == name {
			service := intent.Service{}
			for _, p := range s.Spec.Ports {
				target := p.TargetPort.String()
				if target == "0" { // left out: the port itself
					target = fmt.Sprint(p.Port)
				}
				service.Ports = append(service.Ports, intent.ServicePort{Number: int(p.Port), Name: p.Name, Target: target})
			}
			return service, nil
		}
	}
	return intent.Service{}, apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, name)
}
