package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// explain says what an error means to the person who can do something about it. The error itself stays wrapped.
func (c *Client) explain(err error, a ask) error {
	what := a.resource.GroupResource()
	switch {
	case errors.As(err, &explained{}): // by the request that asked for the resource's versions
		return err
	case apierrors.IsForbidden(err):
		return explained{err, fmt.Sprintf("the plugin's service account may not %s %s %s; grant that to the Argo Rollouts controller's role", a.verb, what, a.where())}
	case apierrors.IsUnauthorized(err):
		return explained{err, fmt.Sprintf("API server %s does not accept the plugin's credentials", c.host)}
	case isUnserved(err):
		return explained{err, fmt.Sprintf("the cluster serves no %s; is its custom resource definition installed?", strings.TrimSpace(what.String()+" "+a.resource.Version))}
	case errors.Is(err, errLimit):
		return explained{err, fmt.Sprintf("the plugin's own limit of requests left no time to %s %s %s; raise its flag --kube-api-qps", a.verb, what, a.where())}
	case errors.Is(err, context.DeadlineExceeded):
		return explained{err, fmt.Sprintf("API server %s did not answer in time when asked to %s %s %s", c.host, a.verb, what, a.where())}
	case errors.Is(err, context.Canceled):
		return explained{err, fmt.Sprintf("API server %s was asked to %s %s %s, and the answer was not waited for", c.host, a.verb, what, a.where())}
	case isNetwork(err):
		return fmt.Errorf("API server %s cannot be reached: %w", c.host, err)
	case passes(err):
		return fmt.Errorf("API server %s is in trouble: %w", c.host, err)
	default:
		return err
	}
}

// gaveUp says of an error which did not pass how often, and for how long, it was waited for that.
func (c *Client) gaveUp(err error, a ask, tries int, took time.Duration) error {
	if tries == 1 {
		return c.explain(err, a)
	}
	took = took.Round(time.Second)
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return fmt.Errorf("API server %s answered %d when asked to %s %s %s, %d times in %s; the last answer: %w",
			c.host, status.Status().Code, a.verb, a.resource.GroupResource(), a.where(), tries, took, err)
	}
	return fmt.Errorf("API server %s cannot be reached, tried %d times in %s to %s %s %s: %w",
		c.host, tries, took, a.verb, a.resource.GroupResource(), a.where(), err)
}

func isNetwork(err error) bool {
	network, unreachable := (*url.Error)(nil), net.Error(nil)
	return errors.As(err, &network) || errors.As(err, &unreachable)
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
