package gloo_test

import (
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/steps"
)

// withHeaders returns the intent of Rollout apps/web at weight 0 with these managed routes.
func withHeaders(managed ...intent.ManagedRoute) intent.Intent {
	in := canary(0)
	in.Managed = managed
	return in
}

const (
	mine        = "labels: {rollouts.argoproj.io/managed-by: web-3b4e3efd}"
	theirs      = "labels: {rollouts.argoproj.io/managed-by: other-00000000}"
	theirMirror = "labels: {rollouts.argoproj.io/managed-by: other-00000000, rollouts.argoproj.io/mirrored-by: x}"
	toAll       = "forwardTo: {destinations: [{ref: {name: web}}]}"
	toNew       = "forwardTo: {destinations: [{ref: {name: web-canary}, subset: {}}]}"
)

func TestPlanHeaderRoutes(t *testing.T) {
	beta := steps.Header("beta", steps.Exact("x-beta", "yes"))
	for _, tt := range []struct {
		name           string
		observed, want string
		in             intent.Intent
	}{
		{"a route without matchers",
			"[{name: all, " + toAll + "}]",
			"[{name: beta, " + mine + ", matchers: [{headers: [{name: x-beta, value: 'yes'}]}], " + toNew + "}, {name: all, " + toAll + "}]", withHeaders(beta)},
		{"directly before its source, with every matcher narrowed",
			"[{name: first, redirect: {}}, {name: shop, matchers: [{uri: {prefix: /a}, method: GET}, {uri: {exact: /b}, headers: [{name: z}]}], " + toAll + "}]",
			"[{name: first, redirect: {}}, {name: beta, " + mine + ", matchers: [{uri: {prefix: /a}, method: GET, headers: [{name: x-beta, value: 'yes'}]}, " +
				"{uri: {exact: /b}, headers: [{name: z}, {name: x-beta, value: 'yes'}]}], " + toNew + "}, {name: shop, matchers: [{uri: {prefix: /a}, method: GET}, {uri: {exact: /b}, headers: [{name: z}]}], " + toAll + "}]",
			withHeaders(beta)},
		{"alternatives, prefix and expression",
			"[{name: all, " + toAll + "}]",
			"[{name: beta, " + mine + ", matchers: [{headers: [{name: a, value: 'v1\\.2.*', regex: true}]}, {headers: [{name: b, value: 'c|d', regex: true}]}], " + toNew + "}, {name: all, " + toAll + "}]",
			withHeaders(steps.Header("beta", steps.HeaderIs("a", intent.Prefix, "v1.2"), steps.HeaderIs("b", intent.Regex, "c|d")))},
		{"rewrites, labels, unknown fields and a listed canary are kept",
			"[{name: all, labels: {a/b: c}, future: 9007199254740993, forwardTo: {pathRewrite: /, destinations: [{ref: {name: web}, weight: 100}, {ref: {name: web-canary}, port: {number: 9}, weight: 0}]}}]",
			"[{name: beta, labels: {a/b: c, rollouts.argoproj.io/managed-by: web-3b4e3efd}, future: 9007199254740993, matchers: [{headers: [{name: x-beta, value: 'yes'}]}], forwardTo: {pathRewrite: /, destinations: [{ref: {name: web-canary}, port: {number: 9}}]}}, " +
				"{name: all, labels: {a/b: c}, future: 9007199254740993, forwardTo: {pathRewrite: /, destinations: [{ref: {name: web}, weight: 100}, {ref: {name: web-canary}, port: {number: 9}, weight: 0}]}}]", withHeaders(beta)},
		{"one name for each source",
			"[{name: a, " + toAll + "}, {" + toAll + "}]",
			"[{name: beta, " + mine + ", matchers: [{headers: [{name: x-beta, value: 'yes'}]}], " + toNew + "}, {name: a, " + toAll + "}, " +
				"{name: beta-1, " + mine + ", matchers: [{headers: [{name: x-beta, value: 'yes'}]}], " + toNew + "}, {" + toAll + "}]", withHeaders(beta)},
		{"two, in the order of managedRoutes",
			"[{name: all, " + toAll + "}]",
			"[{name: beta, " + mine + ", matchers: [{headers: [{name: x-beta, value: 'yes'}]}], " + toNew + "}, {name: gamma, " + mine + ", matchers: [{headers: [{name: x-beta, value: 'no'}]}], " + toNew + "}, {name: all, " + toAll + "}]",
			withHeaders(beta, steps.Header("gamma", steps.Exact("x-beta", "no")))},
		{"a source that asks for the header already",
			"[{name: all, matchers: [{headers: [{name: X-Beta, value: 'yes'}]}, {headers: [{name: x-beta, value: 'no'}]}, {headers: [{name: x-beta, value: 'yes', invertMatch: true}]}], " + toAll + "}]",
			"[{name: beta, " + mine + ", matchers: [{headers: [{name: X-Beta, value: 'yes'}]}], " + toNew + "}, " +
				"{name: all, matchers: [{headers: [{name: X-Beta, value: 'yes'}]}, {headers: [{name: x-beta, value: 'no'}]}, {headers: [{name: x-beta, value: 'yes', invertMatch: true}]}], " + toAll + "}]", withHeaders(beta)},
		{"a source that no such request reaches",
			"[{name: all, matchers: [{headers: [{name: x-beta, value: 'no'}]}], " + toAll + "}, {" + toAll + "}]",
			"[{name: all, matchers: [{headers: [{name: x-beta, value: 'no'}]}], " + toAll + "}, {name: beta, " + mine + ", matchers: [{headers: [{name: x-beta, value: 'yes'}]}], " + toNew + "}, {" + toAll + "}]", withHeaders(beta)},
		{"an old one, one in a wrong place and another Rollout's",
			"[{name: stray, " + mine + ", " + toNew + "}, {name: first, redirect: {}}, {name: beta, " + mine + ", matchers: [{headers: [{name: old}]}], " + toNew + "}, {name: gamma, " + theirs + ", redirect: {}}, {name: all, " + toAll + "}]",
			"[{name: first, redirect: {}}, {name: beta, " + mine + ", matchers: [{headers: [{name: x-beta, value: 'yes'}]}], " + toNew + "}, {name: gamma, " + theirs + ", redirect: {}}, {name: all, " + toAll + "}]", withHeaders(beta)},
		{"another Rollout's of the same name between it and its source",
			"[{name: beta-1, " + mine + ", matchers: [{headers: [{name: x-beta, value: 'yes'}]}], " + toNew + "}, {name: beta, " + theirs + ", redirect: {}}, {name: all, " + toAll + "}]",
			"[{name: beta-1, " + mine + ", matchers: [{headers: [{name: x-beta, value: 'yes'}]}], " + toNew + "}, {name: beta, " + theirs + ", redirect: {}}, {name: all, " + toAll + "}]", withHeaders(beta)},
		{"before another Rollout's mirror route, which would take its requests",
			"[{name: shadow, " + theirMirror + ", redirect: {}}, {name: all, " + toAll + "}]",
			"[{name: beta, " + mine + ", matchers: [{headers: [{name: x-beta, value: 'yes'}]}], " + toNew + "}, {name: shadow, " + theirMirror + ", redirect: {}}, {name: all, " + toAll + "}]", withHeaders(beta)},
		{"fewer than there are, around another Rollout's",
			"[{name: old, " + mine + ", redirect: {}}, {name: shadow, " + theirMirror + ", redirect: {}}, {name: older, " + mine + ", redirect: {}}, {name: all, " + toAll + "}]",
			"[{name: beta, " + mine + ", matchers: [{headers: [{name: x-beta, value: 'yes'}]}], " + toNew + "}, {name: shadow, " + theirMirror + ", redirect: {}}, {name: all, " + toAll + "}]", withHeaders(beta)},
		{"none is wanted any more",
			"[{name: beta, " + mine + ", " + toNew + "}, {name: all, " + toAll + "}]", "[{name: all, " + toAll + "}]", withHeaders()},
		{"the default destination",
			"[{name: all, forwardTo: {pathRewrite: /}}], defaultDestination: {ref: {name: web}}",
			"[{name: beta, " + mine + ", matchers: [{headers: [{name: x-beta, value: 'yes'}]}], forwardTo: {pathRewrite: /, destinations: [{ref: {name: web-canary}, subset: {}}]}}, {name: all, forwardTo: {pathRewrite: /}}], defaultDestination: {ref: {name: web}}", withHeaders(beta)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			observed := object(t, "metadata: {namespace: apps, name: demo}\nspec: {http: "+tt.observed+"}")
			moved := after(t, observed, tt.in)
			if got, want := spec(t, moved), spec(t, object(t, "spec: {http: "+tt.want+"}")); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			mustBeRouteTable(t, moved)
			again, err := engine.MakePlan(gloo.RouteTables{}, moved, engine.Selection{}, tt.in)
			if err != nil || len(again.Patch) > 0 {
				t.Errorf("second plan %v, %v", again.Patch, err)
			}
		})
	}
}

