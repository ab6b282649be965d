package gloo

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// Labelled says that tables carry no label while a release is under way.
func (RouteTables) Labelled() bool { return false }

// Policies returns trafficcontrol.policy.gloo.solo.io/v2 MirrorPolicy.
func (RouteTables) Policies() engine.PolicyKind {
	return engine.PolicyKind{
		Kind:     "MirrorPolicy",
		Resource: schema.GroupVersionResource{Group: "trafficcontrol.policy.gloo.solo.io", Version: "v2", Resource: "mirrorpolicies"},
	}
}

// mirrorPolicySpec is what is written of a MirrorPolicySpec.
type mirrorPolicySpec struct {
	ApplyToRoutes []routeByLabels `json:"applyToRoutes"`
	Config        mirrorConfig    `json:"config"`
}

type routeByLabels struct {
	Route struct {
		Labels map[string]string `json:"labels"`
	} `json:"route"`
}

type mirrorConfig struct {
	Destination map[string]json.RawMessage `json:"destination"`
	Percentage  int                        `json:"percentage"`
}

// MirrorPolicy returns the spec of a MirrorPolicy that sends a percentage of the requests of the routes with these labels
// to a destination as well.
func (RouteTables) MirrorPolicy(labels map[string]string, destination json.RawMessage, percentage int) (json.RawMessage, error) {
	spec := mirrorPolicySpec{ApplyToRoutes: make([]routeByLabels, 1), Config: mirrorConfig{Percentage: percentage}}
	spec.ApplyToRoutes[0].Route.Labels = labels
	if err := json.Unmarshal(destination, &spec.Config.Destination); err != nil {
		return nil, err
	}
	return json.Marshal(spec)
}
