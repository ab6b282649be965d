package config_test

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
)

func decode(t *testing.T, block string) (*config.Config, error) {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(block))
	if err != nil {
		t.Fatal(err)
	}
	return config.Decode(raw)
}

func TestDecode(t *testing.T) {
	byName := &config.RouteTableSelector{Name: "default", Namespace: "gloo-mesh"}
	for _, tt := range []struct {
		name, block string
		want        config.Config
	}{
		{"by name", `
routeTableSelector: {name: default, namespace: gloo-mesh}
`, config.Config{RouteTableSelector: byName}},
		{"the first release's keys", `
routeTableName: default
routeTableNamespace: gloo-mesh
`, config.Config{RouteTableSelector: byName}},
		{"by labels and expressions", `
routeTableSelector:
  labels: {app: demo}
  matchExpressions: [{key: env, operator: In, values: [a, b]}]
`, config.Config{RouteTableSelector: &config.RouteTableSelector{
			Labels:           map[string]string{"app": "demo"},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "env", Operator: "In", Values: []string{"a", "b"}}},
		}}},
		{"off, without the quotes that YAML asks for", `
routeTableSelector: {name: default, namespace: gloo-mesh}
verify: Off
`, config.Config{RouteTableSelector: byName, Verify: config.VerifyOff}},
		{"routes of the Gateway API", `
httpRoute: front
httpRoutes: [{name: back, useHeaderRoutes: true}, {name: side}]
grpcRouteSelector: {matchLabels: {app: demo}}
namespace: edge
disableInProgressLabel: true
inProgressLabelKey: example.com/canary
inProgressLabelValue: "yes"
configMap: notes
`, config.Config{
			HTTPRoute:         "front",
			HTTPRoutes:        []config.NamedRoute{{Name: "back", UseHeaderRoutes: true}, {Name: "side"}},
			GRPCRouteSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "demo"}},
			Namespace:         "edge", DisableInProgressLabel: true, InProgressLabelKey: "example.com/canary", InProgressLabelValue: "yes",
			ConfigMap: "notes",
		}},
		{"everything else", `
routeTableSelector: {name: default, namespace: gloo-mesh}
routeSelector: {name: demo, labels: {route: demo}}
destinationKind: VIRTUAL_DESTINATION
destinationNamespace: apps
stable: {name: web, namespace: apps, cluster: east, kind: SERVICE, port: {number: 8080}, subset: {version: v1}}
canary: {name: web, port: {name: http}, subset: {}}
verify: Spec
`, config.Config{
			RouteTableSelector:   byName,
			RouteSelector:        &config.RouteSelector{Name: "demo", Labels: map[string]string{"route": "demo"}},
			DestinationKind:      config.KindVirtualDestination,
			DestinationNamespace: "apps",
			Stable: &config.Destination{
				Name: "web", Namespace: "apps", Cluster: "east", Kind: config.KindService,
				Port: &config.Port{Number: 8080}, Subset: map[string]string{"version": "v1"},
			},
			Verify: config.VerifySpec,
			Canary: &config.Destination{Name: "web", Port: &config.Port{Name: "http"}, Subset: map[string]string{}},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := decode(t, tt.block)
			if err != nil || !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, tt.want)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	const table = "routeTableSelector: {name: default}\n"
	for _, tt := range []struct{ name, block, want string }{
		{"a near miss", "routeTableSelecter: {name: default}",
			"routeTableSelecter: unknown field; did you mean routeTableSelector?; " +
				"routeTableSelector: missing; it says which RouteTables are concerned, by name or by labels; for routes of the Gateway API set httpRoute, grpcRoute, tcpRoute or tlsRoute"},
		{"a near miss inside", table + "stable: {nmae: web}",
			"stable.nmae: unknown field; did you mean name?"},
		{"wrong case", table + "routeselector: {name: a}",
			"routeselector: unknown field; did you mean routeSelector?"},
		{"a near miss in a list", "routeTableSelector: {matchExpressions: [{kye: a, operator: Exists}]}",
			`routeTableSelector.matchExpressions[0].kye: unknown field; did you mean key?; ` +
				`routeTableSelector: labels and matchExpressions are no selector: key: Invalid value: "": name part must be non-empty; name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`},
		{"a dotted path for a field", "routeTableSelector: {labels.app: demo}\nstable: {name.x: 1}",
			"routeTableSelector.labels.app: unknown field; known here are labels, matchExpressions, name, namespace; " +
				"stable.name.x: unknown field; known here are cluster, kind, name, namespace, port, subset; " +
				"routeTableSelector: empty; set name, labels or matchExpressions"},
		{"nothing like it", table + "routeSelector: {prefix: a}",
			"routeSelector.prefix: unknown field; known here are labels, name; " +
				"routeSelector: empty; set name or labels, or leave it out to take every route that forwards to stable"},
		{"no selector", "{}",
			"routeTableSelector: missing; it says which RouteTables are concerned, by name or by labels; for routes of the Gateway API set httpRoute, grpcRoute, tcpRoute or tlsRoute"},
		{"empty selectors", "routeTableSelector: {namespace: a}\nrouteSelector: {}",
			"routeTableSelector: empty; set name, labels or matchExpressions; " +
				"routeSelector: empty; set name or labels, or leave it out to take every route that forwards to stable"},
		{"both spellings", table + "routeTableName: other",
			"routeTableName, routeTableNamespace: the first release's spelling; routeTableSelector is set as well, so leave them out"},
		{"a list for labels", "routeTableSelector: {labels: [app]}",
			"routeTableSelector.labels: found an array, want a map"},
		{"a number for a name", "routeTableSelector: {name: 5}",
			"routeTableSelector.name: found a number, want a string"},
		{"a string for all", `"default"`,
			"found a string where fields were expected"},
		{"an unknown kind", table + "destinationKind: Service\ncanary: {kind: POD}",
			`destinationKind: found "Service", want one of SERVICE, VIRTUAL_DESTINATION, EXTERNAL_SERVICE; ` +
				`canary.kind: found "POD", want one of SERVICE, VIRTUAL_DESTINATION, EXTERNAL_SERVICE`},
		{"an unknown verification", table + "verify: accepted",
			`verify: found "accepted", want one of Accepted, Spec, Off`},
		{"a verification that is none", table + "verify: 5", "verify: found 5, want one of Accepted, Spec, Off"},
		{"subsets by hash of no Service", table + "subsetLabel: pod hash\nstable: {subset: {a: b}}\ncanary: {name: web}",
			`subsetLabel: found "pod hash", want rollouts-pod-template-hash: it is the one that Argo Rollouts puts on pods; subsetLabel: the two versions share one Service; name it in stable.name; ` +
				"stable.subset: subsetLabel adds the pod hash to what the table has; leave subset out; canary: with subsetLabel it is the same Service as stable; leave it out"},
		{"an unknown operator", "routeTableSelector: {matchExpressions: [{key: a, operator: Is}]}",
			`routeTableSelector: labels and matchExpressions are no selector: "Is" is not a valid label selector operator`},
		{"a name that cannot be", table + "stable: {name: My Web}",
			`stable.name: "My Web" is not a name that a Kubernetes object can have`},
		{"a subset that cannot be", table + "stable: {subset: {version: a b}}",
			`stable.subset: "version": "a b" is not a label that a pod can have`},
		{"a port that is none", table + "stable: {port: {number: 0}}\ncanary: {port: {number: 65536}}",
			"stable.port: want number, from 1 to 65535, or name; canary.port: want number, from 1 to 65535, or name"},
		{"two ports", table + "stable: {port: {number: 1, name: a}}",
			"stable.port: want number, from 1 to 65535, or name"},
		{"a near miss of a route", "httpRoutes: [{nmae: a}]\nhttproutez: a",
			"httpRoutes[0].nmae: unknown field; did you mean name?; httproutez: unknown field; did you mean httpRoute?; httpRoutes[0].name: missing"},
		{"a list of names", "httpRoutes: [a]",
			"httpRoutes: found a string, want the fields name, useHeaderRoutes"},
		{"empty selectors of routes", "httpRouteSelector: {}\ntlsRouteSelector: {matchExpressions: [{key: a, operator: Is}]}",
			`httpRouteSelector: empty; set matchLabels or matchExpressions; tlsRouteSelector: it is no selector: "Is" is not a valid label selector operator`},
		{"names of routes that cannot be", "httpRoute: My Route\ngrpcRoutes: [{name: -a}]\nnamespace: B",
			`httpRoute: "My Route" is not a name that a Kubernetes object can have; grpcRoutes[0].name: "-a" is not a name that a Kubernetes object can have; ` +
				`namespace: "B" is not a name that a Kubernetes object can have`},
		{"a label that cannot be", "httpRoute: a\ninProgressLabelKey: -a\ninProgressLabelValue: b c",
			`inProgressLabelKey: "-a" is not a key that a label can have; inProgressLabelValue: "b c" is not a value that a label can have`},
		{"a selector of table routes without tables", "httpRoute: a\nrouteSelector: {name: b}",
			"routeSelector: it narrows RouteTables, and none is selected; leave it out"},
		{"what backends cannot say", table + "tcpRoute: a\ndestinationKind: EXTERNAL_SERVICE\nsubsetLabel: rollouts-pod-template-hash\nstable: {name: web, cluster: east, port: {name: http}}",
			"destinationKind: routes of the Gateway API forward to Services of the Rollout's namespace, and know no other kinds; leave it out, or the routes; " +
				"subsetLabel: routes of the Gateway API forward to Services of the Rollout's namespace, and know no subsets; leave it out, or the routes; " +
				"stable.cluster: routes of the Gateway API forward to Services of the Rollout's namespace, and know no clusters; leave it out, or the routes; " +
				"stable.port.name: routes of the Gateway API forward to Services of the Rollout's namespace, and know no names of ports; leave it out, or the routes"},
		{"a bare port", table + "stable: {port: 8080}",
			"stable.port: found a number, want the fields name, number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := decode(t, tt.block)
			if err == nil {
				t.Fatalf("accepted as %+v", got)
			}
			if err.Error() != tt.want {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
		})
	}
}

