package gloo_test

import (
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// route returns a table with one http route that has these destinations, in YAML's flow style.
func route(destinations string) string {
	return table("  http: [{name: all, forwardTo: {destinations: [" + destinations + "]}}]\n")
}

const (
	web       = "{ref: {name: web}, port: {number: 8080}}"
	addedHTTP = "{ref: {name: web-canary}, port: {number: 8080}, subset: {}, weight: "
)

func TestPlanWeights(t *testing.T) {
	for _, tt := range []struct {
		name     string
		observed string
		in       intent.Intent
		want     string
	}{
		{"a canary is added in the manner of stable", route(web), canary(10),
			route("{ref: {name: web}, port: {number: 8080}, weight: 90}, " + addedHTTP + "10}")},
		{"stable keeps a place at full weight", route(web), canary(100),
			route("{ref: {name: web}, port: {number: 8080}, weight: 0}, " + addedHTTP + "100}")},
		{"a listed canary is used as it stands",
			route("{ref: {name: web}}, {ref: {name: web-canary}, port: {name: grpc}}"), canary(25),
			route("{ref: {name: web}, weight: 75}, {ref: {name: web-canary}, port: {name: grpc}, weight: 25}")},
		{"others keep their share",
			route("{ref: {name: web}, weight: 60}, {ref: {name: other}, weight: 40}"), canary(10),
			route("{ref: {name: web}, weight: 54}, {ref: {name: other}, weight: 40}, {ref: {name: web-canary}, subset: {}, weight: 6}")},
		{"one that gives no weight takes the rest",
			route("{ref: {name: web}}, {ref: {name: other}}"), canary(50),
			route("{ref: {name: web}, weight: 25}, {ref: {name: other}}, {ref: {name: web-canary}, subset: {}, weight: 25}")},
		{"an even split of listed ones ends at rest",
			route("{ref: {name: web}}, {ref: {name: web-canary}}"), canary(0),
			route("{ref: {name: web}, weight: 100}, {ref: {name: web-canary}, weight: 0}")},
		{"at rest nothing is touched", route(web), canary(0), route(web)},
		{"a lone weight does not matter", route("{ref: {name: web}, weight: 30}"), canary(0), route("{ref: {name: web}, weight: 30}")},
		{"listed at 0 is at rest",
			route("{ref: {name: web}, weight: 100}, {ref: {name: web-canary}, weight: 0}"), canary(0),
			route("{ref: {name: web}, weight: 100}, {ref: {name: web-canary}, weight: 0}")},
		{"the namespace is spelt where stable spells it",
			route("{ref: {name: web, namespace: apps, cluster: east}, kind: SERVICE}"), canary(1),
			route("{ref: {name: web, namespace: apps, cluster: east}, kind: SERVICE, weight: 99}, {ref: {name: web-canary, namespace: apps, cluster: east}, kind: SERVICE, subset: {}, weight: 1}")},
		{"fields that are not known here are copied",
			route("{ref: {name: web}, future: {id: 9007199254740993}}"), canary(1),
			route("{ref: {name: web}, future: {id: 9007199254740993}, weight: 99}, {ref: {name: web-canary}, future: {id: 9007199254740993}, subset: {}, weight: 1}")},
		{"an experiment gets the port that leads where stable's does", route(web), canary(10, experiment("exp-a", 20)),
			route("{ref: {name: web}, port: {number: 8080}, weight: 70}, " + addedHTTP + "10}, {ref: {name: exp-a}, port: {number: 3000}, subset: {}, weight: 20}")},
		{"an experiment beside a canary at 0", route(web), canary(0, experiment("exp-a", 20)),
			route("{ref: {name: web}, port: {number: 8080}, weight: 80}, {ref: {name: exp-a}, port: {number: 3000}, subset: {}, weight: 20}")},
		{"the default destination is written into a route without any",
			table("  defaultDestination: {ref: {name: web}, weight: 5}\n  http: [{name: all, forwardTo: {pathRewrite: /}}, {name: empty, forwardTo: {destinations: []}}]\n"), canary(10),
			table("  defaultDestination: {ref: {name: web}, weight: 5}\n  http:\n" +
				"  - {name: all, forwardTo: {pathRewrite: /, destinations: [{ref: {name: web}, subset: {}, weight: 90}, {ref: {name: web-canary}, subset: {}, weight: 10}]}}\n" +
				"  - {name: empty, forwardTo: {destinations: [{ref: {name: web}, subset: {}, weight: 90}, {ref: {name: web-canary}, subset: {}, weight: 10}]}}\n")},
		{"every route of every section",
			table("  http: [{forwardTo: {destinations: [{ref: {name: web}}]}}, {redirect: {}}, {forwardTo: {destinations: [{ref: {name: other}}]}}]\n  tcp: [{forwardTo: {destinations: [{ref: {name: web}}]}}]\n  tls: [{forwardTo: {destinations: [{ref: {name: web}}]}}]\n"), canary(100),
			table("  http: [{forwardTo: {destinations: [{ref: {name: web}, weight: 0}, {ref: {name: web-canary}, subset: {}, weight: 100}]}}, {redirect: {}}, {forwardTo: {destinations: [{ref: {name: other}}]}}]\n" +
				"  tcp: [{forwardTo: {destinations: [{ref: {name: web}, weight: 0}, {ref: {name: web-canary}, subset: {}, weight: 100}]}}]\n" +
				"  tls: [{forwardTo: {destinations: [{ref: {name: web}, weight: 0}, {ref: {name: web-canary}, subset: {}, weight: 100}]}}]\n")},
		{"another kind of the same name is somebody else's",
			route("{ref: {name: web}, weight: 80}, {ref: {name: web}, kind: VIRTUAL_DESTINATION, weight: 20}"), canary(50),
			route("{ref: {name: web}, weight: 40}, {ref: {name: web}, kind: VIRTUAL_DESTINATION, weight: 20}, {ref: {name: web-canary}, subset: {}, weight: 40}")},
		{"a Lambda beside it",
			route("{ref: {name: web}, weight: 80}, {awsLambda: {function: f}, weight: 20}"), canary(50),
			route("{ref: {name: web}, weight: 40}, {awsLambda: {function: f}, weight: 20}, {ref: {name: web-canary}, subset: {}, weight: 40}")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			observed := object(t, tt.observed)
			plan, err := engine.MakePlan(gloo.RouteTables{}, observed, engine.Selection{}, tt.in)
			if err != nil {
				t.Fatal(err)
			}
			after := apply(t, observed, plan.Patch)
			if got, want := spec(t, after), spec(t, object(t, tt.want)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			mustBeRouteTable(t, observed)
			mustBeRouteTable(t, after)
		})
	}
}

func TestPlanSubsets(t *testing.T) {
	in := canary(30)
	in.Stable.Subset, in.Canary = map[string]string{"v": "1"}, service("web")
	in.Canary.Subset = map[string]string{"v": "2"}
	observed := object(t, route("{ref: {name: web}, subset: {v: '1'}}"))
	plan, err := engine.MakePlan(gloo.RouteTables{}, observed, engine.Selection{}, in)
	if err != nil {
		t.Fatal(err)
	}
	moved := apply(t, observed, plan.Patch)
	want := spec(t, object(t, route("{ref: {name: web}, subset: {v: '1'}, weight: 70}, {ref: {name: web}, subset: {v: '2'}, weight: 30}")))
	if got := spec(t, moved); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	in.CanaryShare = 0
	plan, err = engine.MakePlan(gloo.RouteTables{}, moved, engine.Selection{}, in)
	if err != nil {
		t.Fatal(err)
	}
	if back := apply(t, moved, plan.Patch); !same(back.JSON, observed.JSON) {
		t.Errorf("at rest\n%s\nwant\n%s", asYAML(back.JSON), asYAML(observed.JSON))
	}
}

func TestPlanSelectsRoutes(t *testing.T) {
	const observed = `
  http:
  - {name: one, labels: {route: demo}, forwardTo: {destinations: [{ref: {name: web}}]}}
  - {name: two, labels: {route: demo, tier: gold}, forwardTo: {destinations: [{ref: {name: web}}]}}
  - {name: three, forwardTo: {destinations: [{ref: {name: web}}]}}
  tcp:
  - {forwardTo: {destinations: [{ref: {name: web}}]}}
`
	for _, tt := range []struct {
		name     string
		selector *config.RouteSelector
		want     []string
	}{
		{"all", nil, []string{`http[0] "one"`, `http[1] "two"`, `http[2] "three"`, `tcp[0]`}},
		{"by name", &config.RouteSelector{Name: "three"}, []string{`http[2] "three"`}},
		{"by label", &config.RouteSelector{Labels: map[string]string{"route": "demo"}}, []string{`http[0] "one"`, `http[1] "two"`}},
		{"by labels", &config.RouteSelector{Labels: map[string]string{"route": "demo", "tier": "gold"}}, []string{`http[1] "two"`}},
		{"by both", &config.RouteSelector{Name: "one", Labels: map[string]string{"route": "demo"}}, []string{`http[0] "one"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := engine.MakePlan(gloo.RouteTables{}, object(t, table(observed)), engine.Selection{Routes: tt.selector}, canary(10))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, change := range plan.Changes {
				if change.Destination.Name == "web" {
					continue
				}
				got = append(got, change.Place)
			}
			if len(got) != len(tt.want) {
				t.Fatalf("changes %v, want %v", got, tt.want)
			}
			for i := range got {
				if got[i] != tt.want[i] {
					t.Errorf("changes %v, want %v", got, tt.want)
				}
			}
		})
	}
}

func TestPlanRefuses(t *testing.T) {
	inNamespace := func(ns string) intent.Intent {
		in := canary(10)
		in.Stable.Namespace = ns
		return in
	}
	withPort := func(port int) intent.Intent {
		in := canary(10)
		in.Stable.Port = &config.Port{Number: port}
		return in
	}
	for _, tt := range []struct {
		name      string
		observed  string
		selection engine.Selection
		in        intent.Intent
		want      string
	}{
		{name: "no routes", observed: table("  hosts: [a]\n"), in: canary(10),
			want: "RouteTable apps/demo: it has no routes, so none forwards to stable Service apps/web"},
		{name: "other things", in: canary(10),
			observed: table("  http: [{name: a, forwardTo: {destinations: [{ref: {name: x}}, {ref: {name: z}, kind: EXTERNAL_SERVICE}]}}, {name: b, redirect: {}}, {name: c, delegate: {}}, {directResponse: {status: 200}}, {graphql: {}}, null]\n  tcp: [{forwardTo: {}}]\n"),
			want:     `RouteTable apps/demo: none of its 7 routes forwards to stable Service apps/web (http[0] "a" forwards to Service apps/x and ExternalService apps/z, http[1] "b" redirects, http[2] "c" delegates to other tables; select those, http[3] answers by itself, http[4] serves GraphQL, http[5] is null, tcp[0] forwards to nothing); add it to a route or select its table`},
		{name: "another kind", observed: route("{ref: {name: web}, kind: VIRTUAL_DESTINATION}"), in: canary(10),
			want: `RouteTable apps/demo: none of its 1 routes forwards to stable Service apps/web (http[0] "all" forwards to VirtualDestination apps/web); http[0] "all" lists VirtualDestination apps/web: if that is meant, set destinationKind or stable.kind to VIRTUAL_DESTINATION`},
		{name: "another namespace", observed: route(web), in: inNamespace("elsewhere"),
			want: `RouteTable apps/demo: none of its 1 routes forwards to stable Service elsewhere/web (http[0] "all" forwards to Service apps/web:8080); http[0] "all" lists Service apps/web:8080: if that is meant, give it ref.namespace elsewhere there (without one, the object's own is meant)`},
		{name: "another port", observed: route(web), in: withPort(80),
			want: `RouteTable apps/demo: none of its 1 routes forwards to stable Service apps/web:80 (http[0] "all" forwards to Service apps/web:8080); http[0] "all" lists Service apps/web:8080: if that is meant, change stable.port, now 80`},
		{name: "no route selected", observed: table("  http: [{name: a, labels: {x: 'y'}, forwardTo: {destinations: [{ref: {name: web}}]}}]\n"), in: canary(10),
			selection: engine.Selection{Routes: &config.RouteSelector{Name: "b"}},
			want:      `RouteTable apps/demo: none of its 1 routes matches routeSelector (http[0] "a" [x:y])`},
		{name: "the selected route does something else", observed: table("  http: [{name: a, forwardTo: {destinations: [{ref: {name: web}}]}}, {name: b, redirect: {}}]\n"), in: canary(10),
			selection: engine.Selection{Routes: &config.RouteSelector{Name: "b"}},
			want:      `RouteTable apps/demo: none of the 1 routes that match routeSelector forwards to stable Service apps/web (http[1] "b" redirects); add it to a route or select its table`},
		{name: "two could be stable", observed: route("{ref: {name: web}, port: {number: 1}}, {ref: {name: web}, port: {number: 2}}"), in: canary(10),
			want: `RouteTable apps/demo: http[0] "all": lists Service apps/web:1 and Service apps/web:2, and either could be stable; set its port, subset or cluster in the config block`},
		{name: "stable has a subset", observed: route("{ref: {name: web}, subset: {v: '1'}}"), in: canary(10),
			want: `RouteTable apps/demo: http[0] "all": stable has a subset and no canary is listed; list it or set canary.subset`},
		{name: "weights that sum to 30", observed: route("{ref: {name: web}, weight: 20}, {ref: {name: other}, weight: 10}"), in: canary(10),
			want: `RouteTable apps/demo: http[0] "all": the weights of its 2 destinations sum to 30; they must sum to 100`},
		{name: "nothing to divide", observed: route("{ref: {name: web}, weight: 1}, {ref: {name: other}, weight: 99}"), in: canary(10),
			want: `RouteTable apps/demo: http[0] "all": the Rollout's destinations hold 1 percent of the route, too little to divide; give them more`},
		{name: "0 beside one that gives none", observed: route("{ref: {name: web}}, {ref: {name: web-canary}}, {ref: {name: other}}"), in: canary(0),
			want: `RouteTable apps/demo: http[0] "all": Service apps/web-canary cannot be brought to 0 percent beside destinations that give no weight; give those a weight`},
		{name: "full weight beside one that gives none", observed: route("{ref: {name: web}}, {ref: {name: other}}"), in: canary(100),
			want: `RouteTable apps/demo: http[0] "all": Service apps/web cannot be brought to 0 percent beside destinations that give no weight; give those a weight`},
		{name: "a weight that is text", observed: route("{ref: {name: web}, weight: '100'}"), in: canary(10),
			want: `RouteTable apps/demo: http[0] "all": destinations[0]: weight: found a string, want a whole number`},
		{name: "a null destination", observed: route("null, {ref: {name: web}}"), in: canary(10),
			want: `RouteTable apps/demo: http[0] "all": destinations[0]: is null`},
		{name: "an experiment whose Service is missing", observed: route(web), in: canary(10, experiment("gone", 10)),
			want: `RouteTable apps/demo: http[0] "all": experiment Service apps/gone does not exist`},
		{name: "several faults at once", in: canary(10),
			observed: table("  http: [{name: a, forwardTo: {destinations: [{ref: {name: web}, subset: {v: '1'}}]}}, {name: b, forwardTo: {destinations: [{ref: {name: web}, weight: -1}]}}]\n"),
			want:     `RouteTable apps/demo: http[0] "a": stable has a subset and no canary is listed; list it or set canary.subset; RouteTable apps/demo: http[1] "b": destinations[0]: weight -1 is no percentage`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := engine.MakePlan(gloo.RouteTables{}, object(t, tt.observed), tt.selection, tt.in)
			if err == nil {
				t.Fatalf("accepted, with patch %v", plan.Patch)
			}
			if err.Error() != tt.want {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
		})
	}
}
