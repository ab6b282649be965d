package e2e

import (
	"fmt"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

func exampleOfExperiments(d *exampleStory) {
	const url = "http://demo.example.com/demo"
	d.release(yellow)
	d.pausesAt(1)
	d.answers(requests, url, shares{blue: 90, yellow: 10})

	d.promote()
	ro := d.WaitFor(d.name, testbed.AtStep(2), testbed.CanaryWeight(10), testbed.Condition{
		Name: "a running experiment",
		Met: func(ro *v1alpha1.Rollout) bool {
			w := ro.Status.Canary.Weights
			return w != nil && len(w.Additional) == 2
		},
	})
	prefix := fmt.Sprintf("demo-%s-%s-2-", ro.Status.CurrentPodHash, ro.Annotations["rollout.argoproj.io/revision"])
	d.soonLists(d.name, "demo 70, demo-canary 10, "+prefix+"baseline 10, "+prefix+"candidate 10")
	d.isAsPreviewed(3)
	d.answers(requests, url, shares{blue: 80, yellow: 20})

	d.promote() // which ends the experiment before its time
	d.pausesAt(4)
	d.answers(requests, url, shares{blue: 50, yellow: 50})
	d.promote()
	d.completes(yellow)
	d.isAsPreviewed(atTheEnd)
}
