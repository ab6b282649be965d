package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// mirrorStep mirrors 35 percent of all GETs to the canary, by managed route shadow.
func mirrorStep() v1alpha1.CanaryStep {
	return v1alpha1.CanaryStep{SetMirrorRoute: &v1alpha1.SetMirrorRoute{
		Name: "shadow", Percentage: new(int32(35)), Match: []v1alpha1.RouteMatch{{Method: &v1alpha1.StringMatch{Exact: http.MethodGet}}},
	}}
}

// mirrors sends n requests to a path, checks who answers, and checks that 35 percent of them reach an image as copies too.
// Without an image, none are to be copied.
func (d *story) mirrors(n int, method, path string, want shares, image string) {
	d.t.Helper()
	req, err := http.NewRequest(method, "http://"+d.Namespace+".example.com"+path, http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	before := d.copied()
	tally, err := d.client.Share(d.t.Context(), n, req)
	if err != nil {
		d.t.Fatal(err)
	}
	d.check(method+" "+path, want, answered(tally), n)
	after := d.copied()
	copies := after.Copies - before.Copies
	switch {
	case image == "":
		if after.Requests != before.Requests {
			d.t.Errorf("%s %s: %d of %d requests took a route that is mirrored", method, path, after.Requests-before.Requests, n)
		}
	case after.Requests-before.Requests != n:
		d.t.Errorf("%s %s: %d of %d requests took a route that is mirrored", method, path, after.Requests-before.Requests, n)
	case !plausible(copies, n, 35):
		d.t.Errorf("%s %s: %d copies of %d requests, want 35 percent", method, path, copies, n)
	case after.Images[image]-before.Images[image] != copies:
		d.t.Errorf("%s %s: of %d copies %d reached %s; all: %v", method, path, copies, after.Images[image]-before.Images[image], image, after.Images)
	}
}

// copied counts the copies that the story's gateway has made of requests.
func (d *story) copied() gateway.Mirrored {
	if d.client == edge.Client {
		return edge.Mirrored(d.Namespace, "demo")
	}
	return gw.Mirrored(d.Namespace, "")
}

// Copies of GETs, and of nothing else, go to the canary, whatever its weight. Requests go where they would have gone.
func TestMirror(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		gone := v1alpha1.CanaryStep{SetMirrorRoute: &v1alpha1.SetMirrorRoute{Name: "shadow"}}
		s = withManagedSteps(s, mirrorStep())
		s.steps = append(s.steps, gone, v1alpha1.CanaryStep{Pause: &v1alpha1.RolloutPause{}})
		d := s.begin(t)
		d.mirrors(requests, http.MethodGet, "/demo", shares{"web:1": 100}, "")

		d.release("web:2")
		d.rests(0)
		d.mirrors(requestsAtZero, http.MethodGet, "/demo", shares{"web:1": 100, "web:2": 0}, "web:2")
		d.mirrors(requests, http.MethodGet, "/shop", shares{"web:1": 60, "partner": 40}, "web:2")
		d.mirrors(requests, http.MethodPost, "/demo", shares{"web:1": 100}, "")

		d.promote()
		d.reaches(50)
		d.mirrors(requests, http.MethodGet, "/demo", shares{"web:1": 50, "web:2": 50}, "web:2")
		d.mirrors(requests, http.MethodGet, "/shop", shares{"web:1": 30, "web:2": 30, "partner": 40}, "web:2")
		d.mirrors(requests, http.MethodPost, "/demo", shares{"web:1": 50, "web:2": 50}, "")

		d.promote()
		d.WaitFor(d.name, testbed.PausedAt(7))
		d.WaitUntil("no policy", func(context.Context) (bool, error) { return len(d.policies()) == 0, nil })
		d.isServed()
		d.mirrors(requests, http.MethodGet, "/demo", shares{"web:1": 50, "web:2": 50}, "")
		for _, line := range slices.Sorted(maps.Keys(gw.Mirrored(d.Namespace, "").Lines)) {
			if !strings.HasPrefix(line, http.MethodGet+" ") {
				t.Errorf("copied %s", line)
			}
		}
		d.promote()
		d.completes("web:2")
	})
}

