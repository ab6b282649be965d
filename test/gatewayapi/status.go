package gatewayapi

import (
	"encoding/json"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// parentStatus is what a controller says of a route on one parent.
type parentStatus struct {
	ParentRef      parentRef          `json:"parentRef"`
	ControllerName string             `json:"controllerName"`
	Conditions     []metav1.Condition `json:"conditions"`
}

// statuses says what becomes of a route, which is of a generation, on each of its parents that are among the gateways.
// Without any it is not served, and there is nothing to say.
func (r *Route) statuses(gateways Gateways, generation int64) []parentStatus {
	var list []parentStatus
	for _, p := range r.parents {
		named, ok := p.listener(r.Namespace)
		if !ok || !gateways[Listener{named.Namespace, named.Gateway, ""}] {
			continue
		}
		accepted := metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted"}
		switch err := r.fault(); {
		case !gateways[named]:
			accepted.Status, accepted.Reason = metav1.ConditionFalse, "NoMatchingParent"
			accepted.Message = "the Gateway has no listener " + named.Name
		case err != nil:
			accepted.Status, accepted.Reason, accepted.Message = metav1.ConditionFalse, "UnsupportedValue", err.Error()
		}
		resolved := metav1.Condition{Type: "ResolvedRefs", Status: metav1.ConditionTrue, Reason: "ResolvedRefs"}
		if b, found := r.unresolved(); found {
			resolved.Status, resolved.Reason, resolved.Message = metav1.ConditionFalse, b.Reason, b.Fault.Error()
		}
		accepted.ObservedGeneration, resolved.ObservedGeneration = generation, generation
		list = append(list, parentStatus{p, ControllerName, []metav1.Condition{accepted, resolved}})
	}
	return list
}

// statusPatch is a merge patch that brings a status to what this controller says, or nil if it says so already. What other
// controllers say stays. A change made meanwhile is a conflict.
func statusPatch(status json.RawMessage, resourceVersion string, want []parentStatus, now time.Time) ([]byte, error) {
	view := struct {
		Parents []json.RawMessage `json:"parents"`
	}{}
	if len(status) > 0 {
		if err := json.Unmarshal(status, &view); err != nil {
			return nil, err
		}
	}
	parents := []any{}
	var ours []parentStatus
	for _, raw := range view.Parents {
		p := parentStatus{}
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, err
		}
		if p.ControllerName == ControllerName {
			ours = append(ours, p)
		} else {
			parents = append(parents, raw)
		}
	}
	if sameStatuses(ours, want) {
		return nil, nil
	}
	for _, p := range want {
		for i := range p.Conditions {
			p.Conditions[i].LastTransitionTime = metav1.NewTime(now)
		}
		parents = append(parents, p)
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": resourceVersion},
		"status":   map[string]any{"parents": parents},
	})
}

// sameStatuses compares all but times.
func sameStatuses(a, b []parentStatus) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !reflect.DeepEqual(a[i].ParentRef, b[i].ParentRef) || len(a[i].Conditions) != len(b[i].Conditions) {
			return false
		}
		for j, c := range a[i].Conditions {
			if c.LastTransitionTime = b[i].Conditions[j].LastTransitionTime; c != b[i].Conditions[j] {
				return false
			}
		}
	}
	return true
}
