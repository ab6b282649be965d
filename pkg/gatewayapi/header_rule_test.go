package gatewayapi_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gatewayapi"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/steps"
)

// withManaged returns the intent of Rollout apps/web at a weight with these managed routes.
func withManaged(share int, managed ...intent.ManagedRoute) intent.Intent {
	in := canary(share)
	in.Managed = managed
	return in
}

// theirs returns the intent of Rollout apps/other with Services other and other-canary.
func theirs(in intent.Intent) intent.Intent {
	in.Owner, in.Stable, in.Canary = "apps/other", service("other"), service("other-canary")
	return in
}

var beta = steps.Header("beta", steps.Exact("x-beta", "yes"))

// Parts of rules as they are read and written.
const (
	toAll    = "backendRefs: [{name: web, port: 80}]"
	toNew    = "backendRefs: [{name: web-canary, port: 80, filters: [], weight: 1}]"
	anyPath  = "path: {type: PathPrefix, value: /}"
	isBeta   = "{type: Exact, name: x-beta, value: 'yes'}"
	newRules = "{name: beta, matches: [{" + anyPath + ", headers: [" + isBeta + "]}], " + toNew + "}"
)

func TestPlanHeaderRules(t *testing.T) {
	for _, tt := range []struct {
		name            string
		observed, added string // with a + at the beginning before all others, else after them
		in              intent.Intent
	}{
		{"a rule without matches", "{name: all, " + toAll + "}", newRules, withManaged(0, beta)},
		{"after all others, with every match narrowed",
			"{name: shop, matches: [{path: {type: Exact, value: /a}, method: GET, queryParams: [{name: q, value: '1'}]}, {headers: [{name: z, value: why}]}], timeouts: {request: 5s}, future: 9007199254740993, filters: [{type: URLRewrite}], " + toAll + "}, {name: last, filters: [{type: RequestRedirect}]}",
			"{name: beta, matches: [{path: {type: Exact, value: /a}, method: GET, queryParams: [{name: q, value: '1'}], headers: [" + isBeta + "]}, {" + anyPath + ", headers: [{name: z, value: why}, " + isBeta + "]}], " +
				"timeouts: {request: 5s}, future: 9007199254740993, filters: [{type: URLRewrite}], " + toNew + "}", withManaged(0, beta)},
		{"all of a step's matches together, by prefix and expression", "{name: all, " + toAll + "}",
			"{name: beta, matches: [{" + anyPath + ", headers: [{type: RegularExpression, name: a, value: '^v1\\.2.*'}, {type: RegularExpression, name: b, value: c|d}, " + isBeta + "]}], " + toNew + "}",
			withManaged(0, steps.Header("beta", steps.HeaderIs("a", intent.Prefix, "v1.2"), steps.HeaderIs("b", intent.Regex, "c|d"), steps.Exact("x-beta", "yes"), steps.Exact("X-Beta", "yes")))},
		{"a listed canary, with filters of its own", "{name: all, backendRefs: [{name: web, weight: 100}, {group: '', kind: Service, name: web-canary, port: 9, weight: 0, filters: [{type: X}]}]}",
			"{name: beta, matches: [{" + anyPath + ", headers: [" + isBeta + "]}], backendRefs: [{group: '', kind: Service, name: web-canary, port: 9, filters: [{type: X}], weight: 1}]}", withManaged(0, beta)},
		{"one name for each rule", "{name: a, " + toAll + "}, {matches: [{path: {type: PathPrefix, value: /b}}], " + toAll + "}",
			newRules + ", {name: beta-1, matches: [{path: {type: PathPrefix, value: /b}, headers: [" + isBeta + "]}], " + toNew + "}", withManaged(0, beta)},
		{"two steps", "{name: all, " + toAll + "}",
			newRules + ", {name: gamma, matches: [{" + anyPath + ", headers: [{type: Exact, name: x-beta, value: 'no'}]}], " + toNew + "}",
			withManaged(0, beta, steps.Header("gamma", steps.Exact("x-beta", "no")))},
		{"a rule that asks for the header already", "{matches: [{" + anyPath + ", headers: [{type: Exact, name: X-Beta, value: 'yes'}]}, {" + anyPath + ", headers: [{name: x-beta, value: 'no'}]}], " + toAll + "}",
			"+{name: beta, matches: [{" + anyPath + ", headers: [{type: Exact, name: X-Beta, value: 'yes'}]}], " + toNew + "}", withManaged(0, beta)},
		{"a rule that no such request reaches", "{matches: [{headers: [{name: x-beta, value: 'no'}]}], " + toAll + "}", "", withManaged(0, beta)},
		{"a value that has the prefix already", "{matches: [{" + anyPath + ", headers: [{name: x, value: v12}]}], " + toAll + "}",
			"+{name: beta, matches: [{" + anyPath + ", headers: [{name: x, value: v12}]}], " + toNew + "}", withManaged(0, steps.Header("beta", steps.HeaderIs("x", intent.Prefix, "v1")))},
		{"a user's rule that holds only the canary", "{name: mine, matches: [{" + anyPath + ", headers: [" + isBeta + "]}], " + toNew + "}, {name: all, " + toAll + "}", newRules, withManaged(0, beta)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			observed := objects.Read(t, route(tt.observed))
			moved := settled(t, http, observed, tt.in)
			if got, want := objects.Spec(t, moved), objects.Spec(t, objects.Read(t, route(join(tt.observed, tt.added)))); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if back := settled(t, http, moved, canary(0)); !objects.Same(back.JSON, observed.JSON) {
				t.Errorf("at rest\n%s", objects.YAML(back.JSON))
			}
		})
	}
}

