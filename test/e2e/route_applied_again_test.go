package e2e

import (
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// A manifest is applied again, which says nothing of weights. The API server fills in 1 for each, so that half of the requests go
// to a canary that is listed; the next call puts that right, in the middle of a release and at rest.
func TestManifestWithoutWeightsIsAppliedAgain(t *testing.T) {
	for _, tt := range []struct {
		name, backends string
		spoilt         shares
		atRest         string
	}{
		{"stable listed", "{name: web, port: 8080}", shares{"web:1": 100}, "web 1"},
		{"both listed", "{name: web, port: 8080}, {name: web-canary, port: 8080}", shares{"web:1": 50, "web:2": 50}, "web 100, web-canary 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := setup{plugin: successor, steps: stepsTo(10, 100), routes: `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: demo}
spec:
  parentRefs: [{name: edge}]
  hostnames: [NAMESPACE.example.com]
  rules: [{name: all, backendRefs: [` + tt.backends + `]}]
`}
			d := s.prepare(t)
			d.Apply(s.rollout(t))
			d.WaitFor(d.name, testbed.Healthy)
			d.soonLists("all", tt.atRest)
			d.release("web:2")
			d.reaches(10)
			d.serves("/", shares{"web:1": 90, "web:2": 10})

			d.Apply(s.routes)
			d.isServed()
			d.serves("/", tt.spoilt)
			d.looksAgain()
			d.soonLists("all", "web 90, web-canary 10")
			d.serves("/", shares{"web:1": 90, "web:2": 10})

			d.promote()
			d.reaches(100)
			d.promote()
			d.WaitFor(d.name, testbed.Healthy)
			d.soonLists("all", tt.atRest)
			d.Apply(s.routes)
			d.looksAgain()
			d.soonLists("all", tt.atRest)
			d.served(requestsAtZero, "/", shares{"web:2": 100})
		})
	}
}
