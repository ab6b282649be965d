package gatewayapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gatewayapi"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/steps"
)

// A mirror rule splits as its source does, at any weight.
func TestMirrorRuleSplitsAsItsSource(t *testing.T) {
	applied := objects.Read(t, route("{name: all, timeouts: {request: 5s}, filters: [{type: X}], "+toAll+"}"))
	o := applied
	for _, tt := range []struct {
		share, percentage int
		refs, mirrored    string
		percent           string
	}{
		{0, 100, "{name: web, port: 80}", "{name: web, port: 80, weight: 1}", ""},
		{20, 100, "{name: web, port: 80, weight: 80}, {name: web-canary, port: 80, filters: [], weight: 20}", "", ""},
		{50, 35, "{name: web, port: 80, weight: 50}, {name: web-canary, port: 80, filters: [], weight: 50}", "", ", percent: 35"},
		{0, 35, "{name: web, port: 80}", "{name: web, port: 80, weight: 1}", ", percent: 35"},
	} {
		if tt.mirrored == "" {
			tt.mirrored = tt.refs
		}
		o = settled(t, http, o, withManaged(tt.share, steps.Mirror(tt.percentage, steps.Gets())))
		want := objects.Spec(t, objects.Read(t, route("{name: all, timeouts: {request: 5s}, filters: [{type: X}], backendRefs: ["+tt.refs+"]}, "+
			"{name: shadow, timeouts: {request: 5s}, matches: [{"+anyPath+", method: GET}], backendRefs: ["+tt.mirrored+"], "+
			"filters: [{type: X}, {type: RequestMirror, requestMirror: {backendRef: {group: '', kind: Service, name: web-canary, port: 80}"+tt.percent+"}}]}")))
		if got := objects.Spec(t, o); got != want {
			t.Errorf("at %d got\n%s\nwant\n%s", tt.share, got, want)
		}
	}
	if back := settled(t, http, o, canary(0)); !objects.Same(back.JSON, applied.JSON) {
		t.Errorf("at rest\n%s", objects.YAML(back.JSON))
	}
}

// Where two Rollouts share a rule, the mirror rule of one has the weights of the other too.
func TestMirrorRuleFollowsOtherRollouts(t *testing.T) {
	o := objects.Read(t, rule("{name: web, weight: 60}, {name: other, weight: 40}"))
	o = settled(t, http, o, withManaged(10, steps.Mirror(100, steps.Gets())))
	for _, share := range []int{50, 0} {
		o = settled(t, http, o, theirs(canary(share)))
		routes, err := engine.Routes(http, o)
		if err != nil || len(routes) != 2 || !routes[1].Mirror || len(routes[0].Entries) != len(routes[1].Entries) {
			t.Fatalf("%v, %v\n%s", routes, err, objects.YAML(o.JSON))
		}
		for i, e := range routes[0].Entries {
			if e.Weight != nil && *e.Weight != *routes[1].Entries[i].Weight || e.Name != routes[1].Entries[i].Name {
				t.Errorf("at %d entry %d is %s of the source and %s of the mirror", share, i, e.JSON, routes[1].Entries[i].JSON)
			}
		}
	}
}

