package e2e

import (
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// With pingPong, the two services swap roles with each release. Which of them holds the weight is not restored; else the
// table is what people wrote whenever the first one is stable.
func TestPingPong(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		s.steps = stepsTo(10)
		s.edit = func(spec *v1alpha1.RolloutSpec) {
			canary := spec.Strategy.Canary
			canary.StableService, canary.CanaryService = "", ""
			canary.PingPong = &v1alpha1.PingPongSpec{PingService: "web", PongService: "web-canary"}
		}
		swapped := "web, web-canary 100"
		if strings.Contains(s.tables, "web-canary") {
			swapped = "web 0, web-canary 100"
		}
		d := s.begin(t) // the first deployment ends on ping

		d.release("web:2")
		d.reaches(10)
		d.lists("demo", "web 90, web-canary 10")
		d.serves("/demo", shares{"web:1": 90, "web:2": 10})
		d.promote()
		d.WaitFor(d.name, testbed.Healthy)
		d.soonLists("demo", swapped)
		d.servedBy("/demo", shares{"web-canary": 100})
		d.serves("/demo", shares{"web:2": 100})
		d.serves("/shop", shares{"web:2": 60, "partner": 40})

		d.release("web:3")
		d.reaches(10)
		d.lists("demo", "web 10, web-canary 90")
		d.serves("/demo", shares{"web:2": 90, "web:3": 10})
		d.promote()
		d.completes("web:3") // back on ping: all is as it was written
		d.servedBy("/demo", shares{"web": 100})
		d.serves("/demo", shares{"web:3": 100})

		d.release("web:4")
		d.reaches(10)
		d.Abort(d.name)
		d.aborts()
		d.serves("/demo", shares{"web:3": 100})
		d.Retry(d.name)
		d.reaches(10)
		d.promote()
		d.WaitFor(d.name, testbed.Healthy)
		d.soonLists("demo", swapped)
		d.serves("/demo", shares{"web:4": 100})
		if d.table(d.Key("demo")).GetAnnotations()[annotation] == "" {
			t.Error("how ping was spelt is forgotten while pong holds the weight")
		}
	})
}
