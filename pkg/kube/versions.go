package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// Versions returns the versions of a named group in which the API server serves a resource, the preferred one first; none
// if it does not serve it.
func (c *Client) Versions(ctx context.Context, group, resource string) ([]string, error) {
	served := metav1.APIGroup{}
	if found, err := c.discovered(ctx, schema.GroupVersionResource{Group: group, Resource: resource}, &served, "apis", group); err != nil || !found {
		return nil, err
	}
	var versions []string
	for _, v := range served.Versions {
		list := metav1.APIResourceList{}
		at := schema.GroupVersionResource{Group: group, Version: v.Version, Resource: resource}
		if _, err := c.discovered(ctx, at, &list, "apis", group, v.Version); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource }) {
			versions = append(versions, v.Version)
		}
	}
	return versions, nil
}

// discover is the verb of asking an API server what it serves.
const discover = "discover"

// discovered reads what the API server says of itself at a path; found says that it knows the path.
func (c *Client) discovered(ctx context.Context, of schema.GroupVersionResource, into any, path ...string) (found bool, err error) {
	raw, err := c.do(ctx, ask{discover, of, "", func(r *rest.RESTClient, _ schema.GroupVersionResource) *rest.Request {
		return r.Get().AbsPath(path...)
	}})
	switch {
	case errors.Is(err, engine.ErrUnserved):
		return false, nil
	case err != nil:
		return false, err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return false, fmt.Errorf("API server %s: %w", c.host, err)
	}
	return true, nil
}
