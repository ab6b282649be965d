// Package objects reads, patches and prints objects of routing APIs as the API server would, for tests of plans.
package objects

import (
	"bytes"
	"encoding/json"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// T is what *testing.T and *rapid.T have in common here.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Read reads an object from YAML.
func Read(t T, text string) engine.Object {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return FromJSON(t, raw)
}

// FromJSON reads an object beside which there are no policies. It is of no known version, so that every plan on it is made.
func FromJSON(t T, raw []byte) engine.Object {
	t.Helper()
	o, err := engine.ReadObject(raw)
	if err != nil {
		t.Fatalf("%v in\n%s", err, raw)
	}
	o.UID, o.ResourceVersion, o.Generation, o.PoliciesKnown = "", "", 0, true
	return o
}

// Patched returns the object as the API server would keep it after the patch.
func Patched(t T, o engine.Object, patch []engine.Operation) engine.Object {
	t.Helper()
	if len(patch) == 0 {
		return o
	}
	data, err := json.Marshal(patch)
	if err != nil {
		t.Fatalf("%v", err)
	}
	decoded, err := jsonpatch.DecodePatch(data)
	if err != nil {
		t.Fatalf("%v", err)
	}
	raw, err := decoded.Apply(o.JSON)
	if err != nil {
		t.Fatalf("%v: %s on\n%s", err, data, YAML(o.JSON))
	}
	return FromJSON(t, raw)
}

// Tree decodes JSON, keeping numbers as they are written.
func Tree(t T, raw []byte) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var tree map[string]any
	if err := decoder.Decode(&tree); err != nil {
		t.Fatalf("%v", err)
	}
	return tree
}

// OfTree is the reverse of Tree, and reads the object.
func OfTree(t T, tree map[string]any) engine.Object {
	t.Helper()
	raw, err := json.Marshal(tree)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return FromJSON(t, raw)
}

// YAML prints JSON for a person.
func YAML(raw []byte) string {
	text, err := yaml.JSONToYAML(raw)
	if err != nil {
		return string(raw)
	}
	return string(text)
}

// Same reports whether two JSON texts hold equal values.
func Same(a, b []byte) bool { return jsonpatch.Equal(a, b) }

// Spec prints an object's spec alone.
func Spec(t T, o engine.Object) string {
	t.Helper()
	var whole struct {
		Spec json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(o.JSON, &whole); err != nil {
		t.Fatalf("%v", err)
	}
	return YAML(whole.Spec)
}
