package schema

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
)

// compile reads one of the schemas as a validator does.
func compile(t *testing.T, file string) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	for file, schema := range schemas(t) {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(asText(t, schema)))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource(file, value); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// tb is what *testing.T and *rapid.T have in common here.
type tb interface {
	Helper()
	Fatal(...any)
}

// validate returns what a schema has against JSON.
func validate(t tb, schema *jsonschema.Schema, text []byte) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(value)
}

func toJSON(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// What the plugin accepts the schema accepts.
func TestBothAccept(t *testing.T) {
	const table = "routeTableSelector: {name: default}\n"
	schema := compile(t, blockFile)
	for _, tt := range []struct{ name, block string }{
		{"by name", "routeTableSelector: {name: default, namespace: gloo-mesh}"},
		{"by labels", "routeTableSelector: {labels: {app: demo, example.com/tier: ''}}"},
		{"by name, and no labels", "routeTableSelector: {name: default, labels: {}, matchExpressions: []}"},
		{"by labels, and no name", "routeTableSelector: {name: '', labels: {app: demo}}"},
		{"by expressions", "routeTableSelector: {matchExpressions: [{key: app, operator: In, values: [a, b]}, {key: app, operator: NotIn, values: [c]}, {key: b, operator: Exists}, {key: example.com/c, operator: DoesNotExist, values: []}]}"},
		{"the first release's spelling", "routeTableName: default\nrouteTableNamespace: gloo-mesh"},
		{"and only the name of it", "routeTableName: default"},
		{"routes by name", table + "routeSelector: {name: Any name}"},
		{"routes by labels", table + "routeSelector: {labels: {Any key: Any value}}"},
		{"a kind for both", table + "destinationKind: EXTERNAL_SERVICE\ndestinationNamespace: apps"},
		{"destinations with all that they may have", table + `
stable: {name: web, namespace: apps, cluster: East 1, kind: SERVICE, port: {number: 65535}, subset: {version: v1}}
canary: {name: web.next, kind: VIRTUAL_DESTINATION, port: {name: http}, subset: {}}`},
		{"subsets by hash", table + "subsetLabel: rollouts-pod-template-hash\nstable: {name: web, port: {number: 1}}"},
		{"accepted", table + "verify: Accepted"},
		{"spec", table + "verify: Spec"},
		{"off, as text", table + `verify: "Off"`},
		{"a route of the Gateway API", "httpRoute: demo\nnamespace: edge"},
		{"routes of all kinds", "httpRoutes: [{name: a, useHeaderRoutes: true}, {name: b}]\ngrpcRoute: a\ntcpRoutes: [{name: a}]\ntlsRouteSelector: {matchLabels: {app: demo}}"},
		{"tables and routes", table + "routeSelector: {name: a}\nhttpRoute: demo\nstable: {name: web, port: {number: 80}, subset: {}}"},
		{"the first release's spelling and routes", "routeTableName: default\ngrpcRouteSelector: {matchExpressions: [{key: a, operator: Exists}]}"},
		{"a label of one's own", "httpRoute: demo\ndisableInProgressLabel: false\ninProgressLabelKey: example.com/canary\ninProgressLabelValue: 'yes'\nconfigMap: notes"},
		{"off, as YAML 1.1 reads it", table + "verify: off"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			block := toJSON(t, tt.block)
			if _, err := config.Decode(block); err != nil {
				t.Errorf("the plugin refuses it: %v", err)
			}
			if err := validate(t, schema, block); err != nil {
				t.Errorf("the schema refuses it: %v", err)
			}
		})
	}
}

