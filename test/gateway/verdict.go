package gateway

import (
	"encoding/json"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Approvals that a status may hold.
const (
	Pending    = "PENDING"
	Accepted   = "ACCEPTED"
	Invalid    = "INVALID"
	Warning    = "WARNING"
	Failed     = "FAILED"
	Unlicensed = "UNLICENSED"
)

// Verdict is what the gateway says of a table or a policy.
type Verdict struct {
	Approval string
	Message  string
	// Silent leaves the status as it is and what is served as well, as if the control plane were down.
	Silent bool
}

// serves reports whether a table under this verdict replaces the one served before.
func (v Verdict) serves() bool { return v.Approval == Accepted || v.Approval == Warning }

// waits reports whether the control plane has not come to a result yet.
func (v Verdict) waits() bool { return v.Silent || v.Approval == Pending }

// state is status.common.State, as a protobuf message is spelt in JSON: defaults are omitted. A 64-bit integer is a
// string there, yet readers must take numbers as well, so every other generation is one.
func (v Verdict) state(generation int64) map[string]any {
	state := map[string]any{"observedGeneration": strconv.FormatInt(generation, 10)}
	if generation%2 == 0 {
		state["observedGeneration"] = generation
	}
	if v.Approval != Pending {
		state["approval"] = v.Approval
	}
	if v.Message != "" {
		state["message"] = v.Message
	}
	return state
}

// statusPatch is a merge patch that brings an object's status to the verdict, or nil if it is there already.
func (v Verdict) statusPatch(obj *unstructured.Unstructured) ([]byte, error) {
	want := v.state(obj.GetGeneration())
	now, _, _ := unstructured.NestedMap(obj.Object, "status", "common", "State") // of another type: replaced
	patch := map[string]any{}
	for key, value := range want {
		if now[key] != value {
			patch[key] = value
		}
	}
	for key := range now {
		if _, found := want[key]; !found {
			patch[key] = nil
		}
	}
	if len(patch) == 0 {
		return nil, nil
	}
	return json.Marshal(map[string]any{"status": map[string]any{"common": map[string]any{"State": patch}}})
}
