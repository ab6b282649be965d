package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
)

// Whatever is written, but for where the two are known to differ, plugin and schema say the same of it.
func TestBothSayTheSame(t *testing.T) {
	schema := compile(t, blockFile)
	rapid.Check(t, func(t *rapid.T) {
		block, err := json.Marshal(drawBlock(t))
		if err != nil {
			t.Fatal(err)
		}
		_, fault := config.Decode(block)
		if objection := validate(t, schema, block); (fault == nil) != (objection == nil) {
			t.Fatalf("%s\nthe plugin says %v\nthe schema says %v", block, fault, objection)
		}
	})
}

// fields are those of one object, with the values that may be drawn for each.
type fields map[string]values

// values are of a field: some that may stand there, as far as that does not depend on others, and some that may not. One that is
// fields itself is drawn in its turn.
type values struct{ good, bad []any }

var (
	names  = values{[]any{"default", "web.next", ""}, []any{"My Table", 5}}
	labels = values{
		[]any{map[string]any{}, map[string]any{"app": "demo"}, map[string]any{"example.com/app": ""}},
		[]any{map[string]any{"-a": "b"}, map[string]any{"a": "b c"}, map[string]any{"a": 1}, []any{"app"}},
	}
	kinds       = values{[]any{"SERVICE", "VIRTUAL_DESTINATION", "EXTERNAL_SERVICE"}, []any{"Service", true}}
	unknown     = values{bad: []any{"a"}}
	requirement = fields{
		"key":      {[]any{"app", "example.com/app"}, []any{"", "-a"}},
		"operator": {[]any{"In", "NotIn", "Exists", "DoesNotExist"}, []any{"Is"}},
		"values":   {[]any{[]any{}, []any{"a"}, []any{"a", "b"}}, []any{[]any{"b c"}, "a"}},
		"value":    unknown,
	}
	port        = fields{"number": {[]any{1, 8080}, []any{-1, 65536, 8080.5}}, "name": {[]any{"http"}, []any{1}}, "protocol": unknown}
	destination = fields{
		"name": names, "namespace": names, "cluster": {[]any{"East 1", ""}, []any{5}}, "kind": kinds, "subset": labels,
		"port": {[]any{port}, []any{8080}}, "weight": unknown,
	}
	named    = fields{"name": {[]any{"demo"}, []any{"", "My Route"}}, "useHeaderRoutes": {[]any{true, false}, []any{"yes"}}, "weight": unknown}
	selector = fields{
		"matchLabels": labels, "labels": unknown,
		"matchExpressions": {[]any{[]any{}, []any{requirement}}, []any{requirement}},
	}
	fieldsOfBlock = fields{
		"httpRoute": names, "tcpRoute": names,
		"grpcRoutes":             {[]any{[]any{}, []any{named}, []any{map[string]any{"name": "demo"}, named}}, []any{named}},
		"tlsRouteSelector":       {[]any{selector, map[string]any{"matchLabels": map[string]any{"app": "demo"}}}, []any{"app=demo"}},
		"namespace":              names,
		"disableInProgressLabel": {[]any{true, false}, []any{"yes"}},
		"inProgressLabelKey":     {[]any{"", "canary", "example.com/canary"}, []any{"-a", 5}},
		"inProgressLabelValue":   {[]any{"", "yes"}, []any{"b c", true}},
		"configMap":              {[]any{"", "Any name"}, []any{5}},
		"routeTableSelector": {[]any{fields{
			"name": names, "namespace": names, "labels": labels, "prefix": unknown,
			"matchExpressions": {[]any{[]any{}, []any{requirement}, []any{requirement, requirement}}, []any{requirement}},
		}}, []any{"default"}},
		"routeSelector": {[]any{fields{
			"name": {[]any{"Any name", ""}, []any{5}}, "labels": {[]any{map[string]any{}, map[string]any{"Any key": "Any value"}}, []any{[]any{"app"}}}, "prefix": unknown,
		}}, []any{"demo"}},
		"destinationKind":      kinds,
		"destinationNamespace": names,
		"stable":               {[]any{destination, map[string]any{"name": "web"}}, []any{"web"}},
		"canary":               {[]any{destination}, []any{"web"}},
		"subsetLabel":          {[]any{"rollouts-pod-template-hash"}, []any{"version"}},
		"verify":               {[]any{"Accepted", "Spec", "Off", false}, []any{true, "accepted"}},
		"routeTableName":       {[]any{"default"}, []any{"My Table"}},
		"routeTableNamespace":  {[]any{"gloo-mesh"}, []any{5}},
		"RouteTableName":       unknown,
	}
)

// drawBlock draws a block that mostly has what every block needs.
func drawBlock(t *rapid.T) map[string]any {
	block := drawFields(t, fieldsOfBlock)
	if _, drawn := block["routeTableSelector"]; !drawn && rapid.IntRange(0, 3).Draw(t, "no selector") > 0 {
		block["routeTableSelector"] = map[string]any{"name": "default"}
	}
	return block
}

func drawFields(t *rapid.T, from fields) map[string]any {
	drawn := map[string]any{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(from))), 0, len(from), rapid.ID).Draw(t, "fields") {
		of := from[name].good
		if rapid.IntRange(0, 19).Draw(t, "bad") == 19 {
			of = from[name].bad
		}
		if len(of) > 0 {
			drawn[name] = drawValue(t, rapid.SampledFrom(of).Draw(t, name))
		}
	}
	return drawn
}

func drawValue(t *rapid.T, value any) any {
	switch v := value.(type) {
	case fields:
		return drawFields(t, v)
	case []any:
		drawn := make([]any, len(v))
		for i := range v {
			drawn[i] = drawValue(t, v[i])
		}
		return drawn
	default:
		return v
	}
}
