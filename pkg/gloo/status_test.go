package gloo_test

import (
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
)

func TestAcceptance(t *testing.T) {
	const replaced = "until that is mended, requests to its faulty routes are answered with 500"
	const frozen = "until that is mended, requests are served as by the last table that was accepted"
	for _, tt := range []struct {
		name, object string
		want         engine.Acceptance
	}{
		{"never written", "spec: {}", engine.Acceptance{}},
		{"without a state", "status: {common: {}, numAllowedVirtualGateways: 1}", engine.Acceptance{}},
		{"accepted", "status: {common: {State: {observedGeneration: 4, approval: ACCEPTED}}}",
			engine.Acceptance{State: engine.Accepted, Generation: 4, Meanwhile: replaced}},
		{"the generation is text", `status: {common: {State: {observedGeneration: "9007199254740993", approval: ACCEPTED}}}`,
			engine.Acceptance{State: engine.Accepted, Generation: 9007199254740993, Meanwhile: replaced}},
		{"defaults are left out", "status: {common: {State: {}}}", engine.Acceptance{State: engine.Pending, Meanwhile: replaced}},
		{"invalid", "status: {common: {State: {observedGeneration: 4, approval: INVALID, message: no such port}}}",
			engine.Acceptance{State: engine.Rejected, Generation: 4, Message: "INVALID no such port", Meanwhile: replaced}},
		{"failed, and frozen", "{spec: {failureMode: FREEZE_CONFIG}, status: {common: {State: {approval: FAILED, message: later}}}}",
			engine.Acceptance{State: engine.Rejected, Message: "FAILED later", Meanwhile: frozen}},
		{"unlicensed", "status: {common: {State: {approval: UNLICENSED}}}",
			engine.Acceptance{State: engine.Rejected, Message: "UNLICENSED ", Meanwhile: replaced}},
		{"a table that others delegate to", "{kind: RouteTable, spec: {http: []}, status: {common: {State: {approval: INVALID}}}}",
			engine.Acceptance{State: engine.Rejected, Message: "INVALID ", Meanwhile: "until that is mended, its parent table's failureMode decides: requests to its faulty routes are answered with 500, or as by the last table that was accepted"}},
		{"a table with hosts", "{kind: RouteTable, spec: {hosts: [a.example.com]}, status: {common: {State: {approval: INVALID}}}}",
			engine.Acceptance{State: engine.Rejected, Message: "INVALID ", Meanwhile: replaced}},
		{"a policy", "{kind: MirrorPolicy, status: {common: {State: {observedGeneration: 1, approval: INVALID, message: none}}}}",
			engine.Acceptance{State: engine.Rejected, Generation: 1, Message: "INVALID none", Meanwhile: "until that is mended, nothing is mirrored"}},
		{"a warning", "status: {common: {State: {approval: WARNING, message: odd}}}",
			engine.Acceptance{State: engine.AcceptedWithWarning, Message: "odd", Meanwhile: replaced}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := gloo.RouteTables{}.Acceptance(object(t, tt.object).JSON)
			if err != nil || got != tt.want {
				t.Errorf("got %+v, %v\nwant %+v", got, err, tt.want)
			}
		})
	}
	for text, want := range map[string]string{
		"status: {common: {State: {approval: MAYBE}}}":            `status.common.State.approval is "MAYBE", which this plugin does not know`,
		"status: {common: {State: {observedGeneration: 'four'}}}": `status.common.State.observedGeneration is "four", want an integer`,
		"status: {common: {State: [1]}}":                          "status.common.State: found an array, want the fields approval, message, observedGeneration",
	} {
		if _, err := (gloo.RouteTables{}).Acceptance(object(t, text).JSON); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
