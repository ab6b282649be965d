package kube

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Client reads and patches objects. They stay JSON as the API server sent it, so that a patch is measured against what is
// there and not against what a Go type kept of it.
type Client struct {
	rest *rest.RESTClient
	host string
}

var _ engine.Cluster = &Client{}

// NewClient returns a client of the API server that config names. It sends nothing yet.
func NewClient(config *rest.Config) (*Client, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("API server %s: %w", config.Host, err)
	}
	return &Client{rest: client, host: config.Host}, nil
}

// Get reads one object.
func (c *Client) Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	raw, err := c.do(ctx, c.rest.Get().AbsPath(path(resource, namespace, name)...), "get", resource, namespace)
	if err != nil {
		return engine.Object{}, err
	}
	return decode(raw)
}

// listPage is how many objects are asked for at once.
const listPage = "500"

// List reads the objects that selector matches, of all namespaces if namespace is empty.
func (c *Client) List(ctx context.Context, resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]engine.Object, error) {
	return c.list(ctx, resource, namespace, selector, "application/json")
}

// Survey reads the metadata of all objects, of all namespaces if namespace is empty.
func (c *Client) Survey(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]engine.Object, error) {
	objects, err := c.list(ctx, resource, namespace, labels.Everything(), "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
	for i := range objects {
		objects[i].JSON = nil
	}
	return objects, err
}

func (c *Client) list(ctx context.Context, resource schema.GroupVersionResource, namespace string, selector labels.Selector, accept string) ([]engine.Object, error) {
	var objects []engine.Object
	for next := ""; ; {
		request := c.rest.Get().AbsPath(path(resource, namespace, "")...).SetHeader("Accept", accept).
			Param("labelSelector", selector.String()).Param("limit", listPage).Param("continue", next)
		raw, err := c.do(ctx, request, "list", resource, namespace)
		if err != nil {
			return nil, err
		}
		page := struct {
			Metadata metav1.ListMeta   `json:"metadata"`
			Items    []json.RawMessage `json:"items"`
		}{}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, fmt.Errorf("API server %s: %w", c.host, err)
		}
		for _, item := range page.Items {
			o, err := decode(item)
			if err != nil {
				return nil, err
			}
			objects = append(objects, o)
		}
		if next = page.Metadata.Continue; next == "" {
			return objects, nil
		}
	}
}

// Patch applies a JSON Patch.
func (c *Client) Patch(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte) (engine.Object, error) {
	request := c.rest.Patch(types.JSONPatchType).AbsPath(path(resource, namespace, name)...).Body(patch)
	raw, err := c.do(ctx, request, "patch", resource, namespace)
	if err != nil {
		return engine.Object{}, err
	}
	return decode(raw)
}

// Create creates an object.
func (c *Client) Create(ctx context.Context, resource schema.GroupVersionResource, namespace string, object []byte) error {
	request := c.rest.Post().AbsPath(path(resource, namespace, "")...).SetHeader("Content-Type", "application/json").Body(object)
	_, err := c.do(ctx, request, "create", resource, namespace)
	return err
}

// Delete deletes an object.
func (c *Client) Delete(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) error {
	_, err := c.do(ctx, c.rest.Delete().AbsPath(path(resource, namespace, name)...), "delete", resource, namespace)
	return err
}

var services = schema.GroupVersionResource{Version: "v1", Resource: "services"}

// Service reads what has to be known of a Service.
func (c *Client) Service(ctx context.Context, namespace, name string) (intent.Service, error) {
	raw, err := c.do(ctx, c.rest.Get().AbsPath(path(services, namespace, name)...), "get", services, namespace)
	if err != nil {
		return intent.Service{}, err
	}
	read := struct {
		Spec struct {
			Ports []struct {
				Name       string             `json:"name"`
				Port       int                `json:"port"`
				TargetPort intstr.IntOrString `json:"targetPort"`
			} `json:"ports"`
		} `json:"spec"`
	}{}
	if err := json.Unmarshal(raw, &read); err != nil {
		return intent.Service{}, fmt.Errorf("API server %s: %w", c.host, err)
	}
	service := intent.Service{}
	for _, p := range read.Spec.Ports {
		service.Ports = append(service.Ports, intent.ServicePort{Number: p.Port, Name: p.Name, Target: p.TargetPort.String()})
	}
	return service, nil
}

// do sends a request and returns the body of the answer, or the error that the API server put into it.
func (c *Client) do(ctx context.Context, request *rest.Request, verb string, resource schema.GroupVersionResource, namespace string) ([]byte, error) {
	result := request.Do(ctx)
	if err := result.Error(); err != nil { // Raw alone would only tell the status code
		return nil, c.explain(err, verb, resource, namespace)
	}
	return result.Raw()
}

// path returns the steps of an object's address, or of a list's if name is empty.
func path(resource schema.GroupVersionResource, namespace, name string) []string {
	steps := []string{"apis", resource.Group, resource.Version}
	if resource.Group == "" {
		steps = []string{"api", resource.Version}
	}
	if namespace != "" {
		steps = append(steps, "namespaces", namespace)
	}
	steps = append(steps, resource.Resource)
	if name != "" {
		steps = append(steps, name)
	}
	return steps
}

func decode(raw json.RawMessage) (engine.Object, error) {
	o, err := engine.ReadObject(raw)
	if err != nil {
		return o, fmt.Errorf("the API server's answer cannot be read: %w", err)
	}
	return o, nil
}