// A header route has all of its traffic go to the canary at any weight, and goes without a trace.
func TestHeaderRouteBesideWeights(t *testing.T) {
	applied := object(t, route(web))
	in := withHeaders(steps.Header("beta", steps.Exact("x-beta", "yes")))
	in.CanaryShare = 40
	moved := after(t, applied, in)
	want := spec(t, object(t, table("  http: [{name: beta, "+mine+", matchers: [{headers: [{name: x-beta, value: 'yes'}]}], forwardTo: {destinations: [{ref: {name: web-canary}, port: {number: 8080}, subset: {}}]}}, "+
		"{name: all, forwardTo: {destinations: [{ref: {name: web}, port: {number: 8080}, weight: 60}, "+addedHTTP+"40}]}}]\n")))
	if got := spec(t, moved); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if back := after(t, moved, canary(0)); !same(back.JSON, applied.JSON) {
		t.Errorf("at rest\n%s\nwant\n%s", asYAML(back.JSON), asYAML(applied.JSON))
	}
}

func TestPlanHeaderRoutesRefuses(t *testing.T) {
	beta := steps.Header("beta", steps.Exact("x-beta", "yes"))
	for _, tt := range []struct{ name, spec, want string }{
		{"a user's route of that name", "{http: [{name: all, " + toAll + "}, {name: beta, redirect: {}}]}",
			`RouteTable apps/demo: http[0] "all": managed route "beta": the table has a route of that name already; rename either`},
		{"a subset", "{http: [{name: all, forwardTo: {destinations: [{ref: {name: web}, subset: {v: '1'}}]}}]}",
			`RouteTable apps/demo: http[0] "all": stable has a subset and no canary is listed; list it or set canary.subset`},
		{"matchers that cannot be read", "{http: [{name: all, matchers: [{headers: {}}], " + toAll + "}]}",
			`RouteTable apps/demo: http[0] "all": managed route "beta": matchers[0]: headers: found an object, want a list`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := engine.MakePlan(gloo.RouteTables{}, object(t, "metadata: {namespace: apps, name: demo}\nspec: "+tt.spec), engine.Selection{}, withHeaders(beta))
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v, patch %v\nwant %s", err, plan.Patch, tt.want)
			}
		})
	}
}

