package gatewayapi_test

import (
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gatewayapi"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/steps"
)

// A managed rule that the API prefers to a rule which is not its source is refused, and only such a one.
func TestManagedRulesTakeFromTheirSourcesAlone(t *testing.T) {
	two := steps.Header("beta", steps.Exact("x", "1"), steps.Exact("z", "1"))
	page := steps.Mirror(100, intent.RequestMatch{Path: steps.Is(intent.Exact, "/a/page")})
	const source, other = "{name: all, " + toAll + "}", "backendRefs: [{name: other}]"
	for _, tt := range []struct {
		name, rules string
		managed     []intent.ManagedRoute
		takes       bool
	}{
		{"a longer path", source + ", {name: o, matches: [{path: {value: /a}}], " + other + "}", []intent.ManagedRoute{two}, false},
		{"an exact path", source + ", {name: o, matches: [{path: {type: Exact, value: /a}}], " + other + "}", []intent.ManagedRoute{two}, false},
		{"an expression for the path, which nobody ranks", source + ", {name: o, matches: [{path: {type: RegularExpression, value: /.*}}], " + other + "}", []intent.ManagedRoute{two}, false},
		{"a method", source + ", {name: o, matches: [{method: GET}], " + other + "}", []intent.ManagedRoute{two}, false},
		{"as many headers", source + ", {name: o, matches: [{headers: [{name: v, value: '1'}]}], " + other + "}", []intent.ManagedRoute{beta}, false},
		{"fewer headers", source + ", {name: o, matches: [{headers: [{name: v, value: '1'}]}], " + other + "}", []intent.ManagedRoute{two}, true},
		{"fewer headers, one with another value", source + ", {name: o, matches: [{headers: [{name: X, value: '2'}]}], " + other + "}", []intent.ManagedRoute{two}, false},
		{"a query parameter", source + ", {name: o, matches: [{queryParams: [{name: q, value: '1'}]}], " + other + "}", []intent.ManagedRoute{beta}, true},
		{"a query parameter of a source", source + ", {name: o, matches: [{queryParams: [{name: q, value: '1'}]}], " + toAll + "}", []intent.ManagedRoute{beta}, false},
		{"fewer headers for another method", "{name: all, matches: [{method: GET}], " + toAll + "}, {name: o, matches: [{method: PUT, headers: [{name: v, value: '1'}]}], " + other + "}", []intent.ManagedRoute{two}, false},
		{"a longer path, where a mirror asks for one within", source + ", {name: o, matches: [{path: {value: /a}}], " + other + "}", []intent.ManagedRoute{page}, true},
		{"a longer path, where a mirror asks for one elsewhere", source + ", {name: o, matches: [{path: {value: /b}}], " + other + "}", []intent.ManagedRoute{page}, false},
		{"an expression, where a mirror asks for a path", source + ", {name: o, matches: [{path: {type: RegularExpression, value: /.*}}], " + other + "}", []intent.ManagedRoute{page}, true},
		{"a longer path of a source", source + ", {name: o, matches: [{path: {value: /a}}], " + toAll + "}", []intent.ManagedRoute{page}, true},
		{"a longer path of a source that stands before", "{name: o, matches: [{path: {value: /a}}], " + toAll + "}, " + source, []intent.ManagedRoute{page}, false},
		{"less than the source asks for", "{name: all, matches: [{path: {value: /a}}], " + toAll + "}, {name: o, " + other + "}", []intent.ManagedRoute{two, steps.Mirror(100, steps.Gets())}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := engine.MakePlan(http, objects.Read(t, route(tt.rules)), engine.Selection{}, withManaged(0, tt.managed...))
			const want = `would take requests that reach rules[1] "o", since it asks for more; ask for less, or give that rule a condition that they do not meet, or one more of the kind`
			if tt.takes && (err == nil || !strings.HasSuffix(err.Error(), want)) || !tt.takes && err != nil {
				t.Errorf("got %v, want an error: %v", err, tt.takes)
			}
		})
	}
}

// Of gRPC two rules for two services, or for two methods of one, take nothing from each other, in whatever order they stand.
func TestManagedRulesOfCalls(t *testing.T) {
	for _, tt := range []struct {
		name, other, source string
		takes               bool
	}{
		{"another service", "{service: cart}", "{service: shop}", false},
		{"another method", "{service: shop, method: Get}", "{service: shop, method: Buy}", false},
		{"a method of any service", "{method: Buy}", "{service: shop}", false},
		{"the same call", "{service: shop}", "{service: shop}", true},
		{"an expression for the service", "{type: RegularExpression, service: s..p}", "{service: shop}", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := objects.Read(t, route("{name: o, matches: [{method: "+tt.other+"}], backendRefs: [{name: other}]}, {name: all, matches: [{method: "+tt.source+"}], "+toAll+"}"))
			_, err := engine.MakePlan(gatewayapi.GRPCRoutes("v1"), o, engine.Selection{}, withManaged(0, beta))
			if takes := err != nil && strings.Contains(err.Error(), "would take requests that reach rules[0]"); takes != tt.takes || err != nil && !takes {
				t.Errorf("got %v, want an error: %v", err, tt.takes)
			}
		})
	}
}

// A rule of which a match has all conditions already has to stand before its source, since of equal ones the first counts, and it
// stays there when its source is edited or moved.
func TestManagedRulesThatAddNothing(t *testing.T) {
	everything := steps.Mirror(100, intent.RequestMatch{Path: steps.Is(intent.Prefix, "/")})
	first := "{name: other, matches: [{path: {value: /o}}], backendRefs: [{name: other}]}"
	o := objects.Read(t, route(first+", {name: all, "+toAll+"}"))
	for _, in := range []intent.Intent{withManaged(0, everything), withManaged(30, everything), withManaged(30, everything, beta), withManaged(30, beta, everything)} {
		o = settled(t, http, o, in)
		want := "other, shadow of apps/web, all"
		if len(in.Managed) > 1 {
			want += ", beta of apps/web"
		}
		if got := names(t, o); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	tree := objects.Tree(t, o.JSON)
	rules := tree["spec"].(map[string]any)["rules"].([]any)
	rules[0], rules[2] = rules[2], rules[0]
	o = settled(t, http, objects.OfTree(t, tree), withManaged(30, everything))
	if got, want := names(t, o), "shadow of apps/web, all, other"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if back := settled(t, http, o, canary(0)); names(t, back) != "all, other" {
		t.Errorf("at rest\n%s", objects.YAML(back.JSON))
	}
}

// Where the API server keeps no names of rules, one that stands before its source and matches alike does not take its place in what is
// remembered.
func TestUnnamedRuleThatAddsNothing(t *testing.T) {
	applied := objects.Read(t, route("{matches: [{"+anyPath+"}], "+toAll+"}"))
	everything := steps.Mirror(100, intent.RequestMatch{Path: steps.Is(intent.Prefix, "/")})
	o := applied
	for _, in := range []intent.Intent{withManaged(20, everything), withManaged(50, everything), withManaged(20), withManaged(20, everything)} {
		o = unnamed(t, after(t, http, o, in))
		if again := after(t, http, o, in); !objects.Same(again.JSON, o.JSON) {
			t.Errorf("a second call makes\n%s\nof\n%s", objects.YAML(again.JSON), objects.YAML(o.JSON))
		}
	}
	if back := after(t, http, o, canary(0)); !objects.Same(back.JSON, applied.JSON) {
		t.Errorf("at rest\n%s", objects.YAML(back.JSON))
	}
}
