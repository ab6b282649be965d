package gloo_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/oracle"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/steps"
)

// A request goes to the canary if it would have reached a source route and fits one of the header route's conditions; if
// it fits those of a mirror route, which stands before that, it goes where it went before, by the mirror route. Every other
// request goes where it went before. The gateway decides, with a table's routes, matchers, managed routes and requests drawn
// at random.
func managedRoutesAreNarrow(t *rapid.T) {
	observed := object(t, drawHTTPTable(t))
	in := withHeaders()
	for _, name := range []string{"beta", "gamma"}[:rapid.IntRange(1, 2).Draw(t, "managed")] {
		m := intent.ManagedRoute{Name: name, Matches: rapid.SliceOfN(rapid.Custom(drawMatch), 1, 2).Draw(t, name)}
		if rapid.Bool().Draw(t, "mirror") {
			m.Mirror = new(int)
		}
		in.Managed = append(in.Managed, m)
	}
	plan, err := engine.MakePlan(gloo.RouteTables{}, observed, engine.Selection{}, in)
	if err != nil {
		t.Skip(err)
	}
	moved := apply(t, observed, plan.Patch)
	mustBeRouteTable(t, moved)
	for range 20 {
		req := drawRequest(t)
		before, now := decide(t, observed, req), decide(t, moved, req)
		if before.Outcome == gateway.Broken { // a pathRewrite beside an expression
			continue
		}
		taken := slices.IndexFunc(in.Managed, func(m intent.ManagedRoute) bool { return fitsAny(m, req) })
		want := name(before)
		if before.Destination.Name == "web" && taken >= 0 {
			want = fmt.Sprintf("%s by %s to web-canary as %s", before.Outcome, in.Managed[taken].Name, before.Request.URL.Path)
			if in.Managed[taken].Mirror != nil {
				want = fmt.Sprintf("%s by %s to web as %s", before.Outcome, in.Managed[taken].Name, before.Request.URL.Path)
			}
		}
		if got := name(now); got != want {
			t.Fatalf("%s %s %v goes %s, want %s; before %s\n%s", req.Method, req.URL, req.Header, got, want, name(before), asYAML(moved.JSON))
		}
	}
}

func TestManagedRoutesAreNarrow(t *testing.T) { rapid.Check(t, managedRoutesAreNarrow) }

func FuzzManagedRoutesAreNarrow(f *testing.F) { f.Fuzz(rapid.MakeFuzz(managedRoutesAreNarrow)) }

// name tells where a request goes and how, by the name of the route, which every drawn route has. Of managed routes with a
// number, the name without it counts.
func name(d gateway.Decision) string {
	if d.Route == nil {
		return string(d.Outcome)
	}
	managed, _, _ := strings.Cut(d.Route.Name, "-")
	text := fmt.Sprintf("%s by %s to %s", d.Outcome, managed, d.Destination.Name)
	if d.Request != nil {
		text += " as " + d.Request.URL.Path
	}
	return text
}

func drawHTTPTable(t *rapid.T) string {
	var routes []string
	for i := range rapid.IntRange(1, 4).Draw(t, "routes") {
		action := rapid.SampledFrom([]string{"forwardTo: {destinations: [{ref: {name: web}}]}", "forwardTo: {pathRewrite: /new, destinations: [{ref: {name: web}}]}",
			"forwardTo: {destinations: [{ref: {name: other}}]}", "redirect: {hostRedirect: b.example.com}"}).Draw(t, "action")
		matchers := rapid.SliceOfN(rapid.Custom(drawMatcher), 0, 3).Draw(t, "matchers")
		routes = append(routes, fmt.Sprintf("{name: r%d, matchers: [%s], %s}", i, strings.Join(matchers, ", "), action))
	}
	return table("  hosts: [a.example.com]\n  http: [" + strings.Join(routes, ", ") + "]\n")
}

