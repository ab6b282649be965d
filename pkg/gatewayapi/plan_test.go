package gatewayapi_test

import (
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gatewayapi"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
)

func TestPlanWeights(t *testing.T) {
	for _, tt := range []struct {
		name     string
		observed string
		in       intent.Intent
		want     string
	}{
		{"a canary is added in the manner of stable", rule("{name: web, port: 8080}"), canary(10),
			rule("{name: web, port: 8080, weight: 90}, {name: web-canary, port: 8080, filters: [], weight: 10}")},
		{"what the API server fills in is copied", rule("{group: '', kind: Service, name: web, port: 8080, weight: 1}"), canary(10),
			rule("{group: '', kind: Service, name: web, port: 8080, weight: 90}, {group: '', kind: Service, name: web-canary, port: 8080, filters: [], weight: 10}")},
		{"stable keeps a place at full weight", rule("{name: web, port: 8080}"), canary(100),
			rule("{name: web, port: 8080, weight: 0}, {name: web-canary, port: 8080, filters: [], weight: 100}")},
		{"filters and fields that are not known here are copied",
			rule("{name: web, port: 8080, future: 9007199254740993, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [x]}}]}"), canary(1),
			rule("{name: web, port: 8080, future: 9007199254740993, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [x]}}], weight: 99}, " +
				"{name: web-canary, port: 8080, future: 9007199254740993, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [x]}}], weight: 1}")},
		{"a listed canary is used as it stands", rule("{name: web, port: 8080}, {name: web-canary, port: 9090}"), canary(25),
			rule("{name: web, port: 8080, weight: 75}, {name: web-canary, port: 9090, weight: 25}")},
		{"listed without weights, 0 is written out", rule("{name: web}, {name: web-canary}"), canary(0),
			rule("{name: web, weight: 100}, {name: web-canary, weight: 0}")},
		{"listed at 0 is at rest", rule("{name: web}, {name: web-canary, weight: 0}"), canary(0),
			rule("{name: web}, {name: web-canary, weight: 0}")},
		{"at rest nothing is touched", rule("{name: web, weight: 7}, {name: other, weight: 3}"), canary(0),
			rule("{name: web, weight: 7}, {name: other, weight: 3}")},
		{"others keep their weights, given or not", rule("{name: other, weight: 40}, {name: web, weight: 60}, {name: more}"), canary(10),
			rule("{name: other, weight: 40}, {name: web, weight: 90}, {name: more}, {name: web-canary, filters: [], weight: 10}")},
		{"weights are out of maxTrafficWeight", rule("{name: web}"), outOf(1000, canary(5)),
			rule("{name: web, weight: 995}, {name: web-canary, filters: [], weight: 5}")},
		{"as much of it as a weight may be", rule("{name: web}"), outOf(4_000_000, canary(1_000_000)),
			rule("{name: web, weight: 750000}, {name: web-canary, filters: [], weight: 250000}")},
		{"the smallest share of a large maxTrafficWeight is some", rule("{name: web}"), outOf(2147483647, canary(1)),
			rule("{name: web, weight: 999999}, {name: web-canary, filters: [], weight: 1}")},
		{"an experiment gets the port that leads where stable's does", rule("{name: web, port: 8080}"), canary(10, experiment("exp-a", 20)),
			rule("{name: web, port: 8080, weight: 70}, {name: web-canary, port: 8080, filters: [], weight: 10}, {name: exp-a, port: 3000, filters: [], weight: 20}")},
		{"every rule", route("{backendRefs: [{name: web}]}, {filters: [{type: RequestRedirect}]}, {backendRefs: [{name: other}]}, {matches: [{path: {value: /a}}], backendRefs: [{name: web}]}"), canary(50),
			route("{backendRefs: [{name: web, weight: 50}, {name: web-canary, filters: [], weight: 50}]}, {filters: [{type: RequestRedirect}]}, {backendRefs: [{name: other}]}, " +
				"{matches: [{path: {value: /a}}], backendRefs: [{name: web, weight: 50}, {name: web-canary, filters: [], weight: 50}]}")},
		{"another kind or namespace of the same name is somebody else's",
			rule("{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web}, {name: web, namespace: shops, weight: 8}, {kind: Hostname, group: networking.istio.io, name: web}, {name: web}, {kind: SERVICE, name: web}"), canary(50),
			rule("{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web}, {name: web, namespace: shops, weight: 8}, {kind: Hostname, group: networking.istio.io, name: web}, {name: web, weight: 50}, {kind: SERVICE, name: web}, {name: web-canary, filters: [], weight: 50}")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			observed := objects.Read(t, tt.observed)
			plan, err := engine.MakePlan(http, observed, engine.Selection{}, tt.in)
			if err != nil {
				t.Fatal(err)
			}
			got, want := objects.Spec(t, objects.Patched(t, observed, plan.Patch)), objects.Spec(t, objects.Read(t, tt.want))
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// A route in another namespace than the Rollout's names it, and so does what is added.
func TestPlanAcrossNamespaces(t *testing.T) {
	in := canary(10)
	in.Stable.Namespace, in.Canary.Namespace = "shops", "shops"
	observed := objects.Read(t, rule("{name: web}, {name: web, namespace: shops}"))
	want := objects.Spec(t, objects.Read(t, rule("{name: web}, {name: web, namespace: shops, weight: 90}, {name: web-canary, namespace: shops, filters: [], weight: 10}")))
	if got := objects.Spec(t, after(t, http, observed, in)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Routes that know no filters have no room for a mark.
func TestPlanOfEachKind(t *testing.T) {
	for _, tt := range []struct {
		api  gatewayapi.Routes
		mark string
	}{
		{gatewayapi.HTTPRoutes("v1beta1"), ", filters: []"},
		{gatewayapi.GRPCRoutes("v1"), ", filters: []"},
		{gatewayapi.TCPRoutes("v1alpha2"), ""},
		{gatewayapi.TLSRoutes("v1alpha3"), ""},
	} {
		t.Run(tt.api.Kind(), func(t *testing.T) {
			applied := objects.Read(t, rule("{name: web, port: 80, weight: 1}"))
			want := objects.Spec(t, objects.Read(t, rule("{name: web, port: 80, weight: 90}, {name: web-canary, port: 80"+tt.mark+", weight: 10}")))
			moved := after(t, tt.api, applied, canary(10))
			if got := objects.Spec(t, moved); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if rested := after(t, tt.api, moved, canary(0)); !objects.Same(rested.JSON, applied.JSON) {
				t.Errorf("at rest it is\n%s\nwhere it was\n%s", objects.YAML(rested.JSON), objects.YAML(applied.JSON))
			}
		})
	}
}

func TestPlanTellsPercent(t *testing.T) {
	observed := objects.Read(t, rule("{name: web, weight: 1}, {name: other, weight: 100}"))
	plan, err := engine.MakePlan(http, observed, engine.Selection{}, canary(50))
	if err != nil {
		t.Fatal(err)
	}
	want := []engine.Change{{Place: `rules[0] "all"`, Destination: service("web"), From: 1, To: 25}, {Place: `rules[0] "all"`, Destination: service("web-canary"), From: 0, To: 25}}
	if len(plan.Changes) != 2 || plan.Changes[0].From != 1 || plan.Changes[0].To != 25 || plan.Changes[1].From != 0 || plan.Changes[1].To != 25 {
		t.Errorf("got %v\nwant %v", plan.Changes, want)
	}
}

func TestPlanRefuses(t *testing.T) {
	named, clustered, other := canary(10), canary(10), canary(10)
	named.Canary.Port = &config.Port{Name: "http"}
	clustered.Canary.Cluster = "east"
	other.Canary.Kind = config.KindVirtualDestination
	for _, tt := range []struct {
		name, observed string
		in             intent.Intent
		want           string
	}{
		{"nothing forwards to stable", route("{backendRefs: [{name: other}]}, {filters: [{type: RequestRedirect}]}, {}"), canary(10),
			"HTTPRoute apps/demo: none of its 3 rules forwards to stable Service apps/web (rules[0] forwards to Service apps/other, rules[1] redirects, rules[2] forwards to nothing); add it to a rule or select its route"},
		{"no rules", route(""), canary(10),
			"HTTPRoute apps/demo: it has no rules, so none forwards to stable Service apps/web"},
		{"a route of stable's name", rule("{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web}"), canary(10),
			`HTTPRoute apps/demo: none of its 1 rules forwards to stable Service apps/web (rules[0] "all" forwards to HTTPRoute.gateway.networking.k8s.io apps/web); rules[0] "all" lists HTTPRoute.gateway.networking.k8s.io apps/web: only a Service can be stable`},
		{"another namespace", rule("{name: web, namespace: shops}"), canary(10),
			`HTTPRoute apps/demo: none of its 1 rules forwards to stable Service apps/web (rules[0] "all" forwards to Service shops/web); rules[0] "all" lists Service shops/web: if that is meant, give it namespace apps there (without one, the object's own is meant)`},
		{"listed twice", rule("{name: web, port: 80}, {name: web, port: 81}"), canary(10),
			`HTTPRoute apps/demo: rules[0] "all": lists Service apps/web:80 and Service apps/web:81, and either could be stable; set its port, subset or cluster in the config block`},
		{"a weight that is none", rule("{name: web, weight: 1000001}"), canary(10),
			`HTTPRoute apps/demo: rules[0] "all": backendRefs[0]: weight is 1000001, want 0 to 1000000`},
		{"a weight that is text", rule("{name: web, weight: '1'}"), canary(10),
			`HTTPRoute apps/demo: rules[0] "all": backendRefs[0]: weight: found a string, want a whole number`},
		{"a null", rule("null"), canary(10), `HTTPRoute apps/demo: rules[0] "all": backendRefs[0]: is null`},
		{"a null for a rule", route("null"), canary(10), "HTTPRoute apps/demo: rules[0]: is null"},
		{"a port by name", rule("{name: web}"), named, `HTTPRoute apps/demo: rules[0] "all": Service apps/web-canary:http: a backendRef cannot name a port but by its number; give that`},
		{"a cluster", rule("{name: web}"), clustered, `HTTPRoute apps/demo: rules[0] "all": Service apps/web-canary in cluster east: a backendRef cannot name a cluster; leave cluster out`},
		{"two kinds", rule("{name: web}"), other, `HTTPRoute apps/demo: rules[0] "all": VirtualDestination apps/web-canary and Service apps/web are of two kinds; a backend is added in the manner of one of its own kind only`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := engine.MakePlan(http, objects.Read(t, tt.observed), engine.Selection{}, tt.in)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}
