package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// A step is not left before Gloo has accepted the table. What Gloo says against it is told to the Rollout's owner.
func TestStepWaitsForAcceptance(t *testing.T) {
	for _, tt := range []struct {
		name    string
		verdict gateway.Verdict
		event   string // NAMESPACE stands for the story's
	}{
		{"rejected", gateway.Verdict{Approval: gateway.Invalid, Message: "the canary is not to my taste"},
			"RouteTable NAMESPACE/demo: not accepted: INVALID the canary is not to my taste; until that is mended, requests to its faulty routes are answered with 500"},
		{"pending", gateway.Verdict{Approval: gateway.Pending}, ""},
		{"not looked at", gateway.Verdict{Silent: true}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := setup{steps: stepsTo(10, 100)}.begin(t)
			relent := gw.Force(d.Namespace, "demo", tt.verdict)
			d.release("web:2")
			if tt.event != "" {
				d.WaitForEvent(d.name, "WeightNotVerified", strings.ReplaceAll(tt.event, "NAMESPACE", d.Namespace))
			}
			d.WaitUntil("a second look", func(context.Context) (bool, error) {
				return len(bed.Controller.Log().Grep("10 not yet verified.*namespace="+d.Namespace)) > 1, nil
			})
			d.WaitFor(d.name, testbed.AtStep(0), testbed.CanaryWeight(10))
			relent()
			d.reaches(10)
			d.serves("/demo", shares{"web:1": 90, "web:2": 10})

			relent = gw.Force(d.Namespace, "demo", tt.verdict)
			d.promote()
			d.WaitUntil("a second look", func(context.Context) (bool, error) {
				return len(bed.Controller.Log().Grep("100 not yet verified.*namespace="+d.Namespace)) > 1, nil
			})
			relent()
			d.reaches(100)
			d.promote()
			d.completes("web:2")
		})
	}
}