func TestEndOfAMirrorStep(t *testing.T) {
	for _, tt := range []struct {
		name, tables string
		end          func(*story)
	}{
		{"abort", "table-both.yaml", func(d *story) { d.Abort(d.name); d.aborts() }},
		{"completion", "table-stable.yaml", func(d *story) { d.PromoteFull(d.name); d.completes("web:2") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := withManagedSteps(setup{tables: file(t, tt.tables)}, mirrorStep()).begin(t)
			d.release("web:2")
			d.rests(0)
			d.mirrors(requests, http.MethodGet, "/demo", shares{"web:1": 100}, "web:2")
			before := gw.Mirrored(d.Namespace, "")
			tt.end(d) // and neither route nor policy is left
			d.ask(requests, "/demo")
			if after := gw.Mirrored(d.Namespace, ""); after.Requests != before.Requests {
				t.Errorf("%d requests more took a route that is mirrored", after.Requests-before.Requests)
			}
		})
	}
}

// A policy or a route that was lost comes back. One whose route is gone, and with it the annotation, is found all the same.
func TestMirrorIsLost(t *testing.T) {
	t.Parallel()
	s := withManagedSteps(setup{tables: file(t, "table-stable.yaml")}, mirrorStep())
	d := s.begin(t)
	d.release("web:2")
	d.rests(0)
	for _, policy := range d.policies() {
		if err := bed.Client.Delete(t.Context(), &policy); err != nil {
			t.Fatal(err)
		}
	}
	d.looksAgain()
	d.WaitUntil("the policies", func(context.Context) (bool, error) { return len(d.policies()) == 2, nil }) // one for each port
	d.isServed()
	d.mirrors(requests, http.MethodGet, "/demo", shares{"web:1": 100}, "web:2")

	d.Apply(s.tables)
	d.looksAgain()
	d.WaitUntil("the route", func(context.Context) (bool, error) {
		return strings.Contains(fmt.Sprint(d.table(d.Key("demo")).Object["spec"]), "name:shadow"), nil
	})
	d.isServed()
	d.mirrors(requests, http.MethodGet, "/demo", shares{"web:1": 100}, "web:2")

	d.Apply(s.tables)
	d.Abort(d.name)
	d.aborts()
}

// Nobody may delete policies: traffic goes back to stable all the same, the route that was mirrored is gone, and the policy
// goes once it may.
func TestPolicyThatMayNotBeDeleted(t *testing.T) {
	t.Parallel()
	d := withManagedSteps(setup{}, mirrorStep()).begin(t)
	d.release("web:2")
	d.rests(0)
	d.promote()
	d.reaches(50)
	permit := d.forbidsDeletionOfPolicies()

	d.Abort(d.name)
	d.soonLists("demo", "web")
	d.WaitFor(d.name, testbed.Aborted, testbed.CanaryWeight(0))
	d.mirrors(requestsAtZero, http.MethodGet, "/demo", shares{"web:1": 100, "web:2": 0}, "")
	left := len(d.policies())
	if left == 0 {
		t.Error("no policy is left, so nothing was forbidden")
	}
	if lines := d.said(bed.Controller.Log(), "WARN"); len(lines) != 2*left {
		t.Errorf("of each policy it is to be warned once that it is left, and once in the Event's words; the log says\n%s", strings.Join(lines, "\n"))
	}
	permit()
	d.looksAgain()
	d.aborts()
}

// forbidsDeletionOfPolicies keeps everybody from deleting MirrorPolicies of the story's namespace until permit is called.
func (d *story) forbidsDeletionOfPolicies() (permit func()) {
	d.t.Helper()
	objects := d.Apply(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAMESPACE}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [trafficcontrol.policy.gloo.solo.io], apiVersions: ["*"], operations: [DELETE], resources: ["*"]}]
  validations: [{expression: "false", message: "policies stay", reason: Forbidden}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAMESPACE}
spec:
  policyName: NAMESPACE
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}}
`)
	forbidden := func(ctx context.Context) (bool, error) {
		policies := d.policies()
		if len(policies) == 0 {
			return false, nil
		}
		err := bed.Client.Delete(ctx, &policies[0], client.DryRunAll)
		if apierrors.IsForbidden(err) {
			return true, nil
		}
		return false, client.IgnoreNotFound(err)
	}
	d.WaitUntil("deletion to be forbidden", forbidden)
	return func() {
		d.t.Helper()
		for _, obj := range slices.Backward(objects) {
			if err := bed.Client.Delete(d.t.Context(), obj); err != nil {
				d.t.Fatal(err)
			}
		}
		d.WaitUntil("deletion to be permitted", func(ctx context.Context) (bool, error) {
			found, err := forbidden(ctx)
			return !found, err
		})
	}
}
