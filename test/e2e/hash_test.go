package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// byHash is a Rollout with one Service for both versions, which are subsets of it by the hash of their pods.
func byHash(s setup) setup {
	edit := s.edit
	s.block = "{routeTableSelector: {name: demo}, subsetLabel: rollouts-pod-template-hash, stable: {name: web}}"
	s.edit = func(spec *v1alpha1.RolloutSpec) {
		noServices(spec)
		if edit != nil {
			edit(spec)
		}
	}
	return s
}

// beginByHash waits until the first version is up. There is no state that people wrote to come back to: the hash stays.
func beginByHash(t *testing.T, s setup) *story {
	t.Helper()
	s = byHash(s)
	d := s.prepare(t)
	d.Apply(s.rollout(t))
	d.restsOn("web:1")
	return d
}

// restsOn waits until an image is the stable one, and route demo points at it alone.
func (d *story) restsOn(image string) {
	d.t.Helper()
	ro := d.WaitFor(d.name, testbed.Healthy)
	if got := ro.Spec.Template.Spec.Containers[0].Image; got != image {
		d.t.Errorf("%s is healthy, want %s", got, image)
	}
	d.soonPointsAt(ro.Status.StableRS)
}

// soonPointsAt waits until the route lists one entry, of a version.
func (d *story) soonPointsAt(hash string) {
	d.t.Helper()
	d.soonLists("demo", "web/"+hash)
	if text := fmt.Sprint(d.table(d.Key("demo")).Object["spec"]); strings.Contains(text, "beta") {
		d.t.Errorf("a header route is left in %s", text)
	}
}

// listsVersions checks that route demo lists both versions, at these weights.
func (d *story) listsVersions(stable, canary int) {
	d.t.Helper()
	ro := d.WaitFor(d.name)
	d.lists("demo", fmt.Sprintf("web/%s %d, web/%s %d", ro.Status.StableRS, stable, ro.Status.CurrentPodHash, canary))
}

func TestSubsetsByPodHash(t *testing.T) {
	t.Parallel()
	s := setup{edit: managesRoutes}
	s.steps = append(stepsTo(10), headerStep("beta", "x-beta", "yes"))
	s.steps = append(s.steps, stepsTo(50)...)
	d := beginByHash(t, s)
	for _, release := range []struct{ before, image string }{{"web:1", "web:2"}, {"web:2", "web:3"}} {
		d.release(release.image)
		d.reaches(10)
		d.listsVersions(90, 10)
		d.serves("/demo", shares{release.before: 90, release.image: 10})
		d.serves("/shop", shares{release.before: 54, release.image: 6, "partner": 40})
		d.promote()
		d.reaches(50)
		d.serves("/demo", shares{release.before: 50, release.image: 50})
		d.servesWith(requests, "/demo", "x-beta", "yes", shares{release.image: 100})
		d.promote()
		d.restsOn(release.image)
		d.served(requestsAtZero, "/demo", shares{release.before: 0, release.image: 100})
	}
}

func TestAbortByPodHash(t *testing.T) {
	t.Parallel()
	d := beginByHash(t, setup{})
	d.release("web:2")
	d.reaches(10)
	d.promote()
	d.reaches(50)
	d.Abort(d.name)
	ro := d.WaitFor(d.name, testbed.Aborted, testbed.Degraded, testbed.CanaryWeight(0))
	d.soonPointsAt(ro.Status.StableRS)
	d.served(requestsAtZero, "/demo", shares{"web:1": 100, "web:2": 0})
	d.Retry(d.name)
	d.reaches(10)
	d.listsVersions(90, 10)
	d.serves("/demo", shares{"web:1": 90, "web:2": 10})
	d.PromoteFull(d.name)
	d.restsOn("web:2")
}

// Of versions that came and went nothing is left, and whoever is stable in the end answers every request.
func TestVersionsInQuickSuccessionByPodHash(t *testing.T) {
	t.Parallel()
	d := beginByHash(t, setup{steps: stepsTo(10)})
	for n := range 5 {
		for i, state := range []testbed.Condition{testbed.Updating, testbed.CanaryWeight(10), testbed.PausedAt(1)} {
			d.release(fmt.Sprintf("web:%d-%d", n, i))
			if n%3 == i {
				d.WaitFor(d.name, testbed.Updating, state)
			}
		}
		d.isTakenUp(fmt.Sprintf("web:%d-2", n))
		d.PromoteFull(d.name)
		d.restsOn(fmt.Sprintf("web:%d-2", n))
		d.served(100, "/demo", shares{fmt.Sprintf("web:%d-2", n): 100})
	}
}
