package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// first is a draw that always picks the first destination with a part.
func first(int) int { return 0 }

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

// The names of the routes are those of their destinations, so that a row says which of them answers.
const matching = `
hosts: [shop.example.com]
http:
  - matchers:
      - {uri: {exact: /exact}}
      - {uri: {prefix: /either}, method: POST}
    forwardTo: {destinations: [{ref: {name: alternatives}}]}
  - matchers:
      - uri: {prefix: /all}
        method: PUT
        port: 8080
        headers: [{name: x-user, value: ann}, {name: x-trace}]
        queryParameters: [{name: page, value: "2"}]
    forwardTo: {destinations: [{ref: {name: conditions}}]}
  - matchers: [{uri: {regex: "/re/[0-9]+"}}]
    forwardTo: {destinations: [{ref: {name: regex}}]}
  - matchers: [{uri: {suffix: .PNG, ignoreCase: true}}]
    forwardTo: {destinations: [{ref: {name: suffix}}]}
  - matchers: [{uri: {prefix: /header}, headers: [{name: x-v, value: "a|b+", regex: true}]}]
    forwardTo: {destinations: [{ref: {name: headerregex}}]}
  - matchers: [{uri: {prefix: /header}, headers: [{name: x-v, value: "c", invertMatch: true}, {name: x-bot, invertMatch: true}]}]
    forwardTo: {destinations: [{ref: {name: inverted}}]}
  - matchers: [{uri: {prefix: /query}, queryParameters: [{name: q, value: "[a-c]*", regex: true}, {name: there}]}]
    forwardTo: {destinations: [{ref: {name: query}}]}
  - matchers: [{uri: {prefix: /moved}}]
    redirect: {hostRedirect: new.example.com, pathRedirect: /here, responseCode: SEE_OTHER}
  - matchers: [{uri: {prefix: /teapot}}]
    directResponse: {status: 418, body: short and stout}
  - matchers: [{uri: {prefix: /bad}}]
    forwardTo: {}
  - matchers: [{uri: {prefix: /rest}}]
    forwardTo: {destinations: [{ref: {name: rest}}]}
  - matchers: [{uri: {prefix: /rest}}]
    forwardTo: {destinations: [{ref: {name: never}}]}
`

