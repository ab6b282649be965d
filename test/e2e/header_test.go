package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// headerStep sends requests whose header has this value to the canary, by managed route name.
func headerStep(name, header, value string) v1alpha1.CanaryStep {
	return v1alpha1.CanaryStep{SetHeaderRoute: &v1alpha1.SetHeaderRoute{Name: name, Match: []v1alpha1.HeaderRoutingMatch{
		{HeaderName: header, HeaderValue: &v1alpha1.StringMatch{Exact: value}},
	}}}
}

// withManagedSteps returns a setup whose release begins with these steps, each of them followed by a pause, and goes on to
// 50 and to all. The canary has a pod before the first of them.
func withManagedSteps(s setup, steps ...v1alpha1.CanaryStep) setup {
	one := int32(1)
	s.steps = []v1alpha1.CanaryStep{{SetCanaryScale: &v1alpha1.SetCanaryScale{Replicas: &one}}}
	for _, step := range steps {
		s.steps = append(s.steps, step, v1alpha1.CanaryStep{Pause: &v1alpha1.RolloutPause{}})
	}
	s.steps = append(s.steps, v1alpha1.CanaryStep{SetCanaryScale: &v1alpha1.SetCanaryScale{MatchTrafficWeight: true}})
	s.steps = append(s.steps, stepsTo(50)...)
	s.edit = managesRoutes
	return s
}

func managesRoutes(spec *v1alpha1.RolloutSpec) {
	spec.Strategy.Canary.TrafficRouting.ManagedRoutes = []v1alpha1.MangedRoutes{{Name: "beta"}, {Name: "gamma"}, {Name: "shadow"}}
}

// looksAgain makes the controller look at the Rollout, as it does by itself now and then.
func (d *story) looksAgain() {
	d.t.Helper()
	d.EditRollout(d.name, func(ro *v1alpha1.Rollout) {
		ro.Annotations["example.com/looked-at"] = time.Now().String()
	})
}

// rests waits for the pause with this number, from 0, and for what is written then to be served.
func (d *story) rests(pause int) {
	d.t.Helper()
	d.WaitFor(d.name, testbed.PausedAt(int32(2+2*pause)))
	d.isServed()
}

// servesWith is serves for requests with a header.
func (d *story) servesWith(n int, path, header, value string, want shares) {
	d.t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+d.Namespace+".example.com"+path, http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set(header, value)
	tally, err := d.client.Share(d.t.Context(), n, req)
	if err != nil {
		d.t.Fatal(err)
	}
	d.check(fmt.Sprintf("%s with %s: %s", path, header, value), want, answered(tally), n)
}

// soonServesWith waits until one request to /demo with a header is answered by an image, and then asks for more.
func (d *story) soonServesWith(header, value, image string) {
	d.t.Helper()
	d.WaitUntil(fmt.Sprintf("%s: %s from %s", header, value, image), func(ctx context.Context) (bool, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.Namespace+".example.com/demo", http.NoBody)
		if err != nil {
			return false, err
		}
		req.Header.Set(header, value)
		answer, err := d.client.Do(req)
		return answer.Image == image, err
	})
	d.isServed()
	d.servesWith(requests, "/demo", header, value, shares{image: 100})
}

// A header step at weight 0: only requests with the header reach the canary, and only those that would have reached a
// route to stable.
func TestHeaderStepBeforeAnyWeight(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := withManagedSteps(s, headerStep("beta", "x-beta", "yes")).begin(t)
		d.release("web:2")
		d.rests(0)
		d.served(requestsAtZero, "/demo", shares{"web:1": 100, "web:2": 0})
		d.servesWith(requestsAtZero, "/demo", "x-beta", "no", shares{"web:1": 100, "web:2": 0})
		d.servesWith(requests, "/demo", "X-Beta", "yes", shares{"web:2": 100})
		d.servesWith(requests, "/shop", "x-beta", "yes", shares{"web:2": 100})
		d.servesWith(1, "/health", "x-beta", "yes", shares{})

		d.promote()
		d.reaches(50)
		d.serves("/demo", shares{"web:1": 50, "web:2": 50})
		d.servesWith(requests, "/demo", "x-beta", "yes", shares{"web:2": 100})

		d.promote()
		d.completes("web:2")
		d.serves("/demo", shares{"web:2": 100})
	})
}

// Two managed routes may ask for the same header; an empty step takes just its own away.
func TestTwoHeaderRoutes(t *testing.T) {
	t.Parallel()
	gone := v1alpha1.CanaryStep{SetHeaderRoute: &v1alpha1.SetHeaderRoute{Name: "beta"}}
	d := withManagedSteps(setup{}, headerStep("beta", "x-user", "ann"), headerStep("gamma", "x-user", "bob"), gone).begin(t)
	d.release("web:2")
	d.rests(0)
	d.servesWith(requests, "/demo", "x-user", "ann", shares{"web:2": 100})
	d.servesWith(requests, "/demo", "x-user", "bob", shares{"web:1": 100})
	d.promote()
	d.rests(1)
	d.servesWith(requests, "/demo", "x-user", "ann", shares{"web:2": 100})
	d.servesWith(requests, "/demo", "x-user", "bob", shares{"web:2": 100})
	d.promote()
	d.rests(2)
	d.servesWith(requests, "/demo", "x-user", "ann", shares{"web:1": 100})
	d.servesWith(requests, "/demo", "x-user", "bob", shares{"web:2": 100})
	d.promote()
	d.reaches(50)
	d.promote()
	d.completes("web:2")
}