func drawMatcher(t *rapid.T) string {
	var conditions []string
	if uri := rapid.SampledFrom([]string{"", "{prefix: /a}", "{exact: /a}", "{prefix: /A, ignoreCase: true}", "{regex: '/[ab]'}", "{suffix: b}", "{exact: /Ab, ignoreCase: true}"}).Draw(t, "uri"); uri != "" {
		conditions = append(conditions, "uri: "+uri)
	}
	if method := rapid.SampledFrom([]string{"", "GET", "POST"}).Draw(t, "method"); method != "" {
		conditions = append(conditions, "method: "+method)
	}
	if query := rapid.SampledFrom([]string{"", "{name: q, value: '1'}"}).Draw(t, "query"); query != "" {
		conditions = append(conditions, "queryParameters: ["+query+"]")
	}
	headers := rapid.SliceOfN(rapid.SampledFrom([]string{"{name: x, value: a}", "{name: X, value: ab}", "{name: x}", "{name: x, value: 'a.*', regex: true}",
		"{name: x, value: a, invertMatch: true}", "{name: x, invertMatch: true}", "{name: z, value: a}"}), 0, 2).Draw(t, "headers")
	if len(headers) > 0 {
		conditions = append(conditions, "headers: ["+strings.Join(headers, ", ")+"]")
	}
	return "{" + strings.Join(conditions, ", ") + "}"
}

func drawMatch(t *rapid.T) intent.RequestMatch {
	return intent.RequestMatch{
		Method:  rapid.SampledFrom([]*intent.ValueMatch{nil, nil, steps.Is(intent.Exact, "GET"), steps.Is(intent.Exact, "POST")}).Draw(t, "method"),
		Path:    rapid.SampledFrom([]*intent.ValueMatch{nil, nil, nil, steps.Is(intent.Exact, "/a"), steps.Is(intent.Prefix, "/a"), steps.Is(intent.Prefix, "/"), steps.Is(intent.Prefix, "/ab"), steps.Is(intent.Regex, "/(a|c)")}).Draw(t, "path"),
		Headers: rapid.SliceOfN(rapid.Custom(drawHeaderMatch), 0, 2).Draw(t, "headers"),
	}
}

func drawHeaderMatch(t *rapid.T) intent.HeaderMatch {
	return rapid.SampledFrom([]intent.HeaderMatch{
		steps.Exact("x", "a"), steps.Exact("X", "ab"), steps.Exact("z", "a.b"), steps.HeaderIs("x", intent.Prefix, "a"), steps.HeaderIs("z", intent.Prefix, "a."),
		steps.HeaderIs("x", intent.Regex, "a|b"), steps.HeaderIs("z", intent.Regex, "(a.)+"),
	}).Draw(t, "header")
}

func drawRequest(t *rapid.T) *http.Request {
	method := rapid.SampledFrom([]string{"GET", "POST"}).Draw(t, "method")
	url := "http://a.example.com" + rapid.SampledFrom([]string{"/a", "/A", "/b", "/ab", "/Ab", "/c", "/a?q=1"}).Draw(t, "path")
	req, err := http.NewRequest(method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "z"} {
		if value := rapid.SampledFrom([]string{"", "a", "ab", "b", "a.b", "axb", "c"}).Draw(t, name); value != "" {
			req.Header.Set(name, value)
		}
	}
	return req
}

func fitsAny(m intent.ManagedRoute, req *http.Request) bool {
	return slices.ContainsFunc(m.Matches, func(match intent.RequestMatch) bool { return oracle.Fits(match, req) })
}

func decide(t *rapid.T, o engine.Object, req *http.Request) gateway.Decision {
	tree := map[string]any{}
	if err := json.Unmarshal(o.JSON, &tree); err != nil {
		t.Fatal(err)
	}
	decoded, err := gateway.Decode(&unstructured.Unstructured{Object: tree})
	if err != nil {
		t.Fatal(err)
	}
	return gateway.Decide([]*gateway.Table{decoded}, req, 80, func(int) int { return 0 })
}