func TestDecodeRefusesDuplicates(t *testing.T) { // YAML cannot say this, JSON can
	_, err := config.Decode([]byte(`{"routeTableSelector":{"name":"a","name":"b"}}`))
	if want := "routeTableSelector.name: given twice"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestGatewayRoutes(t *testing.T) {
	c, err := decode(t, `
tcpRoutes: [{name: b}, {name: a}, {name: b}]
httpRoutes: [{name: c}, {name: d}, {name: d, useHeaderRoutes: true}]
httpRoute: c
tlsRouteSelector: {matchLabels: {app: demo}}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []config.GatewayRoutes{
		{Kind: "HTTPRoute", Named: []config.NamedRoute{{Name: "c", UseHeaderRoutes: true}, {Name: "d", UseHeaderRoutes: true}}, Field: "httpRouteSelector"},
		{Kind: "TCPRoute", Named: []config.NamedRoute{{Name: "b"}, {Name: "a"}}, Field: "tcpRouteSelector"},
		{Kind: "TLSRoute", Field: "tlsRouteSelector", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "demo"}}},
	}
	if got := c.GatewayRoutes(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"routeTableSelector":{"name":"a"}}`, `{"stable":{"port":{"number":1}}}`, `[]`, `null`, `{"a":{"b":[{}]}}`,
		`{"routeTableSelector":{"matchExpressions":[{"key":"a","operator":"In"}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		c, err := config.Decode(block)
		if (c == nil) == (err == nil) {
			t.Errorf("Decode(%q) = %v, %v: want one of both", block, c, err)
		}
		if err != nil && err.Error() == "" {
			t.Errorf("Decode(%q): an error without a text", block)
		}
	})
}
