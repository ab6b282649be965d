package e2e

import (
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

const oneRoute = `
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: demo}
spec:
  hosts: [NAMESPACE.example.com]
  http: [{name: all, forwardTo: {destinations: [DESTINATIONS]}}]
`

func forwarding(destinations string) string {
	return strings.ReplaceAll(oneRoute, "DESTINATIONS", destinations)
}

func noServices(spec *v1alpha1.RolloutSpec) {
	spec.Strategy.Canary.StableService, spec.Strategy.Canary.CanaryService = "", ""
}

// complaint is how the controller begins the message of its Event.
const complaint = "failed to set weight via plugin: "

// What `kubectl describe rollout` says of a Rollout whose first deployment cannot be served. Nothing is written.
func TestErrorsOfAFirstDeployment(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup setup
		want  string
	}{
		{
			"no such table",
			setup{block: "routeTableSelector: {name: dmeo}"},
			"RouteTable NAMESPACE/dmeo does not exist; there are demo: correct the selector or create it",
		},
		{
			"no table with such a label",
			setup{block: "routeTableSelector: {labels: {app: dmeo}}"},
			"no RouteTable in namespace NAMESPACE matches app=dmeo; there are demo: correct the selector or create it",
		},
		{
			"an empty namespace",
			setup{block: "routeTableSelector: {name: demo, namespace: nowhere}"},
			"RouteTable nowhere/demo does not exist; that namespace has none at all: is it the right one?",
		},
		{
			"no route to stable",
			setup{tables: forwarding("{ref: {name: shop}}")},
			`RouteTable NAMESPACE/demo: none of its 1 routes forwards to stable Service NAMESPACE/web ` +
				`(http[0] "all" forwards to Service NAMESPACE/shop); add it to a route or select its table`,
		},
		{
			"stable is of another kind",
			setup{tables: forwarding("{ref: {name: web}, kind: VIRTUAL_DESTINATION}")},
			`http[0] "all" lists VirtualDestination NAMESPACE/web: if that is meant, set destinationKind or stable.kind to VIRTUAL_DESTINATION`,
		},
		{
			"stable is in another namespace",
			setup{tables: forwarding("{ref: {name: web, namespace: shops}}")},
			`http[0] "all" lists Service shops/web: if that is meant, give it ref.namespace NAMESPACE there`,
		},
		{
			"no such route",
			setup{block: "{routeTableSelector: {name: demo}, routeSelector: {name: demmo}}"},
			`RouteTable NAMESPACE/demo: none of its 3 routes matches routeSelector (http[0] "health", http[1] "demo" [route:demo], http[2])`,
		},
		{
			"two destinations could be stable",
			setup{tables: forwarding("{ref: {name: web}, port: {number: 8080}, weight: 50}, {ref: {name: web}, port: {number: 9090}, weight: 50}")},
			`RouteTable NAMESPACE/demo: http[0] "all": lists Service NAMESPACE/web:8080 and Service NAMESPACE/web:9090, and either could be stable; ` +
				`set its port, subset or cluster in the config block`,
		},
		{
			"an unknown field",
			setup{block: "routeTableSelecter: {name: demo}"},
			"solo-io/glooplatform: routeTableSelecter: unknown field; did you mean routeTableSelector?",
		},
		{
			"a percent sign",
			setup{block: "{routeTableSelector: {name: demo}, 100%s: 5%}"},
			"solo-io/glooplatform: 100%s: unknown field; known here are ",
		},
		{
			"a namespace that the plugin may not touch",
			setup{plugin: bounded},
			"test/bounded: routeTableSelector: namespace NAMESPACE is not among those that the plugin's flag --route-namespaces allows (gateways)",
		},
		{
			"a Rollout without services",
			setup{edit: noServices},
			"solo-io/glooplatform: the Rollout has no spec.strategy.canary.stableService; set it, or set stable.name in this block; " +
				"the Rollout has no spec.strategy.canary.canaryService; set it, or set canary.name in this block",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := tt.setup.prepare(t)
			d.Apply(tt.setup.rollout(t))
			d.complains(tt.want)
			d.isUntouched()
		})
	}
}

// What it says once the canary is to get traffic that it cannot be given. All traffic stays with stable.
func TestErrorsOfARelease(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup setup
		want  string
		cure  string // YAML, after which the release goes on
	}{
		{
			"no canary Service",
			setup{
				block: "{routeTableSelector: {name: demo}, canary: {name: web-next}}",
				edit:  func(spec *v1alpha1.RolloutSpec) { spec.Strategy.Canary.CanaryService = "" },
			},
			`RouteTable NAMESPACE/demo: http[1] "demo": Service NAMESPACE/web-next does not exist, so traffic cannot be sent to it; create it`,
			`
apiVersion: v1
kind: Service
metadata: {name: web-next}
spec: {selector: {app: web}, ports: [{name: http, port: 8080}]}
`,
		},
		{
			"a canary Service without the port",
			setup{services: `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: web-canary}
spec: {selector: {app: web}, ports: [{name: http, port: 9090}]}
`},
			`RouteTable NAMESPACE/demo: http[1] "demo": Service NAMESPACE/web-canary has no port 8080 (it has 9090 http); add it, or list the destination with another`,
			`
apiVersion: v1
kind: Service
metadata: {name: web-canary}
spec: {selector: {app: web}, ports: [{name: http, port: 8080}]}
`,
		},
		{
			"a subset without a canary",
			setup{tables: forwarding("{ref: {name: web}, subset: {app: web}}")},
			`RouteTable NAMESPACE/demo: http[0] "all": stable has a subset and no canary is listed; list it or set canary.subset`,
			forwarding("{ref: {name: web}, subset: {app: web}, weight: 100}, {ref: {name: web-canary}, weight: 0}"),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.setup.steps = stepsTo(10)
			d := tt.setup.begin(t)
			d.release("web:2")
			d.complains(tt.want)
			d.isUntouched()
			d.served(requestsAtZero, "/demo", shares{"web:1": 100})

			d.Apply(tt.cure)
			d.WaitFor(d.name, testbed.PausedAt(1), testbed.CanaryWeight(10))
		})
	}
}

// complains waits for the Event that tells the Rollout's owner what is wrong. NAMESPACE in the text stands for the story's.
func (d *story) complains(want string) {
	d.t.Helper()
	want = strings.ReplaceAll(want, "NAMESPACE", d.Namespace)
	if got := d.WaitForEvent(d.name, "TrafficRoutingError", want); !strings.HasPrefix(got, complaint) {
		d.t.Errorf("the Event says\n%s\nwant it to begin with\n%s", got, complaint)
	}
}