func join(rules, added string) string {
	if first, found := strings.CutPrefix(added, "+"); found {
		return first + ", " + rules
	}
	return strings.TrimSuffix(rules+", "+added, ", ")
}

// settled returns the object as it is once an intent has been asked for; asked once more, nothing changes.
func settled(t *testing.T, api engine.API, o engine.Object, in intent.Intent) engine.Object {
	t.Helper()
	moved := after(t, api, o, in)
	if again := after(t, api, moved, in); !objects.Same(again.JSON, moved.JSON) {
		t.Fatalf("a second call makes\n%s\nof\n%s", objects.YAML(again.JSON), objects.YAML(moved.JSON))
	}
	return moved
}

// Beside a weight the rule follows its source: an edit of that, another step and the end of the release.
func TestHeaderRuleFollowsItsSource(t *testing.T) {
	applied := objects.Read(t, route("{name: all, "+toAll+"}"))
	moved := settled(t, http, applied, withManaged(40, beta))
	edited := strings.Replace(string(moved.JSON), `"name":"all"`, `"name":"all","timeouts":{"request":"5s"}`, 1)
	moved = settled(t, http, objects.FromJSON(t, []byte(edited)), withManaged(40, beta))
	if n := strings.Count(string(moved.JSON), `"timeouts"`); n != 2 {
		t.Errorf("timeouts of %d rules\n%s", n, objects.YAML(moved.JSON))
	}
	moved = settled(t, http, moved, withManaged(40, steps.Header("beta", steps.Exact("x-beta", "maybe"))))
	if text := string(moved.JSON); strings.Count(text, `"x-beta"`) != 1 || !strings.Contains(text, "maybe") {
		t.Errorf("with another value\n%s", objects.YAML(moved.JSON))
	}
	back := settled(t, http, moved, canary(0))
	if got := strings.Replace(string(back.JSON), `,"timeouts":{"request":"5s"}`, "", 1); !objects.Same([]byte(got), applied.JSON) {
		t.Errorf("at rest\n%s", objects.YAML(back.JSON))
	}
}

