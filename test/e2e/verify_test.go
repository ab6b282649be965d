package e2e

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
			d := setup{steps: stepsTo(10), edit: func(spec *v1alpha1.RolloutSpec) {
				spec.Strategy.Canary.ScaleDownDelaySeconds = new(int32(0)) // nothing else keeps the old pods
			}}.begin(t)
			relent := gw.Force(d.Namespace, "demo", tt.verdict)
			d.release("web:2")
			if tt.event != "" {
				d.isNotVerified(tt.event)
			}
			d.isHeldAt(10)
			d.WaitFor(d.name, testbed.AtStep(0), testbed.CanaryWeight(10))
			relent()
			d.reaches(10)
			d.serves("/demo", shares{"web:1": 90, "web:2": 10})

			relent = gw.Force(d.Namespace, "demo", tt.verdict)
			d.promote()
			d.isHeldAt(100)
			if pods := d.pods(); !maps.Equal(pods, map[string]int32{"web:1": 4, "web:2": 4}) {
				t.Errorf("pods %v, want the 4 old ones beside the 4 new ones", pods)
			}
			relent()
			accepted := time.Now()
			d.WaitFor(d.name, testbed.CanaryWeight(100))
			if took := time.Since(accepted); took > 15*time.Second {
				t.Errorf("went on %v after it was accepted", took)
			}
			d.completes("web:2")
		})
	}
}

// isNotVerified waits for the Event that says why a weight is not verified. NAMESPACE in the text stands for the story's.
func (d *story) isNotVerified(event string) {
	d.t.Helper()
	d.WaitForEvent(d.name, "WeightNotVerified", strings.ReplaceAll(event, "NAMESPACE", d.Namespace))
}

// isHeldAt waits until the controller has asked twice in vain whether a weight is verified.
func (d *story) isHeldAt(weight int) {
	d.t.Helper()
	mark := bed.Controller.LogMark()
	d.WaitUntil("a second look", func(context.Context) (bool, error) {
		return len(bed.Controller.LogSince(mark).Grep(fmt.Sprintf("%d not yet verified.*namespace=%s", weight, d.Namespace))) > 1, nil
	})
}

// pods counts the available pods of the story's namespace by image.
func (d *story) pods() map[string]int32 {
	d.t.Helper()
	list := &appsv1.ReplicaSetList{}
	if err := bed.Client.List(d.t.Context(), list, client.InNamespace(d.Namespace)); err != nil {
		d.t.Fatal(err)
	}
	counts := map[string]int32{}
	for _, rs := range list.Items {
		counts[rs.Spec.Template.Spec.Containers[0].Image] += rs.Status.AvailableReplicas
	}
	return counts
}
