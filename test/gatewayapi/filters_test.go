package gatewayapi

import (
	"fmt"
	"strings"
	"testing"
)

func TestFilters(t *testing.T) {
	for _, tt := range []struct{ name, path, filter, request, want string }{
		{"headers", "/", "{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x, value: s}], add: [{name: w, value: a}], remove: [z]}}",
			"GET http://h/p x=1 w=1 z=1", "h/p map[W:[1 a] X:[s]]"},
		{"full path", "/", "{type: URLRewrite, urlRewrite: {hostname: b.c, path: {type: ReplaceFullPath, replaceFullPath: /q}}}",
			"GET http://h/p?a=1", "b.c/q?a=1 map[]"},
		{"prefix", "/p", "{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /q/}}}",
			"GET http://h/p/r", "h/q/r map[]"},
		{"prefix alone", "/p", "{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}",
			"GET http://h/p", "h/ map[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			routes := []*Route{route(t, HTTP, "r", 0, "{rules: [{matches: [{path: {value: "+tt.path+"}}], filters: ["+tt.filter+"], backendRefs: [{name: a, port: 80}]}]}")}
			req := Decide(routes, HTTP, request(tt.request), first).Request
			if got := fmt.Sprint(req.Host+req.URL.RequestURI(), " ", req.Header); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestRedirect(t *testing.T) {
	routes := []*Route{route(t, HTTP, "r", 0, `{rules: [{filters: [{type: RequestRedirect, requestRedirect: {hostname: b.c, statusCode: 301}}]}]}`)}
	d := Decide(routes, HTTP, request("GET http://h/p"), first)
	if d.says() != "redirected" || d.Status != 301 || d.Location != "http://b.c/p" {
		t.Errorf("%s to %s with %d", d.says(), d.Location, d.Status)
	}
}

func TestUnknownFilterBreaksItsRule(t *testing.T) {
	routes := []*Route{route(t, HTTP, "r", 0, `{rules: [{filters: [{type: ExtensionRef}], backendRefs: [{name: a, port: 80}]}]}`)}
	d := Decide(routes, HTTP, request("GET http://h/p"), first)
	if d.says() != "broken" || !strings.Contains(d.Message, "ExtensionRef") {
		t.Errorf("%s: %s", d.says(), d.Message)
	}
}

func TestMirrors(t *testing.T) {
	for _, tt := range []struct {
		part string
		want int // copies, of all draws
		of   int
	}{
		{"", 100, 100}, {"percent: 35,", 35, 100}, {"percent: 0,", 0, 100}, {"fraction: {numerator: 1, denominator: 8},", 1, 8}, {"fraction: {numerator: 9},", 9, 100},
	} {
		routes := []*Route{route(t, HTTP, "r", 0, "{rules: [{filters: [{type: RequestMirror, requestMirror: {"+tt.part+" backendRef: {name: b, port: 80}}}], backendRefs: [{name: a, port: 80}]}]}")}
		copies := 0
		for n := range tt.of {
			d := Decide(routes, HTTP, request("GET http://h/"), func(of int) int { return min(n, of-1) })
			copies += len(d.Mirrors)
		}
		if copies != tt.want {
			t.Errorf("%q: %d copies of %d, want %d", tt.part, copies, tt.of, tt.want)
		}
	}
}
