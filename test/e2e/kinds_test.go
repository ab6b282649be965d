package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
)

// Tables, config blocks and Rollouts of many kinds, and who answers at each weight.
func TestKinds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		setup  setup
		steps  []int32
		shares []shares // of requests to /demo at each step
	}{
		{
			name:   "the first release's spelling",
			setup:  setup{plugin: firstRelease, block: "{routeTableName: demo, routeTableNamespace: NAMESPACE}"},
			steps:  []int32{10, 100},
			shares: []shares{{"web:1": 90, "web:2": 10}, {"web:2": 100}},
		},
		{
			name:   "any other name",
			setup:  setup{plugin: alias},
			steps:  []int32{10, 100},
			shares: []shares{{"web:1": 90, "web:2": 10}, {"web:2": 100}},
		},
		{
			name: "shares out of a thousand",
			setup: setup{edit: func(spec *v1alpha1.RolloutSpec) {
				spec.Strategy.Canary.TrafficRouting.MaxTrafficWeight = new(int32(1000))
			}},
			steps:  []int32{1, 125, 1000}, // in whole percents, and not nothing
			shares: []shares{{"web:1": 99, "web:2": 1}, {"web:1": 88, "web:2": 12}, {"web:2": 100}},
		},
		{
			name: "the table's default destination",
			setup: setup{tables: `
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: demo}
spec:
  hosts: [NAMESPACE.example.com]
  defaultDestination: {ref: {name: web}, port: {number: 8080}}
  http: [{name: demo, forwardTo: {autoHostRewrite: true}}]
`},
			steps:  []int32{10, 50},
			shares: []shares{{"web:1": 90, "web:2": 10}, {"web:1": 50, "web:2": 50}},
		},
		{
			name: "virtual destinations",
			setup: setup{
				block: "{routeTableSelector: {name: demo}, destinationKind: VIRTUAL_DESTINATION, destinationNamespace: mesh}",
				tables: `
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: demo}
spec:
  hosts: [NAMESPACE.example.com]
  http:
    - name: demo
      forwardTo:
        destinations:
          - {ref: {name: web, namespace: mesh}, kind: VIRTUAL_DESTINATION, port: {number: 80}, weight: 80}
          - {ref: {name: partner, namespace: mesh}, kind: VIRTUAL_DESTINATION, port: {number: 80}, weight: 20}
`},
			steps:  []int32{10, 50},
			shares: []shares{{"web": 72, "web-canary": 8, "partner": 20}, {"web": 40, "web-canary": 40, "partner": 20}},
		},
		{
			name: "a table in the gateways' namespace",
			setup: setup{
				plugin: bounded,
				block:  "{routeTableSelector: {name: NAMESPACE, namespace: gateways}}",
				tables: `
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: NAMESPACE, namespace: gateways}
spec:
  hosts: [NAMESPACE.example.com]
  http:
    - name: demo
      forwardTo: {destinations: [{ref: {name: web, namespace: NAMESPACE, cluster: ""}, port: {number: 8080}}]}
`},
			steps:  []int32{10, 50},
			shares: []shares{{"web:1": 90, "web:2": 10}, {"web:1": 50, "web:2": 50}},
		},
		{
			name: "virtual destinations, both listed",
			setup: setup{
				block: `
routeTableSelector: {name: demo}
stable: {name: web-one, namespace: mesh, kind: VIRTUAL_DESTINATION}
canary: {name: web-two, namespace: mesh, kind: VIRTUAL_DESTINATION}
`,
				edit: noServices,
				tables: `
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: demo}
spec:
  hosts: [NAMESPACE.example.com]
  http:
    - name: demo
      forwardTo:
        destinations:
          - {ref: {name: web-two, namespace: mesh}, kind: VIRTUAL_DESTINATION, port: {number: 8080}}
          - {ref: {name: web-one, namespace: mesh}, kind: VIRTUAL_DESTINATION, port: {number: 80}, weight: 100}
`},
			steps:  []int32{10, 50},
			shares: []shares{{"web-one": 90, "web-two": 10}, {"web-one": 50, "web-two": 50}},
		},
		{
			name: "tables by label, behind one that delegates",
			setup: setup{
				block: "{routeTableSelector: {matchExpressions: [{key: app, operator: In, values: [demo]}]}}",
				tables: `
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: parent, labels: {app: demo}}
spec:
  hosts: [NAMESPACE.example.com]
  http: [{name: all, delegate: {routeTables: [{labels: {part: child}, namespace: NAMESPACE}]}}]
---
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: child, labels: {app: demo, part: child}}
spec:
  http: [{name: demo, matchers: [{uri: {prefix: /demo}}], forwardTo: {destinations: [{ref: {name: web}}]}}]
`},
			steps:  []int32{10, 50},
			shares: []shares{{"web:1": 90, "web:2": 10}, {"web:1": 50, "web:2": 50}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.setup.steps = stepsTo(tt.steps...)
			d := tt.setup.begin(t)
			d.release("web:2")
			for i, weight := range tt.steps {
				d.reaches(weight)
				d.serves("/demo", tt.shares[i])
				d.promote()
			}
			d.completes("web:2")
		})
	}
}

