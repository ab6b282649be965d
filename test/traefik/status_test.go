package traefik

import (
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// A step is not left while Traefik refuses the route or something in it, and its words are told to the Rollout's owner.
func TestStepWaitsForTraefik(t *testing.T) {
	const (
		elsewhere = "elsewhere.test" // no listener takes it
		stable    = `[{backendRefs: [{name: web, port: 80}]}]`
		notThere  = `[{backendRefs: [{name: web, port: 80}, {name: old, port: 80, weight: 0}]}]`
		abroad    = `[{backendRefs: [{name: web, port: 80}, {name: kubernetes, namespace: default, port: 443, weight: 0}]}]`

		old = `
apiVersion: v1
kind: Service
metadata: {name: old}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: old, labels: {kubernetes.io/service-name: old}}
addressType: IPv4
endpoints: []
`
		grant = `
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: NAMESPACE, namespace: default}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: NAMESPACE}]
  to: [{group: "", kind: Service}]
`
	)
	for _, tt := range []struct {
		name, host, rules string // host: the story's own, if it is empty
		says              string // in the event
		cure              string // beside a route that is for the story's own host
	}{
		{"a Service that is not there", "", notThere, "ResolvedRefs is False: BackendNotFound", old},
		{"a Service elsewhere, without a grant", "", abroad, "ResolvedRefs is False: RefNotPermitted", grant},
		{"a host that no listener takes", elsewhere, stable, "Accepted is False: NoMatchingListenerHostname", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, stable, `[{setWeight: 20}, {pause: {}}]`)
			if tt.host == "" {
				tt.host = s.host()
			}
			s.routes(tt.host, tt.rules)
			s.SetImage("web", "web:2")
			s.WaitForEvent("web", "WeightNotVerified", "HTTPRoute "+s.Namespace+"/web: not accepted: Gateway default/front by traefik.io/gateway-controller: "+tt.says)
			s.WaitFor("web", testbed.AtStep(0), testbed.CanaryWeight(20))
			if s.Apply(tt.cure); tt.host != s.host() {
				s.routes(s.host(), tt.rules)
			}
			s.reaches(1)
			s.answers(counts{"web": 80, "web-canary": 20})
		})
	}
}
