package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Client reads and patches objects. They stay JSON as the API server sent it, so that a patch is measured against what is
// there and not against what a Go type kept of it.
type Client struct {
	connection *connection
	host       string
	served     served
}

var _ engine.Cluster = &Client{}

// NewClient returns a client of the API server that config names. It sends nothing yet.
func NewClient(config *rest.Config) (*Client, error) {
	return newClient(config, func() (*rest.Config, error) { return config, nil })
}

// newClient returns a client that loads its configuration again when its credentials are not accepted any more.
func newClient(config *rest.Config, load func() (*rest.Config, error)) (*Client, error) {
	connection, err := newConnection(config, load)
	if err != nil {
		return nil, err
	}
	return &Client{connection: connection, host: redacted(config.Host)}, nil
}

// redacted returns an address without the password that it may hold.
func redacted(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	return address
}

// Fresh is Get.
func (c *Client) Fresh(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	return c.Get(ctx, resource, namespace, name)
}

// Get reads one object.
func (c *Client) Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	raw, err := c.do(ctx, ask{"get", resource, namespace, func(r *rest.RESTClient, of schema.GroupVersionResource) *rest.Request {
		return r.Get().AbsPath(path(of, namespace, name)...)
	}})
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

// Find reads all objects, of all namespaces if namespace is empty, or their metadata if that is enough, and returns those
// that the index has under any of the keys.
func (c *Client) Find(ctx context.Context, resource schema.GroupVersionResource, namespace string, index engine.Index, keys ...string) ([]engine.Object, error) {
	accept := "application/json"
	if index.MetadataOnly {
		accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	}
	objects, err := c.list(ctx, resource, namespace, labels.Everything(), accept)
	if err != nil {
		return nil, err
	}
	return index.Filter(objects, keys...), nil
}

func (c *Client) list(ctx context.Context, resource schema.GroupVersionResource, namespace string, selector labels.Selector, accept string) ([]engine.Object, error) {
	var objects []engine.Object
	for next := ""; ; {
		raw, err := c.do(ctx, ask{"list", resource, namespace, func(r *rest.RESTClient, of schema.GroupVersionResource) *rest.Request {
			return r.Get().AbsPath(path(of, namespace, "")...).SetHeader("Accept", accept).
				Param("labelSelector", selector.String()).Param("limit", listPage).Param("continue", next)
		}})
		if err != nil {
			return nil, err
		}
		page, err := c.page(raw)
		if err != nil {
			return nil, err
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

// page is a part of a list.
type page struct {
	Kind     string            `json:"kind"`
	Metadata metav1.ListMeta   `json:"metadata"`
	Items    []json.RawMessage `json:"items"`
}

// page reads an answer to a list. One that says nothing of what is there, from whatever stands before the API server, is an
// error: to take it for an empty list would be to take all objects for gone.
func (c *Client) page(raw []byte) (page, error) {
	p := page{}
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("API server %s: its answer to a list cannot be read: %w", c.host, err)
	}
	if !strings.HasSuffix(p.Kind, "List") || p.Metadata.ResourceVersion == "" {
		return p, fmt.Errorf("API server %s: its answer to a list is none (kind %q, version %q)", c.host, p.Kind, p.Metadata.ResourceVersion)
	}
	return p, nil
}

// Patch applies a JSON Patch, which has to name the version that it is for: it may be sent again.
func (c *Client) Patch(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte) (engine.Object, error) {
	return c.patch(ctx, resource, namespace, name, patch, false)
}

// Rehearse returns what would come of a JSON Patch (dry run).
func (c *Client) Rehearse(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte) (engine.Object, error) {
	return c.patch(ctx, resource, namespace, name, patch, true)
}

func (c *Client) patch(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte, rehearse bool) (engine.Object, error) {
	raw, err := c.do(ctx, ask{"patch", resource, namespace, func(r *rest.RESTClient, of schema.GroupVersionResource) *rest.Request {
		request := r.Patch(types.JSONPatchType).AbsPath(path(of, namespace, name)...).Body(patch)
		if rehearse {
			request = request.Param("dryRun", metav1.DryRunAll)
		}
		return request
	}})
	if err != nil {
		return engine.Object{}, err
	}
	return decode(raw)
}

// Create creates an object, and returns it as it then is. What is sent without a name, such as a review of rights, is answered and
// not kept, and has none then either.
func (c *Client) Create(ctx context.Context, resource schema.GroupVersionResource, namespace string, object []byte) (engine.Object, error) {
	raw, err := c.do(ctx, ask{"create", resource, namespace, func(r *rest.RESTClient, of schema.GroupVersionResource) *rest.Request {
		return r.Post().AbsPath(path(of, namespace, "")...).SetHeader("Content-Type", "application/json").Body(object)
	}})
	if err != nil {
		return engine.Object{}, err
	}
	if sent, err := engine.ReadObject(object); err != nil || sent.Name == "" {
		return read(raw)
	}
	return decode(raw)
}

// Delete deletes an object.
func (c *Client) Delete(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) error {
	_, err := c.do(ctx, ask{"delete", resource, namespace, func(r *rest.RESTClient, of schema.GroupVersionResource) *rest.Request {
		return r.Delete().AbsPath(path(of, namespace, name)...)
	}})
	return err
}

var services = schema.GroupVersionResource{Version: "v1", Resource: "services"}

// Service reads what has to be known of a Service.
func (c *Client) Service(ctx context.Context, namespace, name string) (intent.Service, error) {
	o, err := c.Get(ctx, services, namespace, name)
	if err != nil {
		return intent.Service{}, err
	}
	return serviceOf(o)
}

func serviceOf(o engine.Object) (intent.Service, error) {
	read := struct {
		Spec struct {
			Ports []struct {
				Name       string             `json:"name"`
				Port       int                `json:"port"`
				TargetPort intstr.IntOrString `json:"targetPort"`
			} `json:"ports"`
		} `json:"spec"`
	}{}
	if err := json.Unmarshal(o.JSON, &read); err != nil {
		return intent.Service{}, fmt.Errorf("the API server's answer cannot be read: %w", err)
	}
	service := intent.Service{}
	for _, p := range read.Spec.Ports {
		service.Ports = append(service.Ports, intent.ServicePort{Number: p.Port, Name: p.Name, Target: p.TargetPort.String()})
	}
	return service, nil
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

// read reads what the API server answers.
func read(raw json.RawMessage) (engine.Object, error) {
	o, err := engine.ReadObject(raw)
	if err != nil {
		return o, fmt.Errorf("the API server's answer cannot be read: %w", err)
	}
	return o, nil
}

// decode reads an object that the API server keeps.
func decode(raw json.RawMessage) (engine.Object, error) {
	o, err := read(raw)
	if err != nil {
		return o, err
	}
	if o.Name == "" {
		return o, errors.New("the API server's answer is no object: it has no name")
	}
	return o, nil
}
