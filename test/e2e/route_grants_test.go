package e2e

import (
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// grant permits HTTPRoutes of the gateways' namespace to refer to a Service of the story's.
func grant(service string) string {
	return strings.ReplaceAll(`
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: SERVICE}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: gateways}]
  to: [{group: "", kind: Service, name: SERVICE}]
`, "SERVICE", service)
}

// Gloo has accepted the table, and the gateway may not refer to the canary: the step waits for both.
func TestStepWaitsForReferencesToBeGranted(t *testing.T) {
	t.Parallel()
	d := setup{
		tables: lockstepTable,
		routes: grant("web") + `
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: NAMESPACE, namespace: gateways}
spec:
  parentRefs: [{name: edge, namespace: NAMESPACE}]
  hostnames: [NAMESPACE.example.com]
  rules: [{name: by-route, backendRefs: [{name: web, namespace: NAMESPACE, port: 8080}]}]
`,
		block: "{routeTableSelector: {name: demo}, httpRoute: NAMESPACE, namespace: gateways}",
		steps: stepsTo(10),
	}.begin(t)
	d.release("web:2")
	d.isNotVerified("HTTPRoute gateways/NAMESPACE: not accepted: Gateway NAMESPACE/edge by example.com/stand-in: ResolvedRefs is False: " +
		"RefNotPermitted Service NAMESPACE/web-canary: no ReferenceGrant permits a HTTPRoute in gateways to refer to it; " +
		"until that is mended, requests to what it refers to and cannot reach are answered with an error")
	d.WaitFor(d.name, testbed.AtStep(0), testbed.CanaryWeight(10))
	d.lists("by table", "web 90, web-canary 10")
	d.Apply(grant("web-canary"))
	d.reaches(10)
	d.serves("/", shares{"web:1": 90, "web:2": 10})
	d.promote()
	d.completes("web:2")
}
