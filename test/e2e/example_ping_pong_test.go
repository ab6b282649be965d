package e2e

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

func exampleOfPingPong(d *exampleStory) {
	delete(d.tables, exampleTable)
	const url = "http://ping-pong.example.com/"
	old := d.WaitFor(d.name, testbed.Healthy).Status.StableRS
	d.soonLists(d.name, "demo-ping 100, demo-pong 0")
	d.answers(requests, url, shares{blue: 100})

	d.release(yellow)
	d.pausesAt(1)
	d.answers(requests, url, shares{blue: 90, yellow: 10})
	d.promote()
	d.pausesAt(3)
	d.promote()
	d.WaitFor(d.name, testbed.Healthy)
	d.soonLists(d.name, "demo-ping 0, demo-pong 100")
	d.isAsPreviewed(atTheEnd)
	d.answers(requests, url, shares{yellow: 100})
	// what a tool would send all requests to that applies the table as it is written
	hash, _, err := unstructured.NestedString(d.Get("v1", "Service", "demo-ping").Object, "spec", "selector", "rollouts-pod-template-hash")
	if err != nil || hash != old {
		d.t.Errorf("demo-ping selects version %q, %v; want %q, the old one", hash, err, old)
	}

	d.release(blue)
	d.WaitFor(d.name, testbed.PausedAt(1))
	d.soonLists(d.name, "demo-ping 10, demo-pong 90")
	d.answers(requests, url, shares{yellow: 90, blue: 10})
	d.Abort(d.name)
	d.WaitFor(d.name, testbed.Aborted, testbed.CanaryWeight(0))
	d.soonLists(d.name, "demo-ping 0, demo-pong 100")
}
