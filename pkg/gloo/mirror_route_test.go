package gloo_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/steps"
)

// withManaged returns the intent of Rollout apps/web at a weight, with these managed routes.
func withManaged(weight int, managed ...intent.ManagedRoute) intent.Intent {
	in := withHeaders(managed...)
	in.CanaryShare = weight
	return in
}

// onlyPolicy plans, and returns the table as it becomes and the only policy that is wanted beside it.
func onlyPolicy(t *testing.T, o engine.Object, in intent.Intent) (engine.Object, engine.Policy) {
	t.Helper()
	plan, err := engine.MakePlan(gloo.RouteTables{}, o, engine.Selection{}, in)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Policies) != 1 {
		t.Fatalf("policies %v, want one", plan.Policies)
	}
	moved := apply(t, o, plan.Patch)
	mustBeRouteTable(t, moved)
	if again, err := engine.MakePlan(gloo.RouteTables{}, moved, engine.Selection{}, in); err != nil || len(again.Patch) > 0 {
		t.Fatalf("second plan %v, %v", again.Patch, err)
	}
	return moved, plan.Policies[0]
}

// A mirror route splits as its source does, at any weight, and its policy names it by a label that it alone has.
func TestMirrorRouteSplitsAsItsSource(t *testing.T) {
	in := func(weight int) intent.Intent { return withManaged(weight, steps.Mirror(35, steps.Gets())) }
	label := func(p engine.Policy) string {
		return "labels: {a/b: c, rollouts.argoproj.io/managed-by: web-3b4e3efd, rollouts.argoproj.io/mirrored-by: " + p.Name + "}"
	}
	const head = "labels: {a/b: c}, future: 1, matchers: [{uri: {prefix: /a}}]"
	applied := object(t, table("  http: [{name: all, "+head+", forwardTo: {pathRewrite: /, destinations: [{ref: {name: web}}]}}]\n"))
	moved := applied
	for _, tt := range []struct {
		weight       int
		destinations string
	}{
		{0, "[{ref: {name: web}}]"},
		{10, "[{ref: {name: web}, weight: 90}, {ref: {name: web-canary}, subset: {}, weight: 10}]"},
		{50, "[{ref: {name: web}, weight: 50}, {ref: {name: web-canary}, subset: {}, weight: 50}]"},
		{0, "[{ref: {name: web}}]"},
	} {
		next, policy := onlyPolicy(t, moved, in(tt.weight))
		moved = next
		forward := "forwardTo: {pathRewrite: /, destinations: " + tt.destinations + "}"
		want := object(t, table("  http: [{name: shadow, "+label(policy)+", future: 1, matchers: [{uri: {prefix: /a}, method: GET}], "+forward+"}, {name: all, "+head+", "+forward+"}]\n"))
		if spec(t, moved) != spec(t, want) {
			t.Errorf("at %d\n%s\nwant\n%s", tt.weight, spec(t, moved), spec(t, want))
		}
		wantPolicy := `{"applyToRoutes":[{"route":{"labels":{"rollouts.argoproj.io/mirrored-by":"` + policy.Name + `"}}}],"config":{"destination":{"ref":{"name":"web-canary"},"subset":{}},"percentage":35}}`
		if string(policy.Spec) != wantPolicy || !strings.HasPrefix(policy.Name, "shadow-") {
			t.Errorf("policy %s %s\nwant %s", policy.Name, policy.Spec, wantPolicy)
		}
		mustBeMirrorPolicy(t, policy.Spec)
	}
	if done := after(t, moved, canary(0)); !same(done.JSON, applied.JSON) {
		t.Errorf("when it is over\n%s\nwant\n%s", asYAML(done.JSON), asYAML(applied.JSON))
	}
}

// A route that forwards to the default destination, or gets its list back, is followed in that as well.
func TestMirrorRouteOfADefaultDestination(t *testing.T) {
	applied := object(t, table("  defaultDestination: {ref: {name: web}}\n  http: [{name: all, forwardTo: {pathRewrite: /}}]\n"))
	moved := applied
	for _, weight := range []int{0, 10, 0} {
		moved, _ = onlyPolicy(t, moved, withManaged(weight, steps.Mirror(100, steps.Gets())))
		routes, err := gloo.RouteTables{}.Routes(moved.JSON)
		if err != nil || len(routes) != 2 {
			t.Fatalf("%v, %v", routes, err)
		}
		if routes[0].Listed != (weight > 0) || len(routes[0].Entries) != len(routes[1].Entries) {
			t.Errorf("at %d\n%s", weight, asYAML(moved.JSON))
		}
	}
	if done := after(t, moved, canary(0)); !same(done.JSON, applied.JSON) {
		t.Errorf("when it is over\n%s\nwant\n%s", asYAML(done.JSON), asYAML(applied.JSON))
	}
}