func TestAbortOfAHeaderStep(t *testing.T) {
	for _, tt := range []struct {
		name, tables string
		goOn         func(*story)
	}{
		{"at the step", "table-stable.yaml", func(*story) {}},
		{"at a weight after it", "table-both.yaml", func(d *story) { d.promote(); d.reaches(50) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := withManagedSteps(setup{tables: file(t, tt.tables)}, headerStep("beta", "x-beta", "yes")).begin(t)
			d.release("web:2")
			d.rests(0)
			tt.goOn(d)
			d.servesWith(requests, "/demo", "x-beta", "yes", shares{"web:2": 100})
			d.Abort(d.name)
			d.aborts()
			d.servesWith(requests, "/demo", "x-beta", "yes", shares{"web:1": 100})
		})
	}
}

// A header route that was lost comes back without anybody asking for it.
func TestLostHeaderRouteComesBack(t *testing.T) {
	for _, tt := range []struct {
		name, plugin string
		lose         func(*story)
	}{
		{"the only pod of the canary restarts", today, func(d *story) {
			undo := d.SetPods("web:2", testbed.Unready())
			d.soonServesWith("x-beta", "yes", "web:1")
			undo()
		}},
		{"the plugin is killed, and a tool puts the table back", fragile, func(d *story) {
			if err := bed.Controller.KillPlugin(d.t.Context(), fragile); err != nil {
				d.t.Fatal(err)
			}
			d.changes("demo", func(table *unstructured.Unstructured) {
				table.Object["spec"] = d.tables[d.Key("demo")].DeepCopy().Object["spec"]
			})
			d.isServed()
			d.looksAgain()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := withManagedSteps(setup{plugin: tt.plugin}, headerStep("beta", "x-beta", "yes")).begin(t)
			d.release("web:2")
			d.rests(0)
			d.servesWith(requests, "/demo", "x-beta", "yes", shares{"web:2": 100})
			tt.lose(d)
			d.soonServesWith("x-beta", "yes", "web:2")
			d.promote()
			d.reaches(50)
			d.promote()
			d.completes("web:2")
		})
	}
}

// While stable is short of a pod, the controller passes over the header step, and nobody asks for the route later.
func TestHeaderStepWhileStableIsShortOfAPod(t *testing.T) {
	t.Parallel()
	s := withManagedSteps(setup{}, headerStep("beta", "x-beta", "yes"))
	s.steps = slices.Insert(s.steps, 1, v1alpha1.CanaryStep{Pause: &v1alpha1.RolloutPause{}})
	d := s.begin(t)
	d.release("web:2")
	d.WaitFor(d.name, testbed.PausedAt(1))
	back := d.SetPods("web:1", testbed.AtMost(3)) // of 4
	d.WaitFor(d.name, testbed.Condition{Name: "a pod short", Met: func(ro *v1alpha1.Rollout) bool {
		return ro.Status.AvailableReplicas == 4 // of both versions
	}})
	d.promote()
	d.WaitFor(d.name, testbed.AtStep(3))
	back()
	d.soonServesWith("x-beta", "yes", "web:2")
	d.promote()
	d.reaches(50)
	d.promote()
	d.completes("web:2")
}

// Whoever edits the steps begins at the first again; the header that was asked for before counts no more.
func TestHeaderStepIsEditedAtAPause(t *testing.T) {
	t.Parallel()
	d := withManagedSteps(setup{}, headerStep("beta", "x-beta", "yes")).begin(t)
	d.release("web:2")
	d.rests(0)
	d.servesWith(requests, "/demo", "x-beta", "yes", shares{"web:2": 100})

	edited := withManagedSteps(setup{}, headerStep("gamma", "x-user", "ann")).steps
	d.EditRollout(d.name, func(ro *v1alpha1.Rollout) { ro.Spec.Strategy.Canary.Steps = edited })
	d.soonServesWith("x-user", "ann", "web:2")
	d.rests(0)
	d.servesWith(requests, "/demo", "x-beta", "yes", shares{"web:1": 100})
	d.promote()
	d.reaches(50)
	d.servesWith(requests, "/demo", "x-user", "ann", shares{"web:2": 100})
	d.promote()
	d.completes("web:2")
}

// A GitOps tool puts the whole table back as it was written: weights, header route and annotation are gone. The next step
// puts that right.
func TestTableIsPutBackAfterAHeaderStep(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		s.steps = append([]v1alpha1.CanaryStep{
			{SetWeight: new(int32(10))}, headerStep("beta", "x-beta", "yes"), {Pause: &v1alpha1.RolloutPause{}},
		}, stepsTo(50)...)
		s.edit = managesRoutes
		d := s.begin(t)
		d.release("web:2")
		d.reaches(10)
		d.servesWith(requests, "/demo", "x-beta", "yes", shares{"web:2": 100})
		d.Apply(s.tables)
		d.promote()
		d.reaches(50)
		d.serves("/demo", shares{"web:1": 50, "web:2": 50})
		d.servesWith(requests, "/demo", "x-beta", "yes", shares{"web:2": 100})
		d.promote()
		d.completes("web:2")
	})
}
