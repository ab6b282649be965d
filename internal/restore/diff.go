package restore

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/preview"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// Diff returns what putting an object at rest changes, as a unified diff of the object and one of each policy that goes.
func Diff(rest engine.Rest) (string, error) {
	before, err := preview.YAML(rest.Observed.JSON)
	if err != nil {
		return "", fmt.Errorf("%s: %w", rest.Object(), err)
	}
	patched, err := patched(rest)
	if err != nil {
		return "", fmt.Errorf("%s: %w", rest.Object(), err)
	}
	after, err := preview.YAML(patched)
	if err != nil {
		return "", fmt.Errorf("%s: %w", rest.Object(), err)
	}
	b := &strings.Builder{}
	b.WriteString(udiff.Unified(rest.Object()+" now", rest.Object()+" at rest", before, after))
	for _, policy := range rest.Policies {
		name := fmt.Sprintf("%s %s/%s", rest.API.Policies().Kind, policy.Namespace, policy.Name)
		text, err := preview.YAML(policy.JSON)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		b.WriteString(udiff.Unified(name+" now", name+" gone", text, ""))
	}
	return b.String(), nil
}

// patched returns the object as it will be.
func patched(rest engine.Rest) (json.RawMessage, error) {
	if len(rest.Patch) == 0 {
		return rest.Observed.JSON, nil
	}
	data, err := json.Marshal(rest.Patch)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return nil, err
	}
	return patch.Apply(rest.Observed.JSON)
}
