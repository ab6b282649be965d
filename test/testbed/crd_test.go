package testbed

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// create applies an object with the spec, and returns it as stored.
func create(t *testing.T, s *Scope, apiVersion, kind, spec string) (*unstructured.Unstructured, error) {
	t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(spec), &fields); err != nil {
		t.Fatal(err)
	}
	obj.Object["spec"] = fields
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetNamespace(s.Namespace)
	obj.SetGenerateName("x-")
	return obj, bed.Client.Create(t.Context(), obj, client.FieldValidation("Strict"))
}

const (
	networking = "networking.gloo.solo.io/v2"
	policies   = "trafficcontrol.policy.gloo.solo.io/v2"
)

func TestCRDsAccept(t *testing.T) {
	t.Parallel()
	s := bed.For(t)
	for _, tt := range []struct{ name, apiVersion, kind, spec string }{
		{"everything", networking, "RouteTable", `
hosts: [a.example.com, "*.foo.com", "*bar.foo.com", "*-bar.foo.com", istio.io., localhost]
virtualGateways: [{name: g, namespace: ns}]
workloadSelectors: [{}, {kind: KUBE, selector: {labels: {a: b}}}]
failureMode: FREEZE_CONFIG
weight: -3
defaultDestination: {ref: {name: web, cluster: c}, kind: VIRTUAL_DESTINATION, port: {number: 65535}}
http:
  - forwardTo: {}
    labels: {route: demo, rollouts.argoproj.io/x: "", a/b: A.b-c_d}
    matchers: [{uri: {prefix: /, ignoreCase: true}, headers: [{name: a, regex: true, value: b}], queryParameters: [{name: q}], method: GET, port: 0}]
  - name: split
    unknown: {nested: [1, null, {deep: 12}]}
    forwardTo:
      pathRewrite: ""
      hostRewrite: a.b
      destinations:
        - {ref: {name: a}, subset: {}, port: {name: http}, weight: 0}
        - {ref: {name: a}, subset: {v: "2"}, weight: 250, extra: true}
        - {awsLambda: {cloudProvider: {name: p}, function: f}}
  - delegate: {routeTables: [{labels: {a: b}}], sortMethod: TABLE_WEIGHT}
  - redirect: {hostRedirect: x.y, responseCode: FOUND}
  - directResponse: {status: 404, body: gone}
  - graphql: {schema: {name: s}}
tcp: [{matchers: [{port: 65535}], forwardTo: {destinations: [{ref: {name: a}}]}}]
tls: [{matchers: [{sniHosts: [a.b], port: 443}], forwardTo: {destinations: [{ref: {name: a}}]}}]
`},
		{"a child table", networking, "RouteTable", `{http: [{forwardTo: {destinations: [{ref: {name: a}}]}}]}`},
		{"a mirror", policies, "MirrorPolicy", `{applyToRoutes: [{route: {labels: {a: b}}}], config: {percentage: 12.5, destination: {ref: {name: a}, port: {number: 80}}}}`},
		{"a gateway", networking, "VirtualGateway", `{listeners: [{http: {}, port: {number: 80}}], workloads: [{selector: {}}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			obj, err := create(t, s, tt.apiVersion, tt.kind, tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := yaml.Unmarshal([]byte(tt.spec), &want); err != nil {
				t.Fatal(err)
			}
			// as text: numbers have other types after a journey through the API server
			stored, err := yaml.Marshal(obj.Object["spec"])
			applied, err2 := yaml.Marshal(want)
			if err != nil || err2 != nil || string(stored) != string(applied) {
				t.Errorf("stored as\n%s%v %v", stored, err, err2)
			}
		})
	}
}

func TestCRDsRefuse(t *testing.T) {
	t.Parallel()
	s := bed.For(t)
	route := func(action string) string { return "{hosts: [a.b], http: [" + action + "]}" }
	to := func(destination string) string { return route("{forwardTo: {destinations: [" + destination + "]}}") }
	for _, tt := range []struct{ name, spec, want string }{
		{"no routes", `{hosts: [a.b]}`, "At least one of http, tcp, or tls"},
		{"gateways of a child", `{virtualGateways: [{name: a}], tcp: []}`, "must be empty or unset for delegated"},
		{"failureMode of a child", `{failureMode: FREEZE_CONFIG, tcp: []}`, "must be empty or unset for delegated"},
		{"full wildcard", `{hosts: ["*"], tcp: []}`, "spec.hosts[0]"},
		{"wildcard inside", `{hosts: [a.*.b], tcp: []}`, "spec.hosts[0]"},
		{"numeric top level", `{hosts: [a.12], tcp: []}`, "spec.hosts[0]"},
		{"no destination at all", route(`{forwardTo: {}}`), "defaultDestination must be set"},
		{"an empty list of destinations", route(`{forwardTo: {destinations: []}}`), "defaultDestination must be set"},
		{"a default that nothing uses", `{hosts: [a.b], defaultDestination: {ref: {name: a}}, tcp: []}`, "can only be set for http routes"},
		{"two actions", route(`{redirect: {}, directResponse: {status: 200}}`), "Exactly one of"},
		{"no action", route(`{name: a}`), "Exactly one of"},
		{"negative weight", to(`{ref: {name: a}, weight: -1}`), "weight"},
		{"fractional weight", to(`{ref: {name: a}, weight: 0.5}`), "weight"},
		{"weight as text", to(`{ref: {name: a}, weight: "5"}`), "weight"},
		{"port 0", to(`{ref: {name: a}, port: {number: 0}}`), "port.number"},
		{"port 65536", to(`{ref: {name: a}, port: {number: 65536}}`), "port.number"},
		{"port by number and name", to(`{ref: {name: a}, port: {number: 1, name: a}}`), "port"},
		{"service and function", to(`{ref: {name: a}, awsLambda: {function: f}}`), "destinations[0]"},
		{"unknown kind", to(`{ref: {name: a}, kind: POD}`), "kind"},
		{"null entry", route(`null`), "http[0]"},
		{"two path matches", route(`{matchers: [{uri: {exact: a, prefix: b}}], redirect: {}}`), "uri"},
		{"two path rewrites", `{defaultDestination: {ref: {name: a}}, hosts: [a.b], http: [{forwardTo: {pathRewrite: a, regexRewrite: {}}}]}`, "forwardTo"},
		{"label value", route(`{labels: {a: "b c"}, redirect: {}}`), "labels"},
		{"status 99", route(`{directResponse: {status: 99}}`), "status"},
		{"101 destinations", to(strings.Repeat(`{ref: {name: a}},`, 101)), "at most 100"},
		{"tcp without destination", `{hosts: [a.b], tcp: [{forwardTo: {destinations: []}}]}`, "tcp[0]"},
		{"tcp with a rewrite", `{hosts: [a.b], tcp: [{forwardTo: {hostRewrite: a, destinations: [{ref: {name: a}}]}}]}`, "tcp[0]"},
		{"tls without a server name", `{hosts: [a.b], tls: [{matchers: [{port: 1}], forwardTo: {destinations: [{ref: {name: a}}]}}]}`, "sniHosts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := create(t, s, networking, "RouteTable", tt.spec)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	_, err := create(t, s, policies, "MirrorPolicy", `{config: {percentage: 101}}`)
	if err == nil || !strings.Contains(err.Error(), "percentage") {
		t.Errorf("a percentage of 101: %v", err)
	}
}

func TestCRDTakesLargeTables(t *testing.T) {
	t.Parallel()
	s := bed.For(t)
	var spec strings.Builder
	spec.WriteString("{hosts: [a.b], http: [")
	for i := range 3000 {
		fmt.Fprintf(&spec, `{name: r%d, labels: {a/b: c}, matchers: [{uri: {prefix: /r%d}, headers: [{name: x}]}],
			forwardTo: {destinations: [{ref: {name: a}, port: {number: 80}, weight: 60}, {ref: {name: b}, weight: 40}]}},`, i, i)
	}
	spec.WriteString("]}")
	if _, err := create(t, s, networking, "RouteTable", spec.String()); err != nil {
		t.Error(err)
	}
}

func TestStatusIsASubresource(t *testing.T) {
	t.Parallel()
	s := bed.For(t)
	obj, err := create(t, s, networking, "RouteTable", `{http: [{redirect: {}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, generation := range []any{"1", int64(1)} {
		state := map[string]any{"observedGeneration": generation, "approval": "ACCEPTED", "new": true}
		obj.Object["status"] = map[string]any{"common": map[string]any{"State": state}}
		if err := bed.Client.Status().Update(context.Background(), obj); err != nil {
			t.Fatal(err)
		}
		if got, _, err := unstructured.NestedFieldNoCopy(obj.Object, "status", "common", "State", "observedGeneration"); err != nil || got != generation {
			t.Errorf("observedGeneration %v is stored as %v, %v", generation, got, err)
		}
	}
	if obj.GetGeneration() != 1 {
		t.Errorf("writing the status makes generation %d", obj.GetGeneration())
	}
}
