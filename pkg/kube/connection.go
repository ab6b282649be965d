package kube

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// connection is how an API server is reached, by credentials that may be replaced.
type connection struct {
	// load reads the configuration, with the credentials that are there by now.
	load func() (*rest.Config, error)

	mu     sync.Mutex
	client *rest.RESTClient
}

func newConnection(config *rest.Config, load func() (*rest.Config, error)) (*connection, error) {
	client, err := restClient(config)
	if err != nil {
		return nil, err
	}
	return &connection{load: load, client: client}, nil
}

// current returns the client to ask by.
func (c *connection) current() *rest.RESTClient {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

// renew returns a client with the credentials that are there by now, in place of one whose credentials were not accepted.
func (c *connection) renew(old *rest.RESTClient) (*rest.RESTClient, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != old { // somebody else did it
		return c.client, nil
	}
	config, err := c.load()
	if err != nil {
		return nil, err
	}
	client, err := restClient(config)
	if err == nil {
		c.client = client
	}
	return client, err
}

func restClient(config *rest.Config) (*rest.RESTClient, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("API server %s: %w", redacted(config.Host), err)
	}
	return client, nil
}
