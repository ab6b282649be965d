package e2e

import (
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// An experiment runs a third group of pods beside the canary, with a weight of its own. The controller makes a Service for
// it that exposes the container port, 3000, where stable's exposes 8080.
func TestExperiment(t *testing.T) {
	running := testbed.Condition{Name: "a running experiment", Met: func(ro *v1alpha1.Rollout) bool {
		w := ro.Status.Canary.Weights // of which verified is not reliable: the controller does not always write it
		return w != nil && len(w.Additional) == 1 && w.Additional[0].Weight == 20
	}}
	inBothShapes(t, func(t *testing.T, s setup) {
		experiment := v1alpha1.CanaryStep{Experiment: &v1alpha1.RolloutExperimentStep{
			Duration: "1h",
			Templates: []v1alpha1.RolloutExperimentTemplate{{
				Name: "trial", SpecRef: v1alpha1.CanarySpecRef, Weight: new(int32(20)), Service: &v1alpha1.TemplateService{Name: "web-trial"},
			}},
		}}
		s.steps = append(stepsTo(10), experiment)
		s.steps = append(s.steps, stepsTo(50)...)
		d := s.begin(t)
		d.release("web:2")
		d.reaches(10)

		d.promote()
		d.WaitFor(d.name, testbed.AtStep(2), testbed.CanaryWeight(10), running)
		d.isServed()
		d.servedBy("/demo", shares{"web": 70, "web-canary": 10, "web-trial": 20})
		d.servedBy("/shop", shares{"web": 42, "web-canary": 6, "web-trial": 12, "partner": 40})
		d.serves("/demo", shares{"web:1": 70, "web:2": 30})

		d.promote() // which ends the experiment
		d.reaches(50)
		d.servedBy("/demo", shares{"web": 50, "web-canary": 50})
		d.promote()
		d.completes("web:2")
	})
}
