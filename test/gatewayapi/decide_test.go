package gatewayapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
)

// first is a draw that always picks the first backend with a weight.
func first(int) int { return 0 }

// route decodes a route by the text of its spec. Those with a greater age are older.
func route(t *testing.T, kind, name string, age int, text string) *Route {
	t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	fields := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	obj.Object["spec"] = fields
	obj.SetKind(kind)
	obj.SetNamespace("ns")
	obj.SetName(name)
	obj.SetCreationTimestamp(metav1.NewTime(time.Unix(int64(1000-age), 0)))
	r, err := Decode(obj)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// request makes a request of a line such as "GET http://host/path header=value".
func request(line string) *http.Request {
	words := strings.Fields(line)
	req := httptest.NewRequest(words[0], words[1], nil)
	for _, word := range words[2:] {
		name, value, _ := strings.Cut(word, "=")
		req.Header.Add(name, value)
	}
	return req
}

// says is the name of the backend, or the outcome if there is none.
func (d Decision) says() string {
	if d.Outcome != gateway.Forwarded {
		return string(d.Outcome)
	}
	return d.Backend.Name
}

// The backends are named after the reason why they win. Rules stand in an order that would be wrong if the first won.
const ranked = `
rules:
  - {backendRefs: [{name: anything, port: 80}]}
  - {matches: [{path: {value: /a}}], backendRefs: [{name: prefix, port: 80}]}
  - {matches: [{path: {value: /a/b/}}], backendRefs: [{name: longer, port: 80}]}
  - {matches: [{path: {value: /a}, method: PUT}], backendRefs: [{name: method, port: 80}]}
  - {matches: [{path: {value: /a}, queryParams: [{name: q, value: "1"}]}], backendRefs: [{name: query, port: 80}]}
  - {matches: [{path: {value: /a}, headers: [{name: x, value: "1"}]}], backendRefs: [{name: header, port: 80}]}
  - matches: [{path: {value: /a}, headers: [{name: x, value: "1"}, {name: w, type: RegularExpression, value: "[0-9]+"}]}]
    backendRefs: [{name: headers, port: 80}]
  - {matches: [{path: {type: RegularExpression, value: "/re[0-9]"}}], backendRefs: [{name: regexp, port: 80}]}
  - {matches: [{path: {type: Exact, value: /a/b/c}}, {path: {type: Exact, value: /e}}], backendRefs: [{name: exact, port: 80}]}
  - {matches: [{path: {type: Exact, value: /e}}], backendRefs: [{name: second, port: 80}]}
`

func TestPrecedenceOfHTTPRoutes(t *testing.T) {
	routes := []*Route{
		route(t, HTTP, "young", 0, "{rules: [{backendRefs: [{name: young, port: 80}]}]}"),
		route(t, HTTP, "ranked", 1, ranked),
		route(t, HTTP, "wild", 2, `{hostnames: ["*.b.c"], rules: [{backendRefs: [{name: wild, port: 80}]}]}`),
		route(t, HTTP, "literal", 0, `{hostnames: [x.b.c], rules: [{matches: [{path: {value: /a}}], backendRefs: [{name: literal, port: 80}]}]}`),
		route(t, GRPC, "other", 9, `{rules: [{backendRefs: [{name: other, port: 80}]}]}`),
	}
	for _, tt := range []struct{ request, want string }{
		{"GET http://h/z", "anything"},
		{"GET http://h/a", "prefix"},
		{"GET http://h/a/x", "prefix"},
		{"GET http://h/ab", "anything"},
		{"GET http://h/a/b", "longer"},
		{"PUT http://h/a/b", "longer"},
		{"PUT http://h/a", "method"},
		{"PUT http://h/a?q=1 x=1", "method"},
		{"GET http://h/a?q=1", "query"},
		{"GET http://h/a?q=1 x=1", "header"},
		{"GET http://h/a x=1 w=22", "headers"},
		{"GET http://h/a x=1 w=2a", "header"},
		{"GET http://h/a x=11", "prefix"},
		{"GET http://h/re5", "regexp"},
		{"GET http://h/re55", "anything"},
		{"GET http://h/a/b/c x=1", "exact"},
		{"GET http://h/e", "exact"},
		{"GET http://H:81/a", "prefix"},
		{"GET http://y.b.c/a/b/c", "wild"},
		{"GET http://x.b.c/a", "literal"},
		{"GET http://x.b.c/z", "wild"},
	} {
		if got := Decide(routes, HTTP, request(tt.request), first).says(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.request, got, tt.want)
		}
	}
}