// What a match of the source and that of a step make together; nothing says that no request can fit both.
func TestNarrowedMatches(t *testing.T) {
	path := func(kind intent.MatchType, value string) intent.RequestMatch {
		return intent.RequestMatch{Path: steps.Is(kind, value)}
	}
	prefix := func(value string) string { return "{path: {type: PathPrefix, value: " + value + "}}" }
	for _, tt := range []struct {
		name, match string
		step        intent.RequestMatch
		want        string
	}{
		{"any request", "{method: PUT, " + anyPath + "}", intent.RequestMatch{}, "{method: PUT, " + anyPath + "}"},
		{"a method", prefix("/a"), steps.Gets(), "{path: {type: PathPrefix, value: /a}, method: GET}"},
		{"the same method", "{" + anyPath + ", method: GET}", steps.Gets(), "{" + anyPath + ", method: GET}"},
		{"another method", "{method: PUT}", steps.Gets(), ""},
		{"a path", "{}", path(intent.Prefix, "/x"), prefix("/x")},
		{"a path within any", prefix("/"), path(intent.Regex, "/x.*"), "{path: {type: RegularExpression, value: /x.*}}"},
		{"every path", "{path: {type: Exact, value: /x}}", path(intent.Prefix, "/"), "{path: {type: Exact, value: /x}}"},
		{"a longer prefix", prefix("/x"), path(intent.Prefix, "/x/y"), prefix("/x/y")},
		{"a longer prefix of a prefix that ends", prefix("/x/"), path(intent.Prefix, "/x/y"), prefix("/x/y")},
		{"a shorter prefix", "{path: {value: /x/y}}", path(intent.Prefix, "/x"), "{path: {value: /x/y}}"},
		{"a prefix that ends within an element", prefix("/x"), path(intent.Prefix, "/xy"), ""},
		{"another prefix", prefix("/x"), path(intent.Prefix, "/y"), ""},
		{"one path", prefix("/x"), path(intent.Exact, "/x/y"), "{path: {type: Exact, value: /x/y}}"},
		{"one path elsewhere", prefix("/x"), path(intent.Exact, "/xy"), ""},
		{"a prefix of one path", "{path: {type: Exact, value: /x/y}}", path(intent.Prefix, "/x"), "{path: {type: Exact, value: /x/y}}"},
		{"two paths", "{path: {type: Exact, value: /x}}", path(intent.Exact, "/y"), ""},
		{"the same expression", "{path: {type: RegularExpression, value: /x.}}", path(intent.Regex, "/x."), "{path: {type: RegularExpression, value: /x.}}"},
		{"everything", "{method: GET, headers: [{name: a, value: b}], queryParams: [{name: q, value: '1'}]}",
			intent.RequestMatch{Method: steps.Is(intent.Exact, "GET"), Path: steps.Is(intent.Exact, "/x"), Headers: []intent.HeaderMatch{steps.Exact("A", "b"), steps.HeaderIs("c", intent.Prefix, "d.")}},
			"{method: GET, headers: [{name: a, value: b}, {type: RegularExpression, name: c, value: '^d\\..*'}], queryParams: [{name: q, value: '1'}], path: {type: Exact, value: /x}}"},
		{"one of two headers that cannot be", "{headers: [{name: a, value: b}]}", intent.RequestMatch{Headers: []intent.HeaderMatch{steps.Exact("c", "d"), steps.Exact("a", "e")}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			moved := settled(t, http, objects.Read(t, route("{name: all, matches: ["+tt.match+"], "+toAll+"}")), withManaged(0, steps.Mirror(100, tt.step)))
			rules := objects.Tree(t, moved.JSON)["spec"].(map[string]any)["rules"].([]any)
			if tt.want == "" {
				if len(rules) != 1 {
					t.Errorf("there is a rule\n%s", objects.YAML(moved.JSON))
				}
				return
			}
			want := objects.Tree(t, objects.Read(t, "spec: {want: ["+tt.want+"]}").JSON)["spec"].(map[string]any)["want"]
			if len(rules) != 2 || !same(t, rules[1].(map[string]any)["matches"], want) {
				t.Errorf("want %s\n%s", tt.want, objects.YAML(moved.JSON))
			}
		})
	}
}

func same(t *testing.T, a, b any) bool {
	t.Helper()
	text := func(value any) string {
		return objects.Spec(t, objects.OfTree(t, map[string]any{"spec": map[string]any{"value": value}}))
	}
	return text(a) == text(b)
}

const toRoot = "{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}"

