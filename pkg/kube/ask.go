package kube

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/patience"
)

// ask is what an API server is asked for.
type ask struct {
	verb string
	// resource is what is asked for; without a version, in one that is served.
	resource  schema.GroupVersionResource
	namespace string // empty: all
	// request makes the request for the resource in a version that is served; it may be called several times.
	request func(*rest.RESTClient, schema.GroupVersionResource) *rest.Request
}

func (a ask) where() string {
	if a.namespace == "" {
		return "in all namespaces"
	}
	return "in namespace " + a.namespace
}

// pauses are those between tries.
var pauses = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 2 * time.Second}

// do asks until there is an answer that stands, and returns the body of that, or the error in it. What the network or the API
// server may be over with soon is tried again, as long as the deadline of ctx allows; without one, it is not.
//
// So a request may be carried out twice, where the answer to the first was lost. That is harmless: a patch names the version
// that it is for, and is a conflict the second time; what was created exists already, and what was deleted is not there.
func (c *Client) do(ctx context.Context, a ask) ([]byte, error) {
	if _, bound := ctx.Deadline(); !bound {
		return c.try(ctx, a)
	}
	request := a.request
	a.request = func(r *rest.RESTClient, of schema.GroupVersionResource) *rest.Request {
		return request(r, of).MaxRetries(0) // client-go's own know no deadline
	}
	began, pause, last := time.Now(), pauses, error(nil)
	for tries := 1; ; tries++ {
		raw, err := c.once(ctx, a)
		switch {
		case err == nil:
			return raw, nil
		case ctx.Err() != nil && last != nil: // how it went before says more than that time is over
			return nil, c.gaveUp(last, a, tries-1, time.Since(began))
		case ctx.Err() != nil || !passes(err):
			return nil, c.explain(err, a)
		}
		last = err
		if !patience.Wait(ctx, max(pause.Step(), asked(err))) {
			return nil, c.gaveUp(last, a, tries, time.Since(began))
		}
	}
}

// asked returns for how long the API server asks not to be asked again.
func asked(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return time.Duration(seconds) * time.Second
}

// try asks once.
func (c *Client) try(ctx context.Context, a ask) ([]byte, error) {
	raw, err := c.once(ctx, a)
	if err != nil {
		return nil, c.explain(err, a)
	}
	return raw, nil
}

// once is try, with errors as they come. With credentials that are not accepted any more, it asks again with those that are
// there by now: they may have been replaced.
func (c *Client) once(ctx context.Context, a ask) ([]byte, error) {
	resource := a.resource
	if a.verb != discover {
		var err error
		if resource, err = c.version(ctx, a.resource); err != nil {
			return nil, err
		}
	}
	ctx = naming(ctx, a.verb, resource)
	client := c.connection.current()
	raw, err := send(ctx, a.request(client, resource))
	if !apierrors.IsUnauthorized(err) {
		c.forget(a.resource, err)
		return raw, err
	}
	renewed, renewal := c.connection.renew(client)
	if renewal != nil {
		return nil, fmt.Errorf("%w, and reading them again: %w", err, renewal)
	}
	return send(ctx, a.request(renewed, resource))
}

// send sends a request and returns the body of the answer, or the error that the API server put into it.
func send(ctx context.Context, request *rest.Request) ([]byte, error) {
	result := request.Do(ctx)
	if err := result.Error(); err != nil { // Raw alone would only tell the status code
		return nil, err
	}
	return result.Raw()
}
