package e2e

import (
	"fmt"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

func exampleOfExperiments(d *exampleStory) {
	const url = "http://demo.example.com/demo"
	d.release(yellow)
	d.pausesAt(1)
	d.answers(requests, url, shares{blue: 90, yellow: 10})

	d.promote()
	d.WaitFor(d.name, testbed.AtStep(2), testbed.CanaryWeight(10))
	ro := d.experimentRuns(10, 10)
	prefix := fmt.Sprintf("demo-%s-%s-2-", ro.Status.CurrentPodHash, ro.Annotations["rollout.argoproj.io/revision"])
	d.soonLists(d.name, "demo 70, demo-canary 10, "+prefix+"baseline 10, "+prefix+"candidate 10")
	d.isAsPreviewed(3)
	d.answers(requests, url, shares{blue: 80, yellow: 20})

	d.forgetsServices()
	d.WaitForEvent(d.name, "RouteWarning", "names no Service for a weight of 10, which stays with stable")
	d.experimentRuns(10, 10)

	d.promote() // which ends the experiment before its time
	d.pausesAt(4)
	d.answers(requests, url, shares{blue: 50, yellow: 50})
	d.promote()
	d.completes(yellow)
	d.isAsPreviewed(atTheEnd)
}
