package gateway

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// object makes a RouteTable named apps/NAME of the YAML of its spec.
func object(t testing.TB, name, spec string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(spec), &fields); err != nil {
		t.Fatal(err)
	}
	obj.Object["spec"] = fields
	obj.SetNamespace("apps")
	obj.SetName(name)
	return obj
}

// table decodes what object makes.
func table(t testing.TB, name, spec string) *Table {
	t.Helper()
	table, err := Decode(object(t, name, spec))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestDecodeFindsFaults(t *testing.T) {
	for _, tt := range []struct{ name, spec, want string }{
		{"sound", `{http: [{name: a, forwardTo: {destinations: [{ref: {name: web}}]}}]}`, ""},
		{"unknown fields are passed over", `{future: {x: null}, http: [{forwardTo: {destinations: [{ref: {name: web}, new: 1}]}}]}`, ""},
		{"a weight in quotes is how protobuf may spell it", `{http: [{forwardTo: {destinations: [{ref: {name: web}, weight: "7"}]}}]}`, ""},
		{"default destination", `{defaultDestination: {ref: {name: web}}, http: [{forwardTo: {}}]}`, ""},
		{"no destination", `{http: [{forwardTo: {}}]}`, `http[0]: no destination, and the table has no defaultDestination`},
		{"no action", `{http: [{name: a}]}`, `http[0] "a": the route has no action`},
		{"no name of a destination", `{http: [{forwardTo: {destinations: [{weight: 1}]}}]}`, `http[0]: destinations[0] has no ref.name`},
		{"sum of 30", `{http: [{forwardTo: {destinations: [{ref: {name: a}, weight: 10}, {ref: {name: b}, weight: 20}]}}]}`,
			`http[0]: weights sum to 30, not 100`},
		{"sum of 250", `{tcp: [{forwardTo: {destinations: [{ref: {name: a}, weight: 150}, {ref: {name: b}, weight: 100}]}}]}`,
			`tcp[0]: weights sum to 250, more than 100`},
		{"two faults", `{http: [{}], tls: [{}]}`, `http[0]: the route has no action; ` +
			`tls[0]: no destination, and the table has no defaultDestination`},
		{"broken expression", `{http: [{matchers: [{uri: {regex: "("}}], forwardTo: {destinations: [{ref: {name: a}}]}}]}`,
			"http[0]: matchers[0]: uri: error parsing regexp: missing closing ): `^(?s:()$`"},
		{"prefix of a regex cannot be rewritten", `{http: [{matchers: [{uri: {regex: "/.*"}}],
			forwardTo: {pathRewrite: /x, destinations: [{ref: {name: a}}]}}]}`,
			`http[0]: pathRewrite is supported for exact and prefix matchers only`},
		{"nameless header", `{http: [{matchers: [{headers: [{value: a}]}], forwardTo: {}}]}`, `http[0]: matchers[0]: headers[0]: no name`},
		{"nameless parameter", `{http: [{matchers: [{queryParameters: [{value: a}]}], forwardTo: {}}]}`,
			`http[0]: matchers[0]: queryParameters[0]: no name`},
		{"graphql", `{http: [{graphql: {}}]}`, `http[0]: graphql is not supported by this stand-in`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := table(t, "t", tt.spec).Faults(); got != tt.want {
				t.Errorf("faults %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, tt := range []struct{ name, spec string }{
		{"null entry", `{http: [null]}`},
		{"negative weight", `{http: [{forwardTo: {destinations: [{ref: {name: web}, weight: -1}]}}]}`},
		{"weight in words", `{http: [{forwardTo: {destinations: [{ref: {name: web}, weight: half}]}}]}`},
		{"unknown kind", `{http: [{forwardTo: {destinations: [{ref: {name: web}, kind: POD}]}}]}`},
		{"two actions", `{http: [{forwardTo: {}, redirect: {}}]}`},
		{"not a list", `{http: {forwardTo: {}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if table, err := Decode(object(t, "t", tt.spec)); err == nil {
				t.Errorf("decoded as %+v", table)
			}
		})
	}
	t.Run("no spec", func(t *testing.T) {
		if _, err := Decode(&unstructured.Unstructured{Object: map[string]any{}}); err == nil {
			t.Error("decoded an object without a spec")
		}
	})
}
