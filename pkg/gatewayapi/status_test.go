package gatewayapi_test

import (
	"fmt"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
)

// parent returns the status of a route on a parent, with conditions Accepted and ResolvedRefs at a generation.
func parent(ref, accepted, resolved string, generation int) string {
	return fmt.Sprintf("{parentRef: %s, controllerName: example.com/c, conditions: [{type: Accepted, status: %q, reason: R, message: m, observedGeneration: %d}, {type: ResolvedRefs, status: %q, reason: R, observedGeneration: %d}]}",
		ref, accepted, generation, resolved, generation)
}

func TestAcceptance(t *testing.T) {
	const unreachable = "until that is mended, requests to what it refers to and cannot reach are answered with an error"
	for _, tt := range []struct {
		name, parents string
		want          engine.Acceptance
	}{
		{"nobody reports", "", engine.Acceptance{}},
		{"accepted", parent("{name: edge}", "True", "True", 4), engine.Acceptance{State: engine.Accepted, Generation: 4, Meanwhile: unreachable}},
		{"defaults spelt out", parent("{group: gateway.networking.k8s.io, kind: Gateway, namespace: apps, name: edge}", "True", "True", 4),
			engine.Acceptance{State: engine.Accepted, Generation: 4, Meanwhile: unreachable}},
		{"the oldest generation counts", parent("{name: edge}", "True", "True", 4) + ", " + parent("{name: mesh, kind: Service, group: ''}", "True", "True", 3),
			engine.Acceptance{State: engine.Accepted, Generation: 3, Meanwhile: unreachable}},
		{"a former parent says nothing", parent("{name: edge}", "True", "True", 4) + ", " + parent("{name: former}", "False", "True", 2),
			engine.Acceptance{State: engine.Accepted, Generation: 4, Meanwhile: unreachable}},
		{"another listener is another parent", parent("{name: edge, sectionName: web}", "False", "True", 2), engine.Acceptance{}},
		{"not accepted by one of two", parent("{name: edge}", "True", "True", 4) + ", " + parent("{name: mesh, kind: Service, group: ''}", "False", "True", 4),
			engine.Acceptance{State: engine.Rejected, Generation: 4, Message: " Service apps/mesh by example.com/c: Accepted is False: R m",
				Meanwhile: "until that is mended, it is not served there, or as it was before"}},
		{"a reference is not resolved", parent("{name: edge}", "True", "False", 4),
			engine.Acceptance{State: engine.Rejected, Generation: 4, Message: "Gateway apps/edge by example.com/c: ResolvedRefs is False: R", Meanwhile: unreachable}},
		{"not known yet", parent("{name: edge}", "Unknown", "True", 4), engine.Acceptance{State: engine.Pending, Generation: 4, Meanwhile: unreachable}},
		{"a condition is missing", "{parentRef: {name: edge}, conditions: [{type: Accepted, status: 'True', observedGeneration: 4}]}",
			engine.Acceptance{State: engine.Pending, Meanwhile: unreachable}},
		{"in part", "{parentRef: {name: edge}, controllerName: c, conditions: [{type: Accepted, status: 'True'}, {type: ResolvedRefs, status: 'True'}, {type: PartiallyInvalid, status: 'True', reason: Odd}]}",
			engine.Acceptance{State: engine.AcceptedWithWarning, Message: "Gateway apps/edge by c: PartiallyInvalid: Odd", Meanwhile: unreachable}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			object := objects.Read(t, "{metadata: {namespace: apps}, spec: {parentRefs: [{name: edge}, {group: '', kind: Service, name: mesh}]}, status: {parents: ["+tt.parents+"]}}")
			got, err := http.Acceptance(object.JSON)
			if err != nil || got != tt.want {
				t.Errorf("got %+v, %v\nwant %+v", got, err, tt.want)
			}
		})
	}
	const want = "status.parents.conditions: found a string, want a list"
	if _, err := http.Acceptance([]byte(`{"status":{"parents":[{"conditions":"True"}]}}`)); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
