package traefik

import (
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// Traefik takes turns by weight, so that of 100 requests the counts are exact.
func TestRequestsFollowWeights(t *testing.T) {
	const steps = `[{setWeight: 20}, {pause: {}}, {setWeight: 80}, {pause: {}}]`
	for _, tt := range []struct{ name, rules string }{
		{"stable listed", `[{backendRefs: [{name: web, port: 80}]}]`},
		{"both listed, without weights", `[{backendRefs: [{name: web, port: 80}, {name: web-canary, port: 80}]}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, tt.rules, steps)
			s.answers(counts{"web": 100})
			s.release("web:2", 1)
			s.answers(counts{"web": 80, "web-canary": 20})
			s.Promote("web")
			s.reaches(3)
			s.answers(counts{"web": 20, "web-canary": 80})
			s.Promote("web")
			s.WaitFor("web", testbed.Healthy)
			s.answers(counts{"web": 100})

			s.release("web:3", 1)
			s.answers(counts{"web": 80, "web-canary": 20})
			s.Abort("web")
			s.WaitFor("web", testbed.Aborted, testbed.Degraded, testbed.CanaryWeight(0))
			s.answers(counts{"web": 100})
		})
	}
}