// Stable and canary are subsets of one Service, and the Rollout names no services.
func TestSubsets(t *testing.T) {
	stable := "{ref: {name: web}, port: {number: 8080}, subset: {role: stable}"
	for _, tt := range []struct{ name, destinations string }{
		{"stable listed", stable + "}"},
		{"both listed", stable + ", weight: 100}, {ref: {name: web}, port: {number: 8080}, subset: {role: canary}, weight: 0}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := setup{
				block: `
routeTableSelector: {name: demo}
stable: {name: web, subset: {role: stable}}
canary: {name: web, subset: {role: canary}}
`,
				tables: strings.ReplaceAll(`
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: demo}
spec:
  hosts: [NAMESPACE.example.com]
  http: [{name: demo, forwardTo: {destinations: [DESTINATIONS]}}]
`, "DESTINATIONS", tt.destinations),
				edit: func(spec *v1alpha1.RolloutSpec) {
					canary := spec.Strategy.Canary
					canary.StableService, canary.CanaryService = "", ""
					canary.StableMetadata = &v1alpha1.PodTemplateMetadata{Labels: map[string]string{"role": "stable"}}
					canary.CanaryMetadata = &v1alpha1.PodTemplateMetadata{Labels: map[string]string{"role": "canary"}}
				},
			}.begin(t)
			d.release("web:2")
			d.reaches(10)
			d.lists("demo", "web/stable 90, web/canary 10")
			d.serves("/demo", shares{"web:1": 90, "web:2": 10})
			d.promote()
			d.reaches(50)
			d.serves("/demo", shares{"web:1": 50, "web:2": 50})
			d.promote()
			d.completes("web:2")
			d.served(requestsAtZero, "/demo", shares{"web:1": 0, "web:2": 100})
		})
	}
}

// Routes of tcp and tls have no names; every one that forwards to stable moves.
func TestTCPAndTLS(t *testing.T) {
	for _, tt := range []struct {
		name         string
		port         uint32 // all tables of the gateway share its ports
		destinations string
	}{
		{"stable listed", 5432, "{ref: {name: web}, port: {number: 8080}}"},
		{"both listed", 5433, "{ref: {name: web-canary}, port: {number: 8080}, weight: 0}, {ref: {name: web}, port: {number: 8080}, weight: 100}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := setup{
				tables: strings.NewReplacer("PORT", fmt.Sprint(tt.port), "DESTINATIONS", tt.destinations).Replace(`
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: demo}
spec:
  hosts: [NAMESPACE.example.com]
  tcp: [{matchers: [{port: PORT}], forwardTo: {destinations: [DESTINATIONS]}}]
  tls: [{matchers: [{sniHosts: [NAMESPACE.example.com]}], forwardTo: {destinations: [DESTINATIONS]}}]
`)}.begin(t)
			tcp := func() gateway.Answer { return gw.TCP(tt.port) }
			tls := func() gateway.Answer { return gw.TLS(443, d.Namespace+".example.com") }

			d.release("web:2")
			d.reaches(10)
			d.connects("tcp", tcp, shares{"web:1": 90, "web:2": 10})
			d.connects("tls", tls, shares{"web:1": 90, "web:2": 10})
			d.promote()
			d.reaches(50)
			d.connects("tcp", tcp, shares{"web:1": 50, "web:2": 50})
			d.connects("tls", tls, shares{"web:1": 50, "web:2": 50})
			d.promote()
			d.completes("web:2")
			d.connects("tcp", tcp, shares{"web:2": 100})
			d.connects("tls", tls, shares{"web:2": 100})
		})
	}
}

// connects is serves for connections.
func (d *story) connects(what string, connect func() gateway.Answer, want shares) {
	d.t.Helper()
	counts := map[string]int{}
	for range requests {
		counts[connect().Image]++
	}
	d.check(what, want, counts, requests)
}
