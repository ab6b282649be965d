package kube

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Request is one request to an API server, as it went over the network: client-go's own retries are requests of their own.
type Request struct {
	// Verb is that of the API, such as list, and Resource the plural, such as routetables.
	Verb, Resource string
	// Code is the status of the answer, 0 if there was none.
	Code int
	// Took is the time until the answer began, which of a watch is only its head.
	Took time.Duration
}

// named is the key of what a request asks for in its context: its address tells that too, but not as simply.
type named struct{}

// naming returns a context for a request that asks for a resource.
func naming(ctx context.Context, verb string, resource schema.GroupVersionResource) context.Context {
	return context.WithValue(ctx, named{}, Request{Verb: verb, Resource: resource.Resource})
}

// observed makes a transport tell of the requests that go through it.
func observed(observe func(Request)) func(http.RoundTripper) http.RoundTripper {
	return func(transport http.RoundTripper) http.RoundTripper { return observer{transport, observe} }
}

type observer struct {
	transport http.RoundTripper
	observe   func(Request)
}

// RoundTrip is part of http.RoundTripper.
func (o observer) RoundTrip(r *http.Request) (*http.Response, error) {
	request, _ := r.Context().Value(named{}).(Request) // every request of a Client has one
	began := time.Now()
	response, err := o.transport.RoundTrip(r)
	request.Took = time.Since(began)
	if err == nil {
		request.Code = response.StatusCode
	}
	o.observe(request)
	return response, err
}

// WrappedRoundTripper tells client-go what is within, whose idle connections it may close.
func (o observer) WrappedRoundTripper() http.RoundTripper { return o.transport }
