package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gatewayapi"
)

const grpcRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: demo}
spec:
  parentRefs: [{name: edge}]
  hostnames: [NAMESPACE.example.com]
  rules:
    - matches: [{method: {service: demo.Colors}, headers: [{name: x-tenant, value: "1"}]}]
      filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: x-edge, value: "yes"}]}}]
      backendRefs: [BACKENDS]
`

// The weights of routes that are no HTTPRoutes.
func TestRouteKinds(t *testing.T) {
	for _, tt := range []struct{ kind, block, route string }{
		{gatewayapi.GRPC, "{grpcRoute: demo, namespace: NAMESPACE}", grpcRoute},
		{gatewayapi.TCP, "tcpRoute: demo", `
apiVersion: gateway.networking.k8s.io/v1alpha2
kind: TCPRoute
metadata: {name: demo}
spec:
  parentRefs: [{name: edge, sectionName: tcp}]
  rules: [{backendRefs: [BACKENDS]}]
`},
		{gatewayapi.TLS, "tlsRoutes: [{name: demo}]", `
apiVersion: gateway.networking.k8s.io/v1alpha2
kind: TLSRoute
metadata: {name: demo}
spec:
  parentRefs: [{name: edge, sectionName: tls}]
  hostnames: [NAMESPACE.example.com]
  rules: [{backendRefs: [BACKENDS]}]
`},
	} {
		for _, shape := range []struct{ name, backends string }{
			{"stable listed", "{name: web, port: 8080}"},
			{"both listed", "{name: web-canary, port: 8080, weight: 0}, {name: web, port: 8080, weight: 100}"},
		} {
			t.Run(tt.kind+", "+shape.name, func(t *testing.T) {
				t.Parallel()
				d := setup{
					plugin: successor, block: tt.block, steps: stepsTo(10, 100),
					routes: strings.ReplaceAll(tt.route, "BACKENDS", shape.backends),
				}.begin(t)
				d.release("web:2")
				for _, at := range []struct {
					weight int32
					want   shares
				}{{10, shares{"web:1": 90, "web:2": 10}}, {100, shares{"web:2": 100}}} {
					d.reaches(at.weight)
					d.connectsBy(tt.kind, at.want)
					d.differsInBackendsOnly()
					d.promote()
				}
				d.completes("web:2")
				d.connectsBy(tt.kind, shares{"web:2": 100})
			})
		}
	}
}

// connections is how many of them a share is measured by: each costs as much as several requests.
const connections = 200

// connectsBy is serves for calls, with these headers, and connections that routes of a kind are for.
func (d *story) connectsBy(kind string, want shares, headers ...string) {
	d.t.Helper()
	tally, err := gateway.Collect(d.t.Context(), connections, d.asking(kind, headers...))
	if err != nil {
		d.t.Fatal(err)
	}
	d.check(kind, want, tally.Images, connections)
}

// asking returns what makes one call, or one connection.
func (d *story) asking(kind string, headers ...string) func(context.Context) (gateway.Answer, error) {
	d.t.Helper()
	host := d.Namespace + ".example.com"
	if kind == gatewayapi.GRPC {
		caller, err := edge.DialGRPC(host)
		if err != nil {
			d.t.Fatal(err)
		}
		d.t.Cleanup(func() {
			if err := caller.Close(); err != nil {
				d.t.Error(err)
			}
		})
		return func(ctx context.Context) (gateway.Answer, error) {
			return caller.Call(ctx, "/demo.Colors/Get", slices.Concat(headers, []string{"x-tenant", "1"})...)
		}
	}
	listener := gatewayapi.Listener{Namespace: d.Namespace, Gateway: "edge", Name: "tcp"}
	serverName := ""
	if kind == gatewayapi.TLS {
		listener.Name, serverName = "tls", host
	}
	addr, err := edge.Listen(listener, serverName != "")
	if err != nil {
		d.t.Fatal(err)
	}
	return func(ctx context.Context) (gateway.Answer, error) { return gatewayapi.Connect(ctx, addr, serverName) }
}

const fourRoutes = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: one, labels: {app: demo}}
spec:
  parentRefs: [{name: edge}]
  hostnames: [NAMESPACE.example.com]
  rules: [{name: one, matches: [{path: {value: /one}}], backendRefs: [{name: web, port: 8080}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: two, labels: {app: demo}}
spec:
  parentRefs: [{name: edge}]
  hostnames: [NAMESPACE.example.com]
  rules:
    - {name: two, matches: [{path: {value: /two}}], backendRefs: [{name: web, port: 8080}, {name: web-canary, port: 8080, weight: 0}]}
    - {name: more, matches: [{path: {value: /more}}], backendRefs: [{name: web, port: 8080, weight: 7}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: partner, labels: {app: demo}}
spec:
  parentRefs: [{name: edge}]
  hostnames: [NAMESPACE.example.com]
  rules: [{name: partner, matches: [{path: {value: /partner}}], backendRefs: [{name: partner, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: still}
spec:
  parentRefs: [{name: edge}]
  hostnames: [NAMESPACE.example.com]
  rules: [{name: still, matches: [{path: {value: /still}}], backendRefs: [{name: web, port: 8080}]}]
`

// Two routes move at once, by their names or by their label, and no other.
func TestTwoHTTPRoutes(t *testing.T) {
	for _, tt := range []struct{ name, block string }{
		{"by name", "httpRoutes: [{name: one}, {name: two, useHeaderRoutes: true}]"},
		{"by label", "httpRouteSelector: {matchLabels: {app: demo}}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := setup{block: tt.block, routes: fourRoutes, services: withPartner(t), steps: stepsTo(10, 50)}.begin(t)
			d.release("web:2")
			for _, weight := range []int32{10, 50} {
				d.reaches(weight)
				for _, path := range []string{"/one", "/two", "/more"} {
					d.serves(path, shares{"web:1": 100 - int(weight), "web:2": int(weight)})
				}
				d.serves("/partner", shares{"partner": 100})
				d.served(requestsAtZero, "/still", shares{"web:1": 100})
				d.promote()
			}
			d.completes("web:2")
		})
	}
}
