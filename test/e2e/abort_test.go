package e2e

import (
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

func TestAbort(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := s.begin(t)
		d.release("web:2")
		d.reaches(10)
		d.promote()
		d.reaches(50)
		d.Abort(d.name)
		d.aborts()
		d.served(requestsAtZero, "/demo", shares{"web:1": 100, "web:2": 0})
	})
}

func TestAbortAndRetry(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := s.begin(t)
		d.release("web:2")
		d.reaches(10)
		d.Abort(d.name)
		d.aborts()

		d.Retry(d.name)
		d.reaches(10)
		d.serves("/demo", shares{"web:1": 90, "web:2": 10})
		d.promote()
		d.reaches(50)
		d.promote()
		d.completes("web:2")
		d.serves("/demo", shares{"web:2": 100})
	})
}

// With dynamicStableScale, stable has few pods left by the time of the abort. Traffic goes back as they come back.
func TestGradualAbort(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		s.steps = stepsTo(25, 50)
		s.edit = func(spec *v1alpha1.RolloutSpec) { spec.Strategy.Canary.DynamicStableScale = true }
		d := s.begin(t)
		d.release("web:2")
		d.reaches(25)
		d.promote()
		d.reaches(50)

		enough := d.SetPods("web:1", testbed.AtMost(3)) // of 4
		d.Abort(d.name)
		d.WaitFor(d.name, testbed.Aborted, testbed.CanaryWeight(25))
		d.isServed()
		d.serves("/demo", shares{"web:1": 75, "web:2": 25})

		enough()
		d.aborts()
		d.served(requestsAtZero, "/demo", shares{"web:1": 100, "web:2": 0})
	})
}