func TestMatching(t *testing.T) {
	tables := []*Table{table(t, "t", matching)}
	for _, tt := range []struct {
		request, want string
		port          uint32
	}{
		{"GET http://shop.example.com/exact", "alternatives", 80},
		{"GET http://SHOP.example.com:81/exact?x=1", "alternatives", 80},
		{"GET http://shop.example.com/exact/more", "not found", 80},
		{"POST http://shop.example.com/either/way", "alternatives", 80},
		{"GET http://shop.example.com/either/way", "not found", 80},
		{"PUT http://shop.example.com/all?page=2 x-user=ann x-trace=1", "conditions", 8080},
		{"PUT http://shop.example.com/all?page=2 x-user=ann x-trace=1", "not found", 80},
		{"GET http://shop.example.com/all?page=2 x-user=ann x-trace=1", "not found", 8080},
		{"PUT http://shop.example.com/all?page=3 x-user=ann x-trace=1", "not found", 8080},
		{"PUT http://shop.example.com/all?page=2 x-user=ann", "not found", 8080},
		{"PUT http://shop.example.com/all?page=2 x-user=anna x-trace=1", "not found", 8080},
		{"GET http://shop.example.com/re/42", "regex", 80},
		{"GET http://shop.example.com/re/42x", "not found", 80},
		{"GET http://shop.example.com/x/y.png", "suffix", 80},
		{"GET http://shop.example.com/header X-V=bb x-bot=1", "headerregex", 80},
		{"GET http://shop.example.com/header x-v=ab", "inverted", 80},
		{"GET http://shop.example.com/header", "inverted", 80},
		{"GET http://shop.example.com/header x-v=c", "not found", 80},
		{"GET http://shop.example.com/header x-bot=1", "not found", 80},
		{"GET http://shop.example.com/query?q=abc&there", "query", 80},
		{"GET http://shop.example.com/query?q=abd&there", "not found", 80},
		{"GET http://shop.example.com/query?q=abc", "not found", 80},
		{"GET http://shop.example.com/moved?a=b", "redirected", 80},
		{"GET http://shop.example.com/teapot", "answered", 80},
		{"GET http://shop.example.com/bad", "broken", 80},
		{"GET http://shop.example.com/rest", "rest", 80},
		{"GET http://other.example.com/rest", "not found", 80},
	} {
		t.Run(tt.request, func(t *testing.T) {
			d := Decide(tables, request(tt.request), tt.port, first)
			got := d.Destination.Name
			if d.Outcome != Forwarded {
				got = string(d.Outcome)
			}
			if got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
	d := Decide(tables, request("GET http://shop.example.com/moved?a=b"), 80, first)
	if d.Status != http.StatusSeeOther || d.Location != "http://new.example.com/here?a=b" {
		t.Errorf("redirect: %d to %s", d.Status, d.Location)
	}
	d = Decide(tables, request("GET http://shop.example.com/teapot"), 80, first)
	if d.Status != http.StatusTeapot || d.Body != "short and stout" {
		t.Errorf("direct response: %d %q", d.Status, d.Body)
	}
}

func TestRewriting(t *testing.T) {
	tables := []*Table{table(t, "t", `
hosts: ["*.example.com"]
http:
  - matchers: [{uri: {prefix: /old/}}, {uri: {exact: /one}}]
    forwardTo: {pathRewrite: /new/, hostRewrite: inner.example.com, destinations: [{ref: {name: a}}]}
  - matchers: [{uri: {prefix: /users}}]
    forwardTo:
      regexRewrite: {pattern: {regex: "^/users/([^/]+)/(.*)$"}, substitution: '/$\2/of/\1'}
      autoHostRewrite: true
      destinations: [{ref: {name: b, namespace: ns}}]
  - forwardTo: {pathRewrite: /root/, destinations: [{ref: {name: c}, kind: EXTERNAL_SERVICE}]}
`)}
	for _, tt := range []struct{ path, wantHost, wantPath string }{
		{"/old/x/y?z=1", "inner.example.com", "/new/x/y?z=1"},
		{"/one?z=1", "inner.example.com", "/new/?z=1"},
		{"/users/ann/cart/2", "b.ns.svc.cluster.local", "/$cart/2/of/ann"},
		{"/other", "x.example.com", "/root/other"},
	} {
		t.Run(tt.path, func(t *testing.T) {
			req := request("GET http://x.example.com" + tt.path)
			d := Decide(tables, req, 80, first)
			if d.Request.Host != tt.wantHost || d.Request.URL.RequestURI() != tt.wantPath {
				t.Errorf("%s %s, want %s %s", d.Request.Host, d.Request.URL.RequestURI(), tt.wantHost, tt.wantPath)
			}
			if req.URL.RequestURI() != tt.path {
				t.Errorf("the request itself became %s", req.URL.RequestURI())
			}
		})
	}
}

func TestHosts(t *testing.T) {
	spec := func(host string) string {
		return "{hosts: ['" + host + "'], http: [{forwardTo: {destinations: [{ref: {name: x}}]}}]}"
	}
	tables := []*Table{
		table(t, "all", spec("*")),
		table(t, "com", spec("*.com")),
		table(t, "wild", spec("*.example.com")),
		table(t, "exact", spec("a.example.com")),
		table(t, "child", "{http: [{forwardTo: {destinations: [{ref: {name: x}}]}}]}"),
	}
	for host, want := range map[string]string{
		"a.example.com":    "exact",
		"A.EXAMPLE.com.":   "exact",
		"b.example.com":    "wild",
		"c.b.example.com":  "wild",
		"example.com":      "com",
		"localhost":        "all",
		"a.example.com:81": "exact",
	} {
		req := request("GET http://x/")
		req.Host = host
		if d := Decide(tables, req, 80, first); d.Table == nil || d.Table.Name != want {
			t.Errorf("%s: table %v, want %s", host, d.Table, want)
		}
	}
}

func TestOldestTableOfAHostComesFirst(t *testing.T) {
	spec := func(prefix string) string {
		return "{hosts: [a], http: [{matchers: [{uri: {prefix: " + prefix + "}}], forwardTo: {destinations: [{ref: {name: x}}]}}]}"
	}
	younger, older := table(t, "younger", spec("/")), table(t, "zolder", spec("/x"))
	younger.Created = time.Unix(2, 0)
	older.Created = time.Unix(1, 0)
	tables := []*Table{younger, older}
	for path, want := range map[string]string{"/x": "zolder", "/y": "younger"} {
		if d := Decide(tables, request("GET http://a"+path), 80, first); d.Table.Name != want {
			t.Errorf("%s: table %s, want %s", path, d.Table.Name, want)
		}
	}
}

func TestDelegation(t *testing.T) {
	parent := table(t, "parent", `
hosts: [a]
http:
  - matchers: [{uri: {prefix: /team}}]
    delegate: {routeTables: [{name: roots}, {labels: {team: one}}, {name: named, namespace: apps}]}
  - matchers: [{uri: {prefix: /circle}}]
    delegate: {routeTables: [{name: circle}]}
  - forwardTo: {destinations: [{ref: {name: fallback}}]}
`)
	child := func(name, labels string, weight int32, spec string) *Table {
		c := table(t, name, spec)
		c.Weight = weight
		if labels != "" {
			c.Labels = map[string]string{"team": labels}
		}
		return c
	}
	tables := []*Table{
		parent,
		child("light", "one", 1, `{http: [{matchers: [{uri: {prefix: /team/x}}], forwardTo: {destinations: [{ref: {name: light}}]}}]}`),
		child("heavy", "one", 9, `{http: [{matchers: [{uri: {prefix: /team/x/heavy}}], forwardTo: {destinations: [{ref: {name: heavy}}]}}]}`),
		child("named", "", 0, `{http: [{matchers: [{headers: [{name: go}]}], forwardTo: {pathRewrite: "", destinations: [{ref: {name: named}}]}}]}`),
		table(t, "roots", `{hosts: [b], http: [{forwardTo: {destinations: [{ref: {name: roots}}]}}]}`),
		child("other", "two", 9, `{http: [{forwardTo: {destinations: [{ref: {name: other}}]}}]}`),
		child("circle", "", 0, `{http: [{delegate: {routeTables: [{name: circle}]}}]}`),
	}
	for line, want := range map[string]string{
		"GET http://a/team/x/heavy": "heavy",
		"GET http://a/team/x":       "light",
		"GET http://a/team/y go=1":  "named",
		"GET http://a/team/y":       "fallback",
		"GET http://a/else go=1":    "fallback",
	} {
		if d := Decide(tables, request(line), 80, first); d.Destination.Name != want {
			t.Errorf("%s: %s, want %s", line, d.Destination.Name, want)
		}
	}
	d := Decide(tables, request("GET http://a/team/y go=1"), 80, first)
	if got := d.Request.URL.Path; got != "/y" {
		t.Errorf("a child without a path rewrites what its parent matched: %s, want /y", got)
	}
	if d := Decide(tables, request("GET http://a/circle"), 80, first); d.Outcome != Broken {
		t.Errorf("a circle of delegates: %s", d.Outcome)
	}
}
