package gatewayapi_test

import (
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	gateway "github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gatewayapi"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/oracle"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/steps"
)

// A request goes to the canary if it would have reached a source rule and meets all conditions of a header route; one that
// meets those of a mirror goes where it went before, and to the canary as well. Every other request goes where it went before. The
// gateway decides, with a route's rules, their matches, managed routes and requests drawn at random.
func managedRulesAreNarrow(t *rapid.T) {
	observed := objects.Read(t, drawHTTPRoute(t))
	in := withManaged(0)
	for _, name := range []string{"beta", "gamma"}[:rapid.IntRange(1, 2).Draw(t, "managed")] {
		m := intent.ManagedRoute{Name: name, Matches: rapid.SliceOfN(rapid.Custom(drawStepMatch), 1, 2).Draw(t, name)}
		if rapid.Bool().Draw(t, "mirror") {
			m.Mirror = new(int)
			*m.Mirror = 100
		} else {
			m.Matches = []intent.RequestMatch{{Headers: rapid.SliceOfN(rapid.Custom(drawHeaderMatch), 1, 2).Draw(t, "headers")}}
		}
		in.Managed = append(in.Managed, m)
	}
	plan, err := engine.MakePlan(http, observed, engine.Selection{}, in)
	if err != nil {
		t.Skip(err)
	}
	moved := objects.Patched(t, observed, plan.Patch)
	for range 20 {
		req := drawRequest(t)
		before, now := decide(t, observed, req), decide(t, moved, req)
		want := says(before)
		if before.Backend.Name == "web" {
			switch {
			case slices.ContainsFunc(in.Managed, func(m intent.ManagedRoute) bool { return m.Mirror == nil && fitsAll(m, req) }):
				want = strings.Replace(want, "to web", "to web-canary", 1)
			case slices.ContainsFunc(in.Managed, func(m intent.ManagedRoute) bool { return m.Mirror != nil && fitsAny(m, req) }):
				want += " and to web-canary"
			}
		}
		if got := says(now); got != want {
			t.Fatalf("%s %s %v goes %s, want %s\n%s\nwhich was\n%s", req.Method, req.URL, req.Header, got, want, objects.YAML(moved.JSON), objects.YAML(observed.JSON))
		}
	}
}

func TestManagedRulesAreNarrow(t *testing.T) { rapid.Check(t, managedRulesAreNarrow) }

// says tells where a request goes and as what.
func says(d gateway.Decision) string {
	if d.Request == nil {
		return string(d.Outcome)
	}
	text := fmt.Sprintf("%s to %s as %s", d.Outcome, d.Backend.Name, d.Request.URL.Path)
	for _, m := range d.Mirrors {
		text += " and to " + m.Backend.Name
	}
	return text
}

func drawHTTPRoute(t *rapid.T) string {
	var rules []string
	for i := range rapid.IntRange(1, 4).Draw(t, "rules") {
		action := rapid.SampledFrom([]string{"backendRefs: [{name: web}]", "filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: /new}}}], backendRefs: [{name: web}]",
			"backendRefs: [{name: other}]", "filters: [{type: RequestRedirect, requestRedirect: {hostname: b.example.com}}]"}).Draw(t, "action")
		matches := rapid.SliceOfN(rapid.Custom(drawRuleMatch), 0, 3).Draw(t, "matches")
		rules = append(rules, fmt.Sprintf("{name: r%d, matches: [%s], %s}", i, strings.Join(matches, ", "), action))
	}
	return route(strings.Join(rules, ", "))
}

func drawRuleMatch(t *rapid.T) string {
	var conditions []string
	path := rapid.SampledFrom([]string{"", "{type: PathPrefix, value: /a}", "{type: PathPrefix, value: /a/b}", "{type: Exact, value: /a}", "{type: Exact, value: /a/b}", "{type: RegularExpression, value: '/[ab]'}"}).Draw(t, "path")
	if path != "" {
		conditions = append(conditions, "path: "+path)
	}
	if method := rapid.SampledFrom([]string{"", "", "GET", "POST"}).Draw(t, "method"); method != "" {
		conditions = append(conditions, "method: "+method)
	}
	if rapid.IntRange(0, 3).Draw(t, "query") == 0 {
		conditions = append(conditions, "queryParams: [{name: q, value: '1'}]")
	}
	headers := rapid.SampledFrom([]string{"", "", "", "{name: x, value: a}", "{name: X, value: ab}", "{type: RegularExpression, name: x, value: a.*}", "{name: z, value: a}", "{name: x, value: a}, {name: z, value: a}"}).Draw(t, "headers")
	if headers != "" {
		conditions = append(conditions, "headers: ["+headers+"]")
	}
	return "{" + strings.Join(conditions, ", ") + "}"
}

