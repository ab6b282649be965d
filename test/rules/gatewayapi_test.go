package rules_test

import (
	"encoding/json"
	"fmt"

	"pgregory.net/rapid"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
)

// drawRules draws the spec of a route of the Gateway API.
func drawRules(t *rapid.T) map[string]any {
	var rules []any
	for i := range rapid.IntRange(0, 6).Draw(t, "rules") {
		rules = append(rules, drawRule(t, i))
	}
	return map[string]any{
		"parentRefs": []any{map[string]any{"name": "edge"}}, "rules": rules,
		"future": map[string]any{"id": json.Number("9007199254740993"), "nothing": nil},
	}
}

func drawRule(t *rapid.T, index int) map[string]any {
	rule := map[string]any{"matches": []any{map[string]any{"path": map[string]any{"value": fmt.Sprint("/", index)}}}}
	if rapid.Bool().Draw(t, "named") {
		rule["name"] = fmt.Sprint("r", index)
	}
	if rapid.IntRange(0, 5).Draw(t, "redirects") == 0 {
		rule["filters"] = []any{map[string]any{"type": "RequestRedirect"}}
		return rule
	}
	var refs []any
	for _, name := range drawNames(t) {
		ref := map[string]any{"name": name, "port": 8080, "future": json.Number("9007199254740993")}
		if rapid.Bool().Draw(t, "given") {
			ref["weight"] = rapid.SampledFrom([]int{0, 0, 1, 5, 100, 1_000_000}).Draw(t, "weight")
		}
		refs = append(refs, ref)
	}
	rule["backendRefs"] = refs
	return rule
}

func addRule(spec map[string]any, id int) {
	rules, _ := spec["rules"].([]any)
	added := map[string]any{
		"matches": []any{map[string]any{"path": map[string]any{"value": fmt.Sprint("/", id)}}},
		"filters": []any{map[string]any{"type": "RequestRedirect"}},
	}
	spec["rules"] = append([]any{added}, rules...)
}

func eachBackendRefs(spec map[string]any, do func(holder map[string]any, field string)) {
	rules, _ := spec["rules"].([]any)
	for _, r := range rules {
		do(r.(map[string]any), "backendRefs")
	}
}

// checkRules fails for backendRefs that the Gateway API does not take (its reference, BackendRef): more than 16 in a rule, or a
// weight outside of 0..1,000,000.
func checkRules(t objects.T, o engine.Object) {
	t.Helper()
	eachBackendRefs(objects.Tree(t, o.JSON)["spec"].(map[string]any), func(rule map[string]any, field string) {
		refs, _ := rule[field].([]any)
		if len(refs) > 16 {
			t.Fatalf("%d backendRefs in\n%s", len(refs), objects.YAML(o.JSON))
		}
		for _, ref := range refs {
			weight, given := ref.(map[string]any)["weight"]
			number, isNumber := weight.(json.Number)
			n, err := number.Int64()
			if given && (!isNumber || err != nil || n < 0 || n > 1_000_000) {
				t.Fatalf("weight %v in\n%s", weight, objects.YAML(o.JSON))
			}
		}
	})
}
