package schema

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
)

// rolloutSchema makes the schema of a document that may be a Rollout, whose block it then checks under each name that the plugin
// is known by. It says nothing of other fields, nor of other kinds.
func rolloutSchema() *jsonschema.Schema {
	block := &jsonschema.Schema{}
	block.Properties = jsonschema.NewProperties()
	for _, name := range plugin.Names {
		block.Properties.Set(name, &jsonschema.Schema{Ref: blockFile})
	}
	then := block
	for _, name := range []string{"plugins", "trafficRouting", "canary", "strategy", "spec"} {
		then = with(name, then)
	}
	isRollout := with("kind", &jsonschema.Schema{Const: "Rollout"})
	isRollout.Required = []string{"kind"}
	return &jsonschema.Schema{
		Version: jsonschema.Version,
		Title:   "A Rollout with the block of the Gloo Platform plugin",
		If:      isRollout,
		Then:    then,
	}
}

// The examples are accepted, all their documents.
func TestExamplesAreAccepted(t *testing.T) {
	schema := compile(t, rolloutFile)
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rollouts := 0
	for _, file := range slices.Concat(files, more) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			if strings.Contains(document, "\nkind: Rollout\n") {
				rollouts++
			}
			if err := validate(t, schema, toJSON(t, document)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if rollouts < 7 {
		t.Errorf("%d Rollouts, want 7 or more", rollouts)
	}
}

func TestOnlyBlocksOfThePluginAreChecked(t *testing.T) {
	schema := compile(t, rolloutFile)
	const plugins = "{spec: {strategy: {canary: {trafficRouting: {plugins: {%q: {weight: 1}}}}}}, kind: %s}"
	for _, tt := range []struct {
		name, block, kind string
		accepted          bool
	}{
		{"a fault in the block", "solo-io/glooplatform", "Rollout", false},
		{"a fault in one named as in the first release", "solo-io/glooplatformAPI", "Rollout", false},
		{"another plugin's", "argoproj-labs/other", "Rollout", true},
		{"another kind", "solo-io/glooplatform", "RolloutTemplate", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := validate(t, schema, toJSON(t, fmt.Sprintf(plugins, tt.block, tt.kind))); (err == nil) != tt.accepted {
				t.Errorf("got %v, want it accepted: %t", err, tt.accepted)
			}
		})
	}
}
