package e2e

import (
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

func exampleOfGatewayAPI(d *exampleStory) {
	d.Apply(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: external-http, namespace: gateways}
spec:
  gatewayClassName: stand-in
  listeners: [{name: http, protocol: HTTP, port: 80, allowedRoutes: {namespaces: {from: All}}}]
`)
	const url = "http://gateway-demo.example.com/"
	const rule = "" // it has no name
	delete(d.tables, exampleTable)
	d.Namespace, d.client = "gateway-rollout-demo", edge.Client
	d.WaitFor(d.name, testbed.Healthy)
	d.soonLists(rule, "demo-stable 100, demo-canary 0")
	d.answers(requests, url, shares{blue: 100})

	d.release(yellow)
	d.pausesAt(1)
	d.isAsShown("gateway-api.md", "seen at the first pause, in HTTPRoute gateway-rollout-demo/demo", d.Get("gateway.networking.k8s.io/v1", "HTTPRoute", "demo").Object)
	d.answers(requests, url, shares{blue: 50, yellow: 50})
	d.promote()
	d.pausesAt(3)
	d.lists(rule, "demo-stable 0, demo-canary 100")
	d.answers(requests, url, shares{yellow: 100})

	d.promote()
	d.WaitFor(d.name, testbed.Healthy)
	d.soonLists(rule, "demo-stable 100, demo-canary 0")
	d.isAsPreviewed(atTheEnd)
	d.answers(requests, url, shares{yellow: 100})
}
