package gloo_test

import (
	"encoding/json"

	networkingv2 "github.com/solo-io/solo-apis/client-go/networking.gloo.solo.io/v2"
	policyv2 "github.com/solo-io/solo-apis/client-go/trafficcontrol.policy.gloo.solo.io/v2"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// mustBeRouteTable fails unless Gloo's own published types can read the object's spec, every field of it but those called
// future, which stand for what a later release may add.
func mustBeRouteTable(t tb, o engine.Object) {
	t.Helper()
	spec, err := json.Marshal(withoutFuture(tree(t, o.JSON)["spec"]))
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := protojson.Unmarshal(spec, &networkingv2.RouteTableSpec{}); err != nil {
		t.Fatalf("no RouteTable to Gloo: %v\n%s", err, asYAML(spec))
	}
}

// mustBeMirrorPolicy is the same for the spec of a policy.
func mustBeMirrorPolicy(t tb, spec json.RawMessage) {
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
