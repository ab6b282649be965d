package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// An experiment runs a third group of pods beside the canary, with a weight of its own. The controller makes a Service for
// it that exposes the container port, 3000, where stable's exposes 8080.
func TestExperiment(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		s.tellsOfATrial(t, shares{"web": 42, "web-canary": 6, "web-trial": 12, "partner": 40})
	})
}

// On a route, weights of others are not parts of 100.
func TestExperimentOnRoutes(t *testing.T) {
	inBothRouteShapes(t, func(t *testing.T, s setup) {
		s.tellsOfATrial(t, shares{"web": 50, "web-canary": 7, "web-trial": 14, "partner": 29}) // of 140 parts
	})
}

// tellsOfATrial is a release with an experiment, while which the shop's requests are served so.
func (s setup) tellsOfATrial(t *testing.T, ofShop shares) {
	t.Helper()
	s.steps = trialSteps()
	d := s.begin(t)
	d.release("web:2")
	d.reaches(10)

	d.promote()
	d.WaitFor(d.name, testbed.AtStep(2), testbed.CanaryWeight(10))
	d.experimentRuns(20)
	d.isServed()
	d.servedBy("/demo", shares{"web": 70, "web-canary": 10, "web-trial": 20})
	d.servedBy("/shop", ofShop)
	d.serves("/demo", shares{"web:1": 70, "web:2": 30})

	d.promote() // which ends the experiment
	d.reaches(50)
	d.servedBy("/demo", shares{"web": 50, "web-canary": 50})
	d.promote()
	d.completes("web:2")
}

// trialSteps are to 10, with an experiment of weight 20 beside it, and to 50.
func trialSteps() []v1alpha1.CanaryStep {
	experiment := v1alpha1.CanaryStep{Experiment: &v1alpha1.RolloutExperimentStep{
		Duration: "1h",
		Templates: []v1alpha1.RolloutExperimentTemplate{{
			Name: "trial", SpecRef: v1alpha1.CanarySpecRef, Weight: new(int32(20)), Service: &v1alpha1.TemplateService{Name: "web-trial"},
		}},
	}}
	return slices.Concat(stepsTo(10), []v1alpha1.CanaryStep{experiment}, stepsTo(50))
}

// experimentRuns waits until the templates of an experiment have these weights, and a Service each. Argo Rollouts can forget
// the name of such a Service, which is then put right as docs/experiments.md says.
func (d *story) experimentRuns(weights ...int32) *v1alpha1.Rollout {
	d.t.Helper()
	ro := &v1alpha1.Rollout{}
	d.WaitUntil(fmt.Sprintf("an experiment with weights %d", weights), func(ctx context.Context) (bool, error) {
		if err := bed.Client.Get(ctx, d.Key(d.name), ro); err != nil {
			return false, err
		}
		status := ro.Status.Canary.Weights // of which verified is not reliable: the controller does not always write it
		if status == nil {
			return false, nil
		}
		var got []int32
		for _, a := range status.Additional {
			if a.ServiceName == "" {
				return false, d.makeServicesAnew(ctx)
			}
			got = append(got, a.Weight)
		}
		if !slices.Equal(got, weights) {
			return false, fmt.Errorf("they are %d", got)
		}
		return true, nil
	})
	return ro
}

// makeServicesAnew deletes the Services of this namespace's experiments that no status names, and has the controller look again.
func (d *story) makeServicesAnew(ctx context.Context) error {
	experiments, services := &v1alpha1.ExperimentList{}, &corev1.ServiceList{}
	if err := bed.Client.List(ctx, experiments, client.InNamespace(d.Namespace)); err != nil {
		return err
	}
	if err := bed.Client.List(ctx, services, client.InNamespace(d.Namespace)); err != nil {
		return err
	}
	for _, e := range experiments.Items {
		for _, s := range services.Items {
			named := slices.ContainsFunc(e.Status.TemplateStatuses, func(t v1alpha1.TemplateStatus) bool { return t.ServiceName == s.Name })
			if named || !metav1.IsControlledBy(&s, &e) {
				continue
			}
			if err := bed.Client.Delete(ctx, &s); err != nil {
				return err
			}
			d.t.Logf("Argo Rollouts forgot Service %s of an experiment; it is made anew", s.Name)
		}
		touched := e.DeepCopy()
		touched.Annotations = map[string]string{"touched": metav1.Now().String()}
		if err := bed.Client.Patch(ctx, touched, client.MergeFrom(&e)); err != nil {
			return err
		}
	}
	return fmt.Errorf("a Service is not named")
}

// forgetsServices does what Argo Rollouts can do by itself: it takes the names of Services out of experiments' statuses.
func (d *story) forgetsServices() {
	d.t.Helper()
	experiments := &v1alpha1.ExperimentList{}
	if err := bed.Client.List(d.t.Context(), experiments, client.InNamespace(d.Namespace)); err != nil {
		d.t.Fatal(err)
	}
	for _, e := range experiments.Items {
		forgetful := e.DeepCopy()
		for i := range forgetful.Status.TemplateStatuses {
			forgetful.Status.TemplateStatuses[i].ServiceName = ""
		}
		if err := bed.Client.Patch(d.t.Context(), forgetful, client.MergeFrom(&e)); err != nil {
			d.t.Fatal(err)
		}
	}
}
