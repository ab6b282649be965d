package gatewayapi

import (
	"encoding/json"
	"net/http"
	"strings"

	"k8s.io/client-go/tools/cache"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
)

// ServeHTTP routes a request and answers it in the name of the version that it reaches. A call of gRPC is one of GRPCRoutes,
// everything else of HTTPRoutes.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if isGRPC(req) {
		g.serveGRPC(w, req)
		return
	}
	d := Decide(g.Routes(), HTTP, req, draw)
	a := g.answer(d)
	g.mirror(d, req)
	a.Show(w.Header())
	if d.Outcome == gateway.Redirected {
		w.Header().Set("Location", d.Location)
		w.WriteHeader(a.Status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	for _, e := range d.Response {
		e.apply(w.Header())
	}
	w.WriteHeader(a.Status)
	_ = json.NewEncoder(w).Encode(a) // the client has gone; nobody is left to tell
}

func isGRPC(req *http.Request) bool {
	return req.ProtoMajor == 2 && strings.HasPrefix(req.Header.Get("Content-Type"), "application/grpc")
}

// answer finds the version that a decision leads to.
func (g *Gateway) answer(d Decision) gateway.Answer {
	a := gateway.Answer{Status: d.Status, Outcome: d.Outcome, Message: d.Message}
	if d.Route != nil {
		a.Table, a.Route = d.Route.String(), d.Rule.String()
	}
	if d.Outcome != gateway.Forwarded {
		return a
	}
	a.Kind, a.Service, a.Namespace = d.Backend.Kind, d.Backend.Name, d.Backend.Namespace
	if d.Request != nil {
		a.Host, a.Path = d.Request.Host, d.Request.URL.RequestURI()
	}
	v, found := g.pods.Reach(d.Backend.Namespace, d.Backend.Name, nil)
	if !found {
		a.Status = http.StatusServiceUnavailable
		return a
	}
	a.Status, a.Version, a.Image = http.StatusOK, v.Name, v.Image
	return a
}

// Mirrored counts the copies that one route has made of requests, from when the gateway was started.
func (g *Gateway) Mirrored(namespace, route string) gateway.Mirrored {
	return g.copies.Of(func(o cache.ObjectName) bool { return o == cache.NewObjectName(namespace, route) })
}

// mirror counts a request of a route whose rule has mirrors, and its copies.
func (g *Gateway) mirror(d Decision, req *http.Request) {
	if d.Outcome != gateway.Forwarded || len(d.Rule.filters.mirrors) == 0 {
		return
	}
	one := gateway.NewMirrored()
	one.Requests = 1
	for _, m := range d.Mirrors {
		one.Copy(req, func() (gateway.Version, bool) { return g.pods.Reach(m.Backend.Namespace, m.Backend.Name, nil) })
	}
	g.copies.Count(cache.NewObjectName(d.Route.Namespace, d.Route.Name), *one)
}
