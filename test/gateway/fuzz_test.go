package gateway

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Whatever stands in a table, it is refused or served, and never ends the gateway.
func FuzzDecode(f *testing.F) {
	f.Add(matching)
	f.Add(`{http: [null, {forwardTo: {destinations: [null]}}], tcp: [{}], tls: [{matchers: [{}]}]}`)
	f.Add(`{hosts: [a], http: [{delegate: {routeTables: [{}]}}, {forwardTo: {destinations: [{ref: {name: a}, weight: 4294967295}, {ref: {name: b}}]}}]}`)
	f.Add(`{hosts: [a], http: [{matchers: [{uri: {prefix: ""}}], forwardTo: {regexRewrite: {substitution: '\9$'}, destinations: [{ref: {name: a}}]}}]}`)
	f.Fuzz(func(_ *testing.T, spec string) {
		var fields any
		if yaml.Unmarshal([]byte(spec), &fields) != nil {
			return
		}
		decoded, err := Decode(&unstructured.Unstructured{Object: map[string]any{"spec": fields}})
		if err != nil {
			return
		}
		child := decoded.Rejected("no")
		child.Hosts = nil
		tables := []*Table{decoded.Verified(services, ""), child}
		for _, host := range append(decoded.Hosts, "shop.example.com") {
			req := request("GET http://x/x/y?z=1 a=b")
			req.Host = host
			Decide(tables, req, 80, first)
			DecideTLS(tables, 443, host, first)
		}
		DecideTCP(tables, 80, first)
	})
}
