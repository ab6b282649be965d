// Package oracle asks the types that Gloo publishes whether they can read what is written.
package oracle

import (
	"encoding/json"

	networkingv2 "github.com/solo-io/solo-apis/client-go/networking.gloo.solo.io/v2"
	policyv2 "github.com/solo-io/solo-apis/client-go/trafficcontrol.policy.gloo.solo.io/v2"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
)

// RouteTable fails unless Gloo's own published types can read the object's spec, every field of it but those called
// future, which stand for what a later release may add.
func RouteTable(t objects.T, o engine.Object) {
	t.Helper()
	spec, err := json.Marshal(withoutFuture(objects.Tree(t, o.JSON)["spec"]))
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := protojson.Unmarshal(spec, &networkingv2.RouteTableSpec{}); err != nil {
		t.Fatalf("no RouteTable to Gloo: %v\n%s", err, objects.YAML(spec))
	}
}

// MirrorPolicy is the same for the spec of a policy.
func MirrorPolicy(t objects.T, spec json.RawMessage) {
	t.Helper()
	if err := protojson.Unmarshal(spec, &policyv2.MirrorPolicySpec{}); err != nil {
		t.Fatalf("no MirrorPolicy to Gloo: %v\n%s", err, spec)
	}
}

func withoutFuture(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			if key == "future" {
				delete(v, key)
				continue
			}
			v[key] = withoutFuture(v[key])
		}
	case []any:
		for i := range v {
			v[i] = withoutFuture(v[i])
		}
	}
	return value
}