func TestPrecedenceOfGRPCRoutes(t *testing.T) {
	routes := []*Route{route(t, GRPC, "calls", 0, `
hostnames: [a.b]
rules:
  - {matches: [{headers: [{name: x, value: "1"}]}], backendRefs: [{name: header, port: 80}]}
  - {matches: [{method: {service: demo.Colors}}], backendRefs: [{name: service, port: 80}]}
  - {matches: [{method: {service: demo.Colors, method: Get}}], backendRefs: [{name: method, port: 80}]}
  - {matches: [{method: {service: demo.Colors, method: Get}, headers: [{name: x, value: "1"}]}], backendRefs: [{name: both, port: 80}]}
  - {matches: [{method: {type: RegularExpression, service: "demo\\..*", method: "Li.*"}}], backendRefs: [{name: regexp, port: 80}]}
`)}
	for _, tt := range []struct{ request, want string }{
		{"POST http://a.b/demo.Colors/Put", "service"},
		{"POST http://a.b/demo.Colors/Get", "method"},
		{"POST http://a.b/demo.Colors/Get x=1", "both"},
		{"POST http://a.b/other.Colors/Get x=1", "header"},
		{"POST http://a.b/demo.Shapes/List", "regexp"},
		{"POST http://a.b/demo.Shapes/Get", "not found"},
		{"POST http://c.d/demo.Colors/Get", "not found"},
	} {
		if got := Decide(routes, GRPC, request(tt.request), first).says(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.request, got, tt.want)
		}
	}
}

func TestStreams(t *testing.T) {
	parent := "parentRefs: [{name: gw, sectionName: LISTENER}]\n"
	to := func(name string) string { return "rules: [{backendRefs: [{name: " + name + ", port: 80}]}]\n" }
	routes := []*Route{
		route(t, TCP, "young", 0, strings.Replace(parent, "LISTENER", "db", 1)+to("young")),
		route(t, TCP, "old", 1, strings.Replace(parent, "LISTENER", "db", 1)+to("old")),
		route(t, TCP, "every", 0, "parentRefs: [{name: other}]\n"+to("every")),
		route(t, TLS, "wild", 1, "hostnames: [\"*.b\"]\n"+strings.Replace(parent, "LISTENER", "tls", 1)+to("wild")),
		route(t, TLS, "literal", 0, "hostnames: [a.b]\n"+strings.Replace(parent, "LISTENER", "tls", 1)+to("literal")),
	}
	for _, tt := range []struct{ gateway, listener, name, want string }{
		{"gw", "db", "", "old"},
		{"gw", "tls", "", "not found"},
		{"other", "any", "", "every"},
		{"gw", "tls", "a.b", "literal"},
		{"gw", "tls", "c.b", "wild"},
		{"gw", "tls", "c.d", "not found"},
		{"gw", "db", "a.b", "not found"},
	} {
		l := Listener{"ns", tt.gateway, tt.listener}
		d := DecideTCP(routes, l, first)
		if tt.name != "" {
			d = DecideTLS(routes, l, tt.name, first)
		}
		if got := d.says(); got != tt.want {
			t.Errorf("%s %s %s: %s, want %s", tt.gateway, tt.listener, tt.name, got, tt.want)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		backends string
		want     string // the backend, or its absence, by each draw, joined by commas
	}{
		{"[{name: a, port: 80}]", "a"},
		{"[{name: a, port: 80}, {name: b, port: 80}]", "a,b"},
		{"[{name: a, port: 80, weight: 3}, {name: b, port: 80}]", "a,a,a,b"},
		{"[{name: a, port: 80, weight: 0}, {name: b, port: 80, weight: 2}]", "b,b"},
		{"[{name: a, port: 80, weight: 0}]", "broken"},
		{"[]", "broken"},
	} {
		routes := []*Route{route(t, HTTP, "r", 0, "{rules: [{backendRefs: "+tt.backends+"}]}")}
		var got []string
		total := 1
		for n := 0; n < total; n++ {
			got = append(got, Decide(routes, HTTP, request("GET http://h/"), func(of int) int { total = of; return n }).says())
		}
		if strings.Join(got, ",") != tt.want {
			t.Errorf("%s: %v, want %s", tt.backends, got, tt.want)
		}
	}
}
