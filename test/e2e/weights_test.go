package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// shapes are the two ways in which people write a table: the canary is listed, or is left to the plugin.
var shapes = []struct{ name, tables string }{
	{"stable listed", "table-stable.yaml"},
	{"both listed", "table-both.yaml"},
}

// inBothShapes runs a story on each.
func inBothShapes(t *testing.T, tell func(t *testing.T, s setup)) {
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			tell(t, setup{tables: file(t, shape.tables)})
		})
	}
}

func TestCanary(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		s.steps = append([]v1alpha1.CanaryStep{
			{SetCanaryScale: &v1alpha1.SetCanaryScale{Replicas: new(int32(1))}}, // so that there is a pod to get nothing
			{SetWeight: new(int32(0))}, {Pause: &v1alpha1.RolloutPause{}},
			{SetCanaryScale: &v1alpha1.SetCanaryScale{MatchTrafficWeight: true}},
		}, stepsTo(10, 50, 100)...)
		d := s.begin(t)
		atRest := d.destinations("demo")
		d.serves("/demo", shares{"web:1": 100})

		d.release("web:2")
		d.reaches(0)
		d.lists("demo", atRest)
		d.served(requestsAtZero, "/demo", shares{"web:1": 100, "web:2": 0})
		d.serves("/shop", shares{"web:1": 60, "partner": 40})

		d.promote()
		d.reaches(10)
		d.lists("demo", "web 90, web-canary 10")
		d.serves("/demo", shares{"web:1": 90, "web:2": 10})
		d.serves("/shop", shares{"web:1": 54, "web:2": 6, "partner": 40})

		d.promote()
		d.reaches(50)
		d.lists("demo", "web 50, web-canary 50")
		d.serves("/demo", shares{"web:1": 50, "web:2": 50})
		d.serves("/shop", shares{"web:1": 30, "web:2": 30, "partner": 40})

		d.promote()
		d.reaches(100)
		d.lists("demo", "web 0, web-canary 100")
		d.serves("/demo", shares{"web:2": 100})
		d.serves("/shop", shares{"web:2": 60, "partner": 40})

		d.promote()
		d.completes("web:2")
		d.serves("/demo", shares{"web:2": 100})
		d.serves("/shop", shares{"web:2": 60, "partner": 40})
	})
}

// The first deployment has no version to go from: the table is not written at all.
func TestFirstDeployment(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := s.prepare(t)
		d.Apply(s.rollout(t))
		d.WaitFor(d.name, testbed.Healthy)
		d.isUntouched()
		d.isServed()
		d.serves("/demo", shares{"web:1": 100})
	})
}

func TestPromoteFull(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := s.begin(t)
		d.release("web:2")
		d.reaches(10)
		d.PromoteFull(d.name)
		d.completes("web:2")
		d.serves("/demo", shares{"web:2": 100})
	})
}

// A third version arrives while the second one is at half: the second one gets nothing any more.
func TestThirdRevision(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := s.begin(t)
		d.release("web:2")
		d.reaches(10)
		d.promote()
		d.reaches(50)
		d.serves("/demo", shares{"web:1": 50, "web:2": 50})

		d.release("web:3")
		d.reaches(10)
		d.serves("/demo", shares{"web:1": 90, "web:3": 10})
		d.PromoteFull(d.name)
		d.completes("web:3")
		d.serves("/demo", shares{"web:3": 100})
	})
}

// Ten times over, three versions arrive in quick succession, each in another state of the one before it. The header step is
// the very first: the canary has no pod yet.
func TestVersionsInQuickSuccession(t *testing.T) {
	t.Parallel()
	s := setup{steps: append([]v1alpha1.CanaryStep{headerStep("beta", "x-beta", "yes")}, stepsTo(10)...), edit: managesRoutes}
	d := s.begin(t)
	d.release("web:2")
	d.reaches(10)
	d.servesWith(requests, "/demo", "x-beta", "yes", shares{"web:2": 100})
	for n := range 10 {
		for i, state := range []testbed.Condition{testbed.Updating, testbed.CanaryWeight(10), testbed.PausedAt(2)} {
			d.release(fmt.Sprintf("web:%d-%d", n, i))
			if n%3 == i {
				d.WaitFor(d.name, testbed.Updating, state)
			}
		}
		d.isTakenUp(fmt.Sprintf("web:%d-2", n)) // else what comes now were for the version before
		if n%2 == 0 {
			d.PromoteFull(d.name)
			d.completes(fmt.Sprintf("web:%d-2", n))
		} else {
			d.Abort(d.name)
			d.aborts()
		}
	}
}

// isTakenUp waits until the controller releases this image. The generation that it says to have observed may be ahead of that.
func (d *story) isTakenUp(image string) {
	d.t.Helper()
	d.WaitUntil("release of "+image, func(ctx context.Context) (bool, error) {
		ro, rs := &v1alpha1.Rollout{}, &appsv1.ReplicaSet{}
		if err := bed.Client.Get(ctx, d.Key(d.name), ro); err != nil {
			return false, err
		}
		err := bed.Client.Get(ctx, d.Key(d.name+"-"+ro.Status.CurrentPodHash), rs)
		return err == nil && rs.Spec.Template.Spec.Containers[0].Image == image, err
	})
}

// Whoever goes back to the stable version in the middle of a release is back at once.
func TestRollbackInTheMiddle(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := s.begin(t)
		d.release("web:2")
		d.reaches(10)
		d.promote()
		d.reaches(50)
		d.release("web:1")
		d.completes("web:1")
		d.serves("/demo", shares{"web:1": 100})
	})
}

// Once a release is complete, the version before it is a release like any other.
func TestRollbackToThePreviousRevision(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := s.begin(t)
		d.release("web:2")
		d.reaches(10)
		d.PromoteFull(d.name)
		d.completes("web:2")

		d.release("web:1")
		d.reaches(10)
		d.serves("/demo", shares{"web:2": 90, "web:1": 10})
		d.PromoteFull(d.name)
		d.completes("web:1")
		d.serves("/demo", shares{"web:1": 100})
	})
}
