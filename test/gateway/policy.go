package gateway

import (
	"encoding/json"
	"fmt"
	"math"

	commonv2 "github.com/solo-io/solo-apis/client-go/common.gloo.solo.io/v2"
	trafficcontrolv2 "github.com/solo-io/solo-apis/client-go/trafficcontrol.policy.gloo.solo.io/v2"
	"google.golang.org/protobuf/encoding/protojson"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// Policy is a MirrorPolicy ready to serve: of the requests that its routes forward, it sends copies to a destination.
type Policy struct {
	Namespace, Name string
	Destination     Destination
	Percentage      float64 // of the requests, to a hundredth

	routes []*commonv2.RouteLabelSelector // none: every route
}

// DecodePolicy reads a MirrorPolicy. It fails if the object is none, by the types that Gloo publishes, if it names no
// destination, or if it selects routes in a way that this stand-in does not support; fields that the types do not know
// are passed over.
func DecodePolicy(obj *unstructured.Unstructured) (*Policy, error) {
	raw, err := json.Marshal(obj.Object["spec"])
	if err != nil {
		return nil, err
	}
	spec := &trafficcontrolv2.MirrorPolicySpec{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, spec); err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	if err := checkEnums(obj.Object["spec"]); err != nil {
		return nil, err
	}
	p := &Policy{Namespace: obj.GetNamespace(), Name: obj.GetName(), Percentage: 100}
	for i, selector := range spec.GetApplyToRoutes() {
		if selector.GetRoute() == nil {
			return nil, fmt.Errorf("applyToRoutes[%d]: only route is supported by this stand-in", i)
		}
		p.routes = append(p.routes, selector.GetRoute())
	}
	if percentage := spec.GetConfig().GetPercentage(); percentage != nil {
		p.Percentage = percentage.GetValue()
	}
	if !(p.Percentage >= 0 && p.Percentage <= 100) { // also if it is no number
		return nil, fmt.Errorf("config.percentage is %v, not from 0 to 100", p.Percentage)
	}
	ref := spec.GetConfig().GetDestination()
	if ref == nil {
		return nil, fmt.Errorf("config has no destination")
	}
	destinations, err := asDestinations(p.Namespace, []*commonv2.DestinationReference{ref})
	if err != nil {
		return nil, fmt.Errorf("config.destination has no ref.name")
	}
	p.Destination = destinations[0]
	return p, nil
}

// Selects reports whether the policy applies to a route: its labels, or those of its table, contain all that one of the
// selectors asks for.
func (p *Policy) Selects(t *Table, r *Route, local string) bool {
	for _, s := range p.routes {
		wanted := labels.SelectorFromSet(s.GetLabels())
		if (wanted.Matches(labels.Set(r.Labels)) || wanted.Matches(labels.Set(t.Labels))) &&
			(s.GetNamespace() == "" || s.GetNamespace() == t.Namespace) && (s.GetCluster() == "" || s.GetCluster() == local) {
			return true
		}
	}
	return len(p.routes) == 0
}

// copies decides about one request; draw(n) returns a number from 0 to n-1.
func (p *Policy) copies(draw func(int) int) bool {
	return draw(100_00) < int(math.Round(p.Percentage*100))
}
