package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// explain says what an error means to the person who can do something about it. The error itself stays wrapped.
func (c *Client) explain(err error, verb string, resource schema.GroupVersionResource, namespace string) error {
	where := "in all namespaces"
	if namespace != "" {
		where = "in namespace " + namespace
	}
	network, unreachable := (*url.Error)(nil), net.Error(nil)
	switch {
	case apierrors.IsForbidden(err):
		return explained{err, fmt.Sprintf("the plugin's service account may not %s %s %s; grant that to the Argo Rollouts controller's role", verb, resource.GroupResource(), where)}
	case apierrors.IsUnauthorized(err):
		return explained{err, fmt.Sprintf("API server %s does not accept the plugin's credentials", c.host)}
	case isUnserved(err):
		return explained{err, fmt.Sprintf("the cluster serves no %s %s; is its custom resource definition installed?", resource.GroupResource(), resource.Version)}
	case errors.Is(err, context.DeadlineExceeded):
		return explained{err, fmt.Sprintf("API server %s did not answer in time when asked to %s %s %s", c.host, verb, resource.GroupResource(), where)}
	case errors.As(err, &network) || errors.As(err, &unreachable):
		return fmt.Errorf("API server %s cannot be reached: %w", c.host, err)
	case apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err):
		return fmt.Errorf("API server %s is in trouble: %w", c.host, err)
	default:
		return err
	}
}

// isUnserved reports whether the API server does not know the resource, which it says in the words it has for an object
// that is not there.
func isUnserved(err error) bool {
	status := apierrors.APIStatus(nil)
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == "" && details.Kind == ""
}

// explained is an error in other words.
type explained struct {
	err  error
	text string
}

func (e explained) Error() string { return e.text }

// Unwrap returns the API server's error; a resource that is not served is not an object that is not there.
func (e explained) Unwrap() error {
	if isUnserved(e.err) {
		return engine.ErrUnserved
	}
	return e.err
}
