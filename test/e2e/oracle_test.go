package e2e

import (
	"encoding/json"
	"fmt"

	networkingv2 "github.com/solo-io/solo-apis/client-go/networking.gloo.solo.io/v2"
	"google.golang.org/protobuf/encoding/protojson"
)

// unknownField is a field that Gloo does not have, on purpose in some fixtures, so that tests see it survive.
const unknownField = "future"

// checkSchema decodes a table's spec strictly into Gloo's own type, but for the field unknown on purpose.
func checkSchema(spec any) error {
	raw, err := json.Marshal(without(unknownField, spec))
	if err != nil {
		return err
	}
	if err := protojson.Unmarshal(raw, &networkingv2.RouteTableSpec{}); err != nil {
		return fmt.Errorf("Gloo's own types do not take the spec: %w", err)
	}
	return nil
}

// without copies a JSON value without a field, wherever it stands.
func without(field string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, inner := range v {
			if key != field {
				kept[key] = without(field, inner)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, inner := range v {
			kept[i] = without(field, inner)
		}
		return kept
	default:
		return v
	}
}
