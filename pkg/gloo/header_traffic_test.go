package gloo_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
)

// A request goes to the canary if it would have reached a source route and fits one of the header route's conditions;
// every other request goes where it went before. The gateway decides, with a table's routes, matchers, managed routes and
// requests drawn at random.
func headerRoutesAreNarrow(t *rapid.T) {
	observed := object(t, drawHTTPTable(t))
	in := withHeaders()
	for _, name := range []string{"beta", "gamma"}[:rapid.IntRange(1, 2).Draw(t, "managed")] {
		in.Managed = append(in.Managed, header(name, rapid.SliceOfN(rapid.Custom(drawHeaderMatch), 1, 2).Draw(t, name)...))
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
		if before.Destination.Name == "web" && fitsAny(in.Managed, req) {
			if now.Destination.Name != "web-canary" {
				t.Fatalf("%s %s %v goes to %s %q, want the canary\n%s", req.Method, req.URL, req.Header, now.Outcome, now.Destination.Name, asYAML(moved.JSON))
			}
			continue
		}
		if name(now) != name(before) {
			t.Fatalf("%s %s %v goes to %s, where it went to %s\n%s", req.Method, req.URL, req.Header, name(now), name(before), asYAML(moved.JSON))
		}
	}
}

func TestHeaderRoutesAreNarrow(t *testing.T) { rapid.Check(t, headerRoutesAreNarrow) }

func FuzzHeaderRoutesAreNarrow(f *testing.F) { f.Fuzz(rapid.MakeFuzz(headerRoutesAreNarrow)) }

// name tells where a request goes, by the name of the route, which every drawn route has.
func name(d gateway.Decision) string {
	if d.Route == nil {
		return string(d.Outcome)
	}
	return fmt.Sprintf("%s %s %s", d.Outcome, d.Route.Name, d.Destination.Name)
}

func drawHTTPTable(t *rapid.T) string {
	var routes []string
	for i := range rapid.IntRange(1, 4).Draw(t, "routes") {
		action := rapid.SampledFrom([]string{"forwardTo: {destinations: [{ref: {name: web}}]}", "forwardTo: {destinations: [{ref: {name: web}}]}",
			"forwardTo: {destinations: [{ref: {name: other}}]}", "redirect: {hostRedirect: b.example.com}"}).Draw(t, "action")
		matchers := rapid.SliceOfN(rapid.Custom(drawMatcher), 0, 3).Draw(t, "matchers")
		routes = append(routes, fmt.Sprintf("{name: r%d, matchers: [%s], %s}", i, strings.Join(matchers, ", "), action))
	}
	return table("  hosts: [a.example.com]\n  http: [" + strings.Join(routes, ", ") + "]\n")
}

func drawMatcher(t *rapid.T) string {
	var conditions []string
	if uri := rapid.SampledFrom([]string{"", "{prefix: /a}", "{exact: /a}", "{prefix: /A, ignoreCase: true}", "{regex: '/[ab]'}"}).Draw(t, "uri"); uri != "" {
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

func drawHeaderMatch(t *rapid.T) intent.HeaderMatch {
	return rapid.SampledFrom([]intent.HeaderMatch{
		exact("x", "a"), exact("X", "ab"), exact("z", "a.b"), {Name: "x", Type: intent.Prefix, Value: "a"}, {Name: "z", Type: intent.Prefix, Value: "a."},
		{Name: "x", Type: intent.Regex, Value: "a|b"}, {Name: "z", Type: intent.Regex, Value: "(a.)+"},
	}).Draw(t, "header")
}

func drawRequest(t *rapid.T) *http.Request {
	method := rapid.SampledFrom([]string{"GET", "POST"}).Draw(t, "method")
	url := "http://a.example.com" + rapid.SampledFrom([]string{"/a", "/A", "/b", "/ab", "/c", "/a?q=1"}).Draw(t, "path")
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

func fitsAny(managed []intent.ManagedRoute, req *http.Request) bool {
	for _, m := range managed {
		for _, h := range m.Headers {
			value, pattern := req.Header.Get(h.Name), "^(?:"+h.Value+")$"
			switch {
			case h.Type == intent.Exact && value == h.Value,
				h.Type == intent.Prefix && strings.HasPrefix(value, h.Value),
				h.Type == intent.Regex && len(req.Header.Values(h.Name)) > 0 && regexp.MustCompile(pattern).MatchString(value):
				return true
			}
		}
	}
	return false
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