// The default destination may be the canary, of two that alternate. Whether the route has a list or not, it is spelt alike.
func TestHeaderRouteToADefaultDestination(t *testing.T) {
	in := func(weight int) intent.Intent {
		in := withHeaders(steps.Header("beta", steps.Exact("x-beta", "yes")))
		in.Stable, in.Canary, in.Alternating, in.CanaryShare = service("pong"), service("ping"), true, weight
		return in
	}
	moved := object(t, table("  defaultDestination: {ref: {name: ping}}\n  http: [{name: all, forwardTo: {pathRewrite: /}}]\n"))
	for _, weight := range []int{0, 10, 100, 0} {
		once := after(t, moved, in(weight))
		if moved = after(t, once, in(weight)); !same(moved.JSON, once.JSON) {
			t.Errorf("at %d the first call makes it\n%s\nand the second\n%s", weight, asYAML(once.JSON), asYAML(moved.JSON))
		}
	}
}

// A managed route is never the source of another, though it carries its source's labels.
func TestManagedRoutesAreNotSelected(t *testing.T) {
	in := withHeaders(steps.Header("beta", steps.Exact("x-beta", "yes")))
	in.Alternating, in.CanaryShare = true, 50
	selection := engine.Selection{Routes: &config.RouteSelector{Labels: map[string]string{"route": "demo"}}}
	observed := object(t, table("  http: [{name: all, labels: {route: demo}, "+toAll+"}]\n"))
	plan, err := engine.MakePlan(gloo.RouteTables{}, observed, selection, in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := engine.MakePlan(gloo.RouteTables{}, apply(t, observed, plan.Patch), selection, in)
	if err != nil || len(again.Patch) > 0 {
		t.Errorf("second plan %v, %v", again.Patch, err)
	}
}