// Where two Rollouts share a route, the mirror route of one has the weights of the other too.
func TestMirrorRouteFollowsOtherRollouts(t *testing.T) {
	api := canary(50)
	api.Owner, api.Stable, api.Canary = "apps/api", service("api"), service("api-canary")
	applied := object(t, route("{ref: {name: web}, weight: 60}, {ref: {name: api}, weight: 40}"))
	moved := after(t, applied, withManaged(10, steps.Mirror(35, steps.Gets())), api)
	listed := func(o engine.Object, index int) string {
		routes, err := gloo.RouteTables{}.Routes(o.JSON)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, e := range routes[index].Entries {
			texts = append(texts, string(e.JSON))
		}
		return strings.Join(texts, " ")
	}
	if shadow, source := listed(moved, 0), listed(moved, 1); shadow != source || !strings.Contains(source, `"api-canary"},"subset":{},"weight":20`) {
		t.Errorf("the mirror route has\n%s\nits source\n%s", shadow, source)
	}
	api.CanaryShare = 0
	if rested := after(t, moved, api); listed(rested, 0) != listed(rested, 1) || strings.Contains(listed(rested, 0), "api-canary") {
		t.Errorf("at rest the mirror route has\n%s\nits source\n%s", listed(rested, 0), listed(rested, 1))
	}
	// Somebody edits the source, and the other Rollout has a header step before the next weight.
	edited := apply(t, moved, []engine.Operation{{Op: "replace", Path: "/spec/http/1/forwardTo/destinations/0/weight", Value: 53}, {Op: "replace", Path: "/spec/http/1/forwardTo/destinations/1/weight", Value: 21}})
	api.KeepWeights = true
	if headed := after(t, edited, api); listed(headed, 0) != listed(headed, 1) || listed(headed, 1) != listed(edited, 1) {
		t.Errorf("after an edit the mirror route has\n%s\nits source\n%s", listed(headed, 0), listed(headed, 1))
	}
}

// Sources with canaries on different ports need a policy each.
func TestMirrorPoliciesPerDestination(t *testing.T) {
	observed := object(t, table("  http: [{name: a, "+toAll+"}, {name: b, forwardTo: {destinations: [{ref: {name: web}, port: {number: 9}}]}}, {name: c, "+toAll+"}]\n"))
	plan, err := engine.MakePlan(gloo.RouteTables{}, observed, engine.Selection{}, withManaged(0, steps.Mirror(35, steps.Gets())))
	if err != nil || len(plan.Policies) != 2 || plan.Policies[0].Name == plan.Policies[1].Name {
		t.Errorf("policies %v, %v; want two", plan.Policies, err)
	}
}