// What the plugin refuses the schema refuses.
func TestBothRefuse(t *testing.T) {
	const table = "routeTableSelector: {name: default}\n"
	schema := compile(t, blockFile)
	for _, tt := range []struct{ name, block string }{
		{"no fields", "default"},
		{"null", "null"},
		{"no selector", "{}"},
		{"an empty selector", "routeTableSelector: {namespace: gloo-mesh, name: '', labels: {}, matchExpressions: []}"},
		{"an unknown field", table + "routeSelecter: {name: a}"},
		{"a field in another case", table + "RouteSelector: {name: a}"},
		{"an unknown field of the selector", "routeTableSelector: {name: default, prefix: a}"},
		{"an unknown field of a route selector", table + "routeSelector: {name: a, prefix: a}"},
		{"an unknown field of a destination", table + "canary: {weight: 1}"},
		{"an unknown field of a port", table + "canary: {port: {number: 1, protocol: TCP}}"},
		{"an unknown field of an expression", "routeTableSelector: {matchExpressions: [{key: a, operator: Exists, value: b}]}"},
		{"both spellings", table + "routeTableName: other"},
		{"both spellings, with the namespace", table + "routeTableName: other\nrouteTableNamespace: other"},
		{"both spellings, only the namespace", table + "routeTableNamespace: other"},
		{"the first release's namespace alone", "routeTableNamespace: gloo-mesh"},
		{"a number for a name", "routeTableSelector: {name: 5}"},
		{"a list for labels", "routeTableSelector: {labels: [app]}"},
		{"a name that cannot be", "routeTableSelector: {name: My Table}"},
		{"a namespace that cannot be", table + "destinationNamespace: -a"},
		{"a name that is too long", table + "stable: {name: " + strings.Repeat("a", 254) + "}"},
		{"a label key that cannot be", "routeTableSelector: {labels: {-a: b}}"},
		{"a label value that cannot be", "routeTableSelector: {labels: {a: b c}}"},
		{"a label value that is too long", "routeTableSelector: {labels: {a: " + strings.Repeat("b", 64) + "}}"},
		{"an expression without a key", "routeTableSelector: {matchExpressions: [{operator: Exists}]}"},
		{"an expression without an operator", "routeTableSelector: {matchExpressions: [{key: a}]}"},
		{"an unknown operator", "routeTableSelector: {matchExpressions: [{key: a, operator: Is}]}"},
		{"in nothing", "routeTableSelector: {matchExpressions: [{key: a, operator: In, values: []}]}"},
		{"in, and no values", "routeTableSelector: {matchExpressions: [{key: a, operator: In}]}"},
		{"exists with a value", "routeTableSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}"},
		{"an empty route selector", table + "routeSelector: {}"},
		{"a route selector of empty things", table + "routeSelector: {name: '', labels: {}}"},
		{"an unknown kind", table + "destinationKind: Service"},
		{"an unknown kind of a destination", table + "stable: {kind: POD}"},
		{"a port below", table + "stable: {port: {number: 0}}"},
		{"a port above", table + "stable: {port: {number: 65536}}"},
		{"half a port", table + "stable: {port: {number: 80.5}}"},
		{"no port", table + "stable: {port: {}}"},
		{"two ports", table + "stable: {port: {number: 1, name: a}}"},
		{"a bare port", table + "stable: {port: 8080}"},
		{"a subset that cannot be", table + "stable: {subset: {version: a b}}"},
		{"a subset without a key", table + "stable: {subset: {'': a}}"},
		{"another subsetLabel", table + "subsetLabel: version\nstable: {name: web}"},
		{"subsets by hash of no Service", table + "subsetLabel: rollouts-pod-template-hash"},
		{"subsets by hash of a nameless Service", table + "subsetLabel: rollouts-pod-template-hash\nstable: {name: '', kind: SERVICE}"},
		{"subsets by hash and by label", table + "subsetLabel: rollouts-pod-template-hash\nstable: {name: web, subset: {}}"},
		{"subsets by hash and a canary", table + "subsetLabel: rollouts-pod-template-hash\nstable: {name: web}\ncanary: {}"},
		{"a nameless route", "httpRoutes: [{useHeaderRoutes: true}]"},
		{"no routes", "httpRoute: ''\nhttpRoutes: []"},
		{"a name of a route that cannot be", "tlsRoute: My Route"},
		{"a label key that cannot be put on", "httpRoute: a\ninProgressLabelKey: -a"},
		{"an empty selector of routes", "httpRouteSelector: {}"},
		{"a selector of table routes without tables", "httpRoute: a\nrouteSelector: {name: b}"},
		{"the first release's namespace and a route", "httpRoute: a\nrouteTableNamespace: gloo-mesh"},
		{"another kind for a route", "httpRoute: a\ndestinationKind: EXTERNAL_SERVICE"},
		{"another kind of stable for a route", "httpRoutes: [{name: a}]\nstable: {kind: EXTERNAL_SERVICE}"},
		{"a cluster for a route", "httpRoute: a\ncanary: {cluster: east}"},
		{"a subset for a route", "httpRoute: a\ncanary: {subset: {version: v2}}"},
		{"a port's name for a route", "httpRoute: a\ncanary: {port: {name: http}}"},
		{"subsets by hash for a route", "httpRoute: a\nsubsetLabel: rollouts-pod-template-hash\nstable: {name: web}"},
		{"an unknown verification", table + "verify: accepted"},
		{"a verification that is none", table + "verify: true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			block := toJSON(t, tt.block)
			if c, err := config.Decode(block); err == nil {
				t.Errorf("the plugin accepts it: %+v", c)
			}
			if validate(t, schema, block) == nil {
				t.Error("the schema accepts it")
			}
		})
	}
}

// Where the two differ, docs/config.md says so. The schema is the stricter one for what is given and says nothing, which few mean to
// write; and it cannot say all that the plugin demands.
func TestTheyDifferAsDocumented(t *testing.T) {
	const table = `"routeTableSelector": {"name": "default"}`
	schema := compile(t, blockFile)
	for _, tt := range []struct {
		name, block string
		plugin      bool // which accepts it; the schema does the contrary
		said        string
	}{
		{"null", "{" + table + `, "routeSelector": null}`, true, "`null`"},
		{"a kind that is empty", "{" + table + `, "destinationKind": ""}`, true, "empty text"},
		{"a verification that is empty", "{" + table + `, "verify": ""}`, true, "empty text"},
		{"a subsetLabel that is empty", "{" + table + `, "subsetLabel": ""}`, true, "empty text"},
		{"the first release's spelling, empty", "{" + table + `, "routeTableName": ""}`, true, "empty text"},
		{"port 0 beside a name", "{" + table + `, "stable": {"port": {"number": 0, "name": "http"}}}`, true, "port number 0"},
		{"a field twice", `{"routeTableSelector": {"name": "a", "name": "b"}}`, false, "given twice"},
		{"a whole number with a fraction", "{" + table + `, "stable": {"port": {"number": 80.0}}}`, false, "`80.0`"},
		{"a long prefix of a label", `{"routeTableSelector": {"labels": {"` + strings.Repeat("a", 254) + `/b": "c"}}}`, false, "253"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, fault := config.Decode([]byte(tt.block))
			objection := validate(t, schema, []byte(tt.block))
			if (fault == nil) != tt.plugin || (objection == nil) == tt.plugin {
				t.Errorf("the plugin says %v and the schema %v", fault, objection)
			}
			if !strings.Contains(editors(t), tt.said) {
				t.Errorf("docs/config.md does not tell of it: %q is missing", tt.said)
			}
		})
	}
}

// editors returns the section of docs/config.md about the schemas.
func editors(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## In an editor")
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}