func drawStepMatch(t *rapid.T) intent.RequestMatch {
	return intent.RequestMatch{
		Method:  rapid.SampledFrom([]*intent.ValueMatch{nil, nil, steps.Is(intent.Exact, "GET"), steps.Is(intent.Exact, "POST")}).Draw(t, "method"),
		Path:    rapid.SampledFrom([]*intent.ValueMatch{nil, nil, nil, steps.Is(intent.Exact, "/a"), steps.Is(intent.Prefix, "/a"), steps.Is(intent.Prefix, "/"), steps.Is(intent.Prefix, "/a/b"), steps.Is(intent.Regex, "/(a|c)")}).Draw(t, "path"),
		Headers: rapid.SliceOfNDistinct(rapid.Custom(drawHeaderMatch), 0, 2, func(h intent.HeaderMatch) string { return strings.ToLower(h.Name) }).Draw(t, "headers"),
	}
}

func drawHeaderMatch(t *rapid.T) intent.HeaderMatch {
	return rapid.SampledFrom([]intent.HeaderMatch{
		steps.Exact("x", "a"), steps.Exact("X", "ab"), steps.Exact("z", "a.b"), steps.HeaderIs("x", intent.Prefix, "a"), steps.HeaderIs("z", intent.Prefix, "a."),
		steps.HeaderIs("x", intent.Regex, "a|b"), steps.HeaderIs("w", intent.Regex, "(a.)+"), steps.Exact("w", "ab"),
	}).Draw(t, "header")
}

func drawRequest(t *rapid.T) *nethttp.Request {
	method := rapid.SampledFrom([]string{"GET", "POST"}).Draw(t, "method")
	path := rapid.SampledFrom([]string{"/a", "/b", "/a/b", "/a/b/c", "/ab", "/c", "/a?q=1", "/a/b?q=1"}).Draw(t, "path")
	req := httptest.NewRequest(method, "http://a.example.com"+path, nil)
	for _, name := range []string{"x", "z", "w"} {
		if value := rapid.SampledFrom([]string{"", "a", "ab", "b", "a.b"}).Draw(t, name); value != "" {
			req.Header.Set(name, value)
		}
	}
	return req
}

func fitsAll(m intent.ManagedRoute, req *nethttp.Request) bool {
	return !slices.ContainsFunc(m.Matches, func(match intent.RequestMatch) bool { return !fits(match, req) })
}

func fitsAny(m intent.ManagedRoute, req *nethttp.Request) bool {
	return slices.ContainsFunc(m.Matches, func(match intent.RequestMatch) bool { return fits(match, req) })
}

// fits reports whether a request meets all conditions of a match. A prefix of the path is one of whole elements.
func fits(match intent.RequestMatch, req *nethttp.Request) bool {
	if p := match.Path; p != nil && p.Type == intent.Prefix {
		if rest, found := strings.CutPrefix(req.URL.Path, strings.TrimSuffix(p.Value, "/")); !found || rest != "" && rest[0] != '/' {
			return false
		}
		match.Path = nil
	}
	return oracle.Fits(match, req)
}

func decide(t *rapid.T, o engine.Object, req *nethttp.Request) gateway.Decision {
	tree := map[string]any{}
	if err := json.Unmarshal(o.JSON, &tree); err != nil {
		t.Fatal(err)
	}
	decoded, err := gateway.Decode(&unstructured.Unstructured{Object: tree})
	if err != nil {
		t.Fatal(err)
	}
	return gateway.Decide([]*gateway.Route{decoded}, gateway.HTTP, req, func(int) int { return 0 })
}