// The API server takes one match of a rule whose matched prefix is replaced.
func TestOneMatchWherePrefixIsReplaced(t *testing.T) {
	const ruleFilter, backendFilter = "filters: [" + toRoot + "], " + toAll, "backendRefs: [{name: web, filters: [" + toRoot + "]}]"
	post := intent.RequestMatch{Method: steps.Is(intent.Exact, "POST")}
	for _, tt := range []struct {
		name, action, refused string
		managed               []intent.ManagedRoute
	}{
		{"a header route", ruleFilter, "", []intent.ManagedRoute{beta}},
		{"a mirror", backendFilter, "", []intent.ManagedRoute{steps.Mirror(100, steps.Gets())}},
		{"a mirror of two matches", ruleFilter, "shadow", []intent.ManagedRoute{steps.Mirror(100, steps.Gets(), post)}},
		{"a mirror of two matches, by a backend's filter", backendFilter, "shadow", []intent.ManagedRoute{steps.Mirror(100, steps.Gets(), post)}},
		{"a header route and a mirror", ruleFilter, "beta", []intent.ManagedRoute{beta, steps.Mirror(100, steps.Gets())}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := engine.MakePlan(http, objects.Read(t, route("{matches: [{path: {value: /a}}], "+tt.action+"}")), engine.Selection{}, withManaged(0, tt.managed...))
			want := "<nil>"
			if tt.refused != "" {
				want = `HTTPRoute apps/demo: rules[0]: managed route "` + tt.refused + `": a filter of the rule replaces the prefix that its match matched, so it may have one match, and it would have 2; ask for one match, and for no header route beside a mirror`
			}
			if got := fmt.Sprint(err); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestMirrorsThatCannotBeStated(t *testing.T) {
	grpc := gatewayapi.GRPCRoutes("v1")
	for _, tt := range []struct {
		name string
		api  engine.API
		rule string
		step intent.RequestMatch
		want string
	}{
		{"a method by prefix", http, toAll, intent.RequestMatch{Method: steps.Is(intent.Prefix, "P")},
			`a method by prefix "P" cannot be asked for: an HTTPRoute compares methods as a whole; use exact`},
		{"two expressions", http, "matches: [{path: {type: RegularExpression, value: /a.*}}], " + toAll, intent.RequestMatch{Path: steps.Is(intent.Regex, ".*b")},
			`path regex ".*b" cannot be asked for beside path RegularExpression "/a.*": a match takes one condition on the path; leave path out`},
		{"a path whose prefix is replaced", http, "matches: [{path: {value: /a}}], filters: [" + toRoot + "], " + toAll, intent.RequestMatch{Path: steps.Is(intent.Exact, "/a/b")},
			`path exact "/a/b": a filter of the rule replaces the prefix that its match matched, and would replace another part of the path here; leave path out`},
		{"a path whose prefix a backend replaces", http, "matches: [{path: {value: /a}}], backendRefs: [{name: web, filters: [" + toRoot + "]}]", intent.RequestMatch{Path: steps.Is(intent.Exact, "/a/b")},
			`path exact "/a/b": a filter of the rule replaces the prefix that its match matched, and would replace another part of the path here; leave path out`},
		{"a method of HTTP for gRPC", grpc, toAll, steps.Gets(),
			"a GRPCRoute cannot ask for a method or path of HTTP: its calls have a service and a method of their own; leave method and path out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := engine.MakePlan(tt.api, objects.Read(t, route("{"+tt.rule+"}")), engine.Selection{}, withManaged(0, steps.Mirror(100, tt.step)))
			want := tt.api.Kind() + ` apps/demo: rules[0]: managed route "shadow": matches[0]: ` + tt.want
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

// A request that a header route takes and that fits a mirror as well goes to the canary, though the mirror's match has a
// method, which the API prefers to any number of headers.
func TestHeaderRulesGoBeforeMirrors(t *testing.T) {
	for _, managed := range [][]intent.ManagedRoute{{beta, steps.Mirror(100, steps.Gets())}, {steps.Mirror(100, steps.Gets()), beta}} {
		moved := settled(t, http, objects.Read(t, route("{name: all, "+toAll+"}")), withManaged(0, managed...))
		if got, want := names(t, moved), "all, beta of apps/web, shadow of apps/web"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if want := "headers:\n      - name: x-beta\n        type: Exact\n        value: \"yes\"\n      method: GET"; !strings.Contains(objects.YAML(moved.JSON), want) {
			t.Errorf("no match has both\n%s", objects.YAML(moved.JSON))
		}
	}
}