// What a matcher of the source and a match make together; nothing says that no request can fit both.
func TestNarrowedMatchers(t *testing.T) {
	path := func(kind intent.MatchType, value string) intent.RequestMatch {
		return intent.RequestMatch{Path: steps.Is(kind, value)}
	}
	for _, tt := range []struct {
		name, matcher string
		match         intent.RequestMatch
		want          string
	}{
		{"any request", "{method: PUT}", intent.RequestMatch{}, "{method: PUT}"},
		{"a method", "{port: 80}", steps.Gets(), "{port: 80, method: GET}"},
		{"the same method", "{method: GET}", steps.Gets(), "{method: GET}"},
		{"another method", "{method: PUT}", steps.Gets(), ""},
		{"a path", "{}", path(intent.Prefix, "/x"), "{uri: {prefix: /x}}"},
		{"a path within any", "{uri: {prefix: /}}", path(intent.Regex, "/x.*"), "{uri: {regex: /x.*}}"},
		{"every path", "{uri: {suffix: x}}", path(intent.Prefix, "/"), "{uri: {suffix: x}}"},
		{"a longer prefix", "{uri: {prefix: /x}}", path(intent.Prefix, "/x/y"), "{uri: {prefix: /x/y}}"},
		{"a shorter prefix", "{uri: {prefix: /x/y}}", path(intent.Prefix, "/x"), "{uri: {prefix: /x/y}}"},
		{"another prefix", "{uri: {prefix: /x}}", path(intent.Prefix, "/y"), ""},
		{"a longer prefix of any case", "{uri: {prefix: /x, ignoreCase: true}}", path(intent.Prefix, "/X/y"), "{uri: {prefix: /X/y}}"},
		{"one path", "{uri: {prefix: /x}}", path(intent.Exact, "/x/y"), "{uri: {exact: /x/y}}"},
		{"one path elsewhere", "{uri: {prefix: /x}}", path(intent.Exact, "/y"), ""},
		{"one path within an expression", "{uri: {regex: '/x/[a-z]'}}", path(intent.Exact, "/x/y"), "{uri: {exact: /x/y}}"},
		{"one path outside", "{uri: {regex: '/x/[a-z]'}}", path(intent.Exact, "/x/yz"), ""},
		{"one path by its end", "{uri: {suffix: .css, ignoreCase: true}}", path(intent.Exact, "/x.CSS"), "{uri: {exact: /x.CSS}}"},
		{"a prefix of one path", "{uri: {exact: /x/y}}", path(intent.Prefix, "/x"), "{uri: {exact: /x/y}}"},
		{"an expression for one path", "{uri: {exact: /x/y}}", path(intent.Regex, "/x/."), "{uri: {exact: /x/y}}"},
		{"an expression for another path", "{uri: {exact: /x/yz}}", path(intent.Regex, "/x/."), ""},
		{"the same expression", "{uri: {regex: /x/.}}", path(intent.Regex, "/x/."), "{uri: {regex: /x/.}}"},
		{"everything", "{method: GET, headers: [{name: a, value: b}]}",
			intent.RequestMatch{Method: steps.Is(intent.Exact, "GET"), Path: steps.Is(intent.Exact, "/x"), Headers: []intent.HeaderMatch{steps.Exact("A", "b"), steps.HeaderIs("c", intent.Prefix, "d.")}},
			"{method: GET, headers: [{name: a, value: b}, {name: c, value: 'd\\..*', regex: true}], uri: {exact: /x}}"},
		{"one of two headers that cannot be", "{headers: [{name: a, value: b}]}", intent.RequestMatch{Headers: []intent.HeaderMatch{steps.Exact("c", "d"), steps.Exact("a", "e")}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			observed := object(t, table("  http: [{name: all, matchers: ["+tt.matcher+"], "+toAll+"}]\n"))
			moved := after(t, observed, withManaged(0, steps.Mirror(35, tt.match)))
			got := struct {
				Spec struct {
					HTTP []struct{ Matchers []json.RawMessage }
				}
			}{}
			if err := json.Unmarshal(moved.JSON, &got); err != nil {
				t.Fatal(err)
			}
			if tt.want == "" {
				if len(got.Spec.HTTP) != 1 {
					t.Errorf("there is a route with %s", got.Spec.HTTP[0].Matchers)
				}
				return
			}
			if len(got.Spec.HTTP) != 2 || !same(got.Spec.HTTP[0].Matchers[0], object(t, tt.want).JSON) {
				t.Errorf("got %s, want %s", got.Spec.HTTP[0].Matchers[0], tt.want)
			}
		})
	}
}

func TestMatchesThatGlooCannotState(t *testing.T) {
	for _, tt := range []struct {
		name, route string
		match       intent.RequestMatch
		want        string
	}{
		{"a method by prefix", "matchers: [{}], " + toAll, intent.RequestMatch{Method: steps.Is(intent.Prefix, "P")},
			`a method by prefix "P" cannot be asked for: Gloo compares methods as a whole; use exact`},
		{"two expressions", "matchers: [{uri: {regex: /a.*}}], " + toAll, intent.RequestMatch{Path: steps.Is(intent.Regex, ".*b")},
			`path regex ".*b" cannot be asked for beside uri regex "/a.*": Gloo takes one condition on the path; leave path out, or give the route a matcher without a uri, or with a prefix`},
		{"a prefix and an end", "matchers: [{uri: {suffix: .css}}], " + toAll, intent.RequestMatch{Path: steps.Is(intent.Prefix, "/a")},
			`path prefix "/a" cannot be asked for beside uri suffix ".css": Gloo takes one condition on the path; leave path out, or give the route a matcher without a uri, or with a prefix`},
		{"a shorter prefix, of one case alone", "matchers: [{uri: {prefix: /a/b, ignoreCase: true}}], " + toAll, intent.RequestMatch{Path: steps.Is(intent.Prefix, "/a")},
			`path prefix "/a" cannot be asked for beside uri prefix "/a/b" (ignoreCase): Gloo takes one condition on the path; leave path out, or give the route a matcher without a uri, or with a prefix`},
		{"a path that is rewritten by what was matched", "matchers: [{uri: {prefix: /a}}], forwardTo: {pathRewrite: /, destinations: [{ref: {name: web}}]}", intent.RequestMatch{Path: steps.Is(intent.Exact, "/a/b")},
			`path exact "/a/b": the route's pathRewrite replaces what its matcher matched, and would replace another part of the path here; leave path out`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			observed := object(t, table("  http: [{name: all, "+tt.route+"}]\n"))
			plan, err := engine.MakePlan(gloo.RouteTables{}, observed, engine.Selection{}, withManaged(0, steps.Mirror(35, tt.match)))
			want := `RouteTable apps/demo: http[0] "all": managed route "shadow": matchers[0]: ` + tt.want
			if err == nil || err.Error() != want {
				t.Errorf("got  %v, patch %v\nwant %s", err, plan.Patch, want)
			}
		})
	}
}