// Two Rollouts add rules of one name to a route, and each takes out its own.
func TestHeaderRulesOfTwoRollouts(t *testing.T) {
	applied := objects.Read(t, route("{name: a, "+toAll+"}, {name: b, matches: [{path: {type: PathPrefix, value: /b}}], backendRefs: [{name: other}]}"))
	both := settled(t, http, settled(t, http, applied, withManaged(10, beta)), theirs(withManaged(0, beta)))
	if got, want := names(t, both), "a, b, beta of apps/web, beta-1 of apps/other"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	for _, tt := range []struct {
		in   intent.Intent
		want string
	}{{canary(10), "a, b, beta-1 of apps/other"}, {withManaged(10, beta), "a, b, beta-1 of apps/other, beta of apps/web"}, {theirs(canary(0)), "a, b, beta of apps/web"}, {canary(0), "a, b"}} {
		both = settled(t, http, both, tt.in)
		if got := names(t, both); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
	if !objects.Same(both.JSON, applied.JSON) {
		t.Errorf("at rest\n%s", objects.YAML(both.JSON))
	}
}

// names returns those of the rules, with the owners of managed ones.
func names(t *testing.T, o engine.Object) string {
	t.Helper()
	routes, err := engine.Routes(http, o)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, r := range routes {
		text := r.Name
		for _, owner := range []string{"web", "other"} {
			if strings.HasPrefix(r.Owner, owner+"-") {
				text += " of apps/" + owner
			}
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// An API server that does not know names of rules drops them. The rules are known all the same, and not those of users.
func TestHeaderRulesWithoutNames(t *testing.T) {
	applied := objects.Read(t, route("{matches: [{"+anyPath+", headers: ["+isBeta+"]}], backendRefs: [{name: web-canary, port: 80}]}, {"+toAll+"}"))
	o := applied
	for _, in := range []intent.Intent{withManaged(0, beta), withManaged(20, beta, steps.Header("gamma", steps.Exact("g", "1"))), withManaged(20, beta), canary(20)} {
		o = unnamed(t, after(t, http, o, in))
		if again := after(t, http, o, in); !objects.Same(again.JSON, o.JSON) {
			t.Errorf("a second call makes\n%s\nof\n%s", objects.YAML(again.JSON), objects.YAML(o.JSON))
		}
		if got, want := strings.Count(objects.Spec(t, o), "headers:"), 1+len(in.Managed); got != want {
			t.Errorf("%d rules with headers, want %d\n%s", got, want, objects.YAML(o.JSON))
		}
	}
	if back := after(t, http, o, canary(0)); !objects.Same(back.JSON, applied.JSON) {
		t.Errorf("at rest\n%s", objects.YAML(back.JSON))
	}
}

// unnamed returns a route without names of rules.
func unnamed(t *testing.T, o engine.Object) engine.Object {
	t.Helper()
	tree := objects.Tree(t, o.JSON)
	for _, r := range tree["spec"].(map[string]any)["rules"].([]any) {
		delete(r.(map[string]any), "name")
	}
	return objects.OfTree(t, tree)
}

func TestGRPCHeaderRules(t *testing.T) {
	grpc := gatewayapi.GRPCRoutes("v1")
	observed := objects.Read(t, route("{name: call, matches: [{method: {type: Exact, service: shop, method: Buy}}], "+toAll+"}, {name: all, "+toAll+"}"))
	want := objects.Read(t, route("{name: call, matches: [{method: {type: Exact, service: shop, method: Buy}}], "+toAll+"}, {name: all, "+toAll+"}, "+
		"{name: beta, matches: [{method: {type: Exact, service: shop, method: Buy}, headers: ["+isBeta+"]}], "+toNew+"}, {name: beta-1, matches: [{headers: ["+isBeta+"]}], "+toNew+"}"))
	if moved := settled(t, grpc, observed, withManaged(0, beta)); objects.Spec(t, moved) != objects.Spec(t, want) {
		t.Errorf("got\n%s", objects.YAML(moved.JSON))
	}
}

// Routes to which a block wants no header routes added are moved without them; whether that goes for every object the engine sees.
func TestNoHeadersWanted(t *testing.T) {
	plan, err := engine.MakePlan(http, objects.Read(t, route("{name: all, "+toAll+"}")), engine.Selection{NoHeaders: true}, withManaged(10, beta, steps.Mirror(100, intent.RequestMatch{Headers: []intent.HeaderMatch{steps.Exact("a", "b")}})))
	if err != nil {
		t.Fatal(err)
	}
	const want = "HTTPRoute apps/demo: header routes are added only where useHeaderRoutes is true, which it is not; set it"
	if plan.Unmanaged == nil || plan.Unmanaged.Error() != want {
		t.Errorf("got  %v\nwant %s", plan.Unmanaged, want)
	}
	if len(plan.Changes) != 2 || len(plan.Added) != 1 {
		t.Errorf("changes %v, added %v", plan.Changes, plan.Added)
	}
}

func TestPlanHeaderRulesRefuses(t *testing.T) {
	many := func(n int, each string) string { // in which a # is another number each time
		var texts []string
		for i := range n {
			texts = append(texts, strings.ReplaceAll(each, "#", fmt.Sprint(i)))
		}
		return strings.Join(texts, ", ")
	}
	for _, tt := range []struct {
		name, observed string
		managed        intent.ManagedRoute
		want           string
	}{
		{"a user's rule of that name", "{name: all, " + toAll + "}, {name: beta, " + toNew + "}", beta,
			`rules[0] "all": managed route "beta": the route has a rule of that name already; rename either`},
		{"one header with two values", "{name: all, " + toAll + "}", steps.Header("beta", steps.Exact("x", "1"), steps.Exact("X", "2")),
			`rules[0] "all": managed route "beta": header X is to have two values at once: all matches of a step hold together here; use one step for each`},
		{"one header with two conditions", "{name: all, matches: [{headers: [{type: RegularExpression, name: x, value: a.*}]}], " + toAll + "}", steps.Header("beta", steps.Exact("X", "ab")),
			`rules[0] "all": managed route "beta": matches[0]: header X cannot be asked to be exact "ab": a match names a header once, and it is to be RegularExpression "a.*" already; ask for another header`},
		{"matches that cannot be read", "{name: all, matches: [{headers: {}}], " + toAll + "}", beta,
			`rules[0] "all": managed route "beta": matches[0]: headers: found an object, want a list`},
		{"too many rules", many(9, "{"+toAll+"}"), beta,
			"with its header and mirror rules it would have 18 rules, and a route may have 16; split the route, or select fewer"},
		{"too many matches", "{matches: [" + many(64, "{path: {value: /#}}") + "], " + toAll + "}, {matches: [" + many(1, "{}") + "], " + toAll + "}", beta,
			"with its header and mirror rules it would have 130 matches in all its rules, and a route may have 128; split the route, or select fewer"},
		{"too many headers", "{matches: [{headers: [" + many(16, "{name: x#, value: why}") + "]}], " + toAll + "}", beta,
			"with its header and mirror rules it would have 17 headers in a match, and a route may have 16; split the route, or select fewer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := engine.MakePlan(http, objects.Read(t, route(tt.observed)), engine.Selection{}, withManaged(0, tt.managed))
			if err == nil || err.Error() != "HTTPRoute apps/demo: "+tt.want {
				t.Errorf("got  %v\nwant HTTPRoute apps/demo: %s", err, tt.want)
			}
		})
	}
}

// A kind of routes that knows no headers cannot have the rules.
func TestNoHeaderRulesOnStreams(t *testing.T) {
	plan, err := engine.MakePlan(gatewayapi.TCPRoutes("v1alpha2"), objects.Read(t, rule("{name: web}")), engine.Selection{}, withManaged(10, beta))
	const want = `TCPRoute apps/demo: only rules without headers match (rules[0] "all"), so no header or mirror route can be added; select an HTTPRoute or a GRPCRoute as well`
	if err != nil || fmt.Sprint(plan.Unmanaged) != want || len(plan.Changes) != 2 {
		t.Errorf("got  %v, %v, changes %v\nwant %s", plan.Unmanaged, err, plan.Changes, want)
	}
}

// What a mistaken person or an older release may leave in the annotation does not stop a release.
func TestManagedRulesThatAreRememberedAndGone(t *testing.T) {
	o := settled(t, http, objects.Read(t, route("{name: all, "+toAll+"}")), withManaged(10, beta))
	tree := objects.Tree(t, o.JSON)
	spec := tree["spec"].(map[string]any)
	spec["rules"] = spec["rules"].([]any)[:1] // as a re-applied manifest has it
	o = settled(t, http, objects.OfTree(t, tree), withManaged(10, beta))
	if got, want := names(t, o), "all, beta of apps/web"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	record := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(o.Annotations[engine.Annotation]), &record); err != nil || !strings.Contains(string(record["apps/web"]), `"beta"`) {
		t.Errorf("annotation %s, %v", o.Annotations[engine.Annotation], err)
	}
}

// A rule that somebody adds behind the plugin's, and that asks for as much, would lose to them: of equal ones the first counts.
func TestHeaderRulesStayBehindOthers(t *testing.T) {
	o := settled(t, http, objects.Read(t, route("{name: all, "+toAll+"}")), withManaged(10, beta))
	tree := objects.Tree(t, o.JSON)
	spec := tree["spec"].(map[string]any)
	theirs := objects.Tree(t, objects.Read(t, route("{name: late, matches: [{headers: [{name: y, value: '1'}]}], backendRefs: [{name: other}]}")).JSON)
	spec["rules"] = append(spec["rules"].([]any), theirs["spec"].(map[string]any)["rules"].([]any)...)
	o = settled(t, http, objects.OfTree(t, tree), withManaged(10, beta))
	if got, want := names(t, o), "all, late, beta of apps/web"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A manifest that is applied again takes the rules of two Rollouts out, and either may be the first to add its own again: that is
// not taken for the other's, of whose rules the annotation still tells.
func TestHeaderRulesOfTwoRolloutsAppliedAgain(t *testing.T) {
	applied := objects.Read(t, route("{name: a, "+toAll+"}, {name: b, matches: [{path: {type: PathPrefix, value: /b}}], backendRefs: [{name: other}]}"))
	web, other := withManaged(0, beta), theirs(withManaged(0, beta))
	both := settled(t, http, settled(t, http, applied, web), other)
	for _, tt := range []struct {
		first, second intent.Intent
		want          string
	}{
		{web, other, "a, b, beta of apps/web, beta-1 of apps/other"},
		{other, web, "a, b, beta-1 of apps/other, beta of apps/web"},
	} {
		tree := objects.Tree(t, both.JSON)
		tree["spec"] = objects.Tree(t, applied.JSON)["spec"]
		again := settled(t, http, settled(t, http, objects.OfTree(t, tree), tt.first), tt.second)
		if got := names(t, again); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

// A manifest that is applied again may bring a user's own rule of the name that the plugin's had. It is theirs, and the step is refused;
// one that still forwards to the canary is the plugin's, edited, and is put right.
func TestRuleOfARememberedName(t *testing.T) {
	for _, tt := range []struct {
		name, rule, want string
	}{
		{"a user's", "{name: beta, matches: [{path: {type: PathPrefix, value: /pay}}], backendRefs: [{name: pay}]}",
			`HTTPRoute apps/demo: rules[0] "all": managed route "beta": the route has a rule of that name already; rename either`},
		{"the plugin's, edited", "{name: beta, matches: [{path: {type: PathPrefix, value: /pay}}], " + toNew + "}", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := settled(t, http, objects.Read(t, route("{name: all, "+toAll+"}")), withManaged(10, beta))
			tree := objects.Tree(t, o.JSON)
			rules := tree["spec"].(map[string]any)["rules"].([]any)
			rules[1] = objects.Tree(t, objects.Read(t, "spec: "+tt.rule).JSON)["spec"]
			edited := objects.OfTree(t, tree)
			if _, err := engine.MakePlan(http, edited, engine.Selection{}, withManaged(10, beta)); fmt.Sprint(err) != cmp.Or(tt.want, "<nil>") {
				t.Fatalf("got  %v\nwant %s", err, tt.want)
			}
			back := settled(t, http, edited, canary(0))
			if left := strings.Contains(objects.Spec(t, back), "/pay"); left != (tt.want != "") {
				t.Errorf("at rest\n%s", objects.YAML(back.JSON))
			}
		})
	}
}
