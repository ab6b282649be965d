package kube

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// served remembers in which version an API server serves the resources that are asked for without one. That one is not
// served is not remembered: its definition may be installed meanwhile.
type served struct {
	mu       sync.Mutex
	versions map[schema.GroupResource]string
}

// version returns a resource with the version in which it is to be asked for: its own or, where it has none, the one of those
// in which the API server serves it that this prefers. It fails as for a resource that is not served, if there is none.
func (c *Client) version(ctx context.Context, resource schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	if resource.Version != "" {
		return resource, nil
	}
	c.served.mu.Lock()
	version, found := c.served.versions[resource.GroupResource()]
	c.served.mu.Unlock()
	if found {
		return resource.GroupResource().WithVersion(version), nil
	}
	versions, err := c.Versions(ctx, resource.Group, resource.Resource)
	if err != nil {
		return resource, err
	}
	if len(versions) == 0 {
		return resource, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
			Message: fmt.Sprintf("no version of %s is served", resource.GroupResource()),
		}}
	}
	c.served.mu.Lock()
	defer c.served.mu.Unlock()
	if c.served.versions == nil {
		c.served.versions = map[schema.GroupResource]string{}
	}
	c.served.versions[resource.GroupResource()] = versions[0]
	return resource.GroupResource().WithVersion(versions[0]), nil
}

// forget lets the version of a resource be asked for again, if the API server answers that it does not serve it, or not any more.
func (c *Client) forget(resource schema.GroupVersionResource, err error) {
	if !isUnserved(err) {
		return
	}
	c.served.mu.Lock()
	defer c.served.mu.Unlock()
	delete(c.served.versions, resource.GroupResource())
}
