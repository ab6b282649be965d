package check_test

import "testing"

const destination = "          - ref: {name: web, namespace: apps}\n            port: {number: 8080}\n"

func TestRollouts(t *testing.T) {
	const web, cure = "Rollout apps/web", "; correct the block, or the Rollout\n"
	for _, tt := range []row{
		{"a block that does not decode", []string{"routeTableSelector:", "routeTableSelecter:"}, nil, `
fail  ` + web + `: solo-io/glooplatform: routeTableSelecter: unknown field; did you mean routeTableSelector?; routeTableSelector: missing; it says which RouteTables are concerned, by name or by labels; for routes of the Gateway API set httpRoute, grpcRoute, tcpRoute or tlsRoute` + cure},
		{"a namespace that the args do not allow", []string{`"gloo-mesh"]`, `"gateways"]`}, nil, `
fail  ` + web + `: solo-io/glooplatform: routeTableSelector: namespace gloo-mesh is not among those that the plugin's flag --route-namespaces allows (gateways)` + cure},
		{"no canary named", []string{"      canaryService: web-canary\n", ""}, nil, `
fail  ` + web + `: solo-io/glooplatform: the Rollout has no spec.strategy.canary.canaryService; set it, or set canary.name in this block` + cure},
		{"a block for nobody", []string{"          solo-io/glooplatform:\n", "          solo-io/gloo:\n"}, nil, `
fail  ` + web + `: its block is for plugin solo-io/gloo, and no traffic router of that name is registered; rename the block, or register the plugin by that name, and restart the controller
`},
		{"blue-green", []string{"  strategy:\n", "  strategy:\n    blueGreen: {activeService: web}\n"}, nil, `
warn  ` + web + `: it is blue-green, and of those no traffic router is ever asked: block solo-io/glooplatform does nothing; take the block out, or spec.strategy.blueGreen
`},
		{"no such table", []string{"{name: front, namespace", "{name: fornt, namespace"}, nil, `
fail  ` + web + `: at rest is refused: RouteTable gloo-mesh/fornt does not exist; there are front: correct the selector or create it
`},
		{"no route to stable", []string{"ref: {name: web,", "ref: {name: shop,"}, nil, `
fail  ` + web + `: at rest is refused: RouteTable gloo-mesh/front: none of its 1 routes forwards to stable Service apps/web (http[0] "web" forwards to Service apps/shop:8080); add it to a route or select its table
`},
		{"a route that is left out", []string{
			"  http:\n", "  http:\n    - name: other\n      forwardTo:\n        destinations:\n" + destination,
			"namespace: gloo-mesh}", "namespace: gloo-mesh}\n            routeSelector: {name: web}",
		}, nil, `
note  ` + web + `: RouteTable gloo-mesh/front: http[0] "other" forwards to Service apps/web:8080 and is not selected
`},
		{"no stable Service", nil, func(c *cluster) { c.without("services", "web") }, `
fail  ` + web + `: Service apps/web does not exist; create it
`},
		{"no canary Service", nil, func(c *cluster) { c.without("services", "web-canary") }, `
fail  ` + web + `: Service apps/web-canary does not exist; create it
`},
		{"a port that stable does not have", []string{"port: {number: 8080}", "port: {number: 80}", "canaryService: web-canary", "canaryService: web-canary\n      maxSurge: 1"}, nil, `
fail  ` + web + `: setWeight 10 is refused: RouteTable gloo-mesh/front: http[0] "web": Service apps/web-canary has no port 80 (it has 8080 http); add it, or list the destination with another
`},
		{"a port that stable does not have, both listed", []string{destination, "          - {ref: {name: web, namespace: apps}, port: {number: 80}, weight: 100}\n          - {ref: {name: web-canary, namespace: apps}, port: {number: 8080}, weight: 0}\n"}, nil, `
fail  ` + web + `: RouteTable gloo-mesh/front: http[0] "web" lists Service apps/web:80, and the Service has no such port (it has 8080 http); add the port, or list another
`},
		{"a subset that no pod is of", []string{destination, "          - {ref: {name: web, namespace: apps}, port: {number: 8080}, subset: {app: shop}, weight: 100}\n          - {ref: {name: web-canary, namespace: apps}, port: {number: 8080}, subset: {app: web}, weight: 0}\n"}, nil, `
fail  ` + web + `: RouteTable gloo-mesh/front: http[0] "web" lists Service apps/web:8080 (app=shop), and its pods have app=web; give the pods that label by the template, stableMetadata or canaryMetadata, or correct the subset
`},
		{"a subset by canaryMetadata", []string{
			destination, "          - {ref: {name: web, namespace: apps}, port: {number: 8080}, subset: {role: stable}, weight: 100}\n          - {ref: {name: web-canary, namespace: apps}, port: {number: 8080}, subset: {role: canary}, weight: 0}\n",
			"      stableService: web\n", "      stableService: web\n      stableMetadata: {labels: {role: stable}}\n      canaryMetadata: {labels: {role: canary}}\n",
		}, nil, ""},
		{"Gloo rejects the table", []string{"approval: ACCEPTED", "approval: INVALID, message: no gateway"}, nil, `
fail  RouteTable gloo-mesh/front: Gloo has not accepted it: INVALID no gateway; until that is mended, requests to its faulty routes are answered with 500; mend what Gloo says
`},
		{"Gloo is behind", []string{`observedGeneration: "3"`, `observedGeneration: "2"`}, nil, `
warn  RouteTable gloo-mesh/front: Gloo is not done with generation 3 of it; ask again; if it stays so, look at Gloo's management server
`},
		{"Gloo says nothing", []string{"\nstatus:\n  common: {State: {approval: ACCEPTED, observedGeneration: \"3\"}}", ""}, nil, `
warn  RouteTable gloo-mesh/front: Gloo has never said anything of it; see whether Gloo's management server runs, and watches its namespace
`},
		{"Gloo rejects a mirror policy", []string{"observedGeneration: \"3\"}}", "observedGeneration: \"3\"}}" + `
---
apiVersion: trafficcontrol.policy.gloo.solo.io/v2
kind: MirrorPolicy
metadata:
  name: front-1
  namespace: gloo-mesh
  generation: 1
  labels: {rollouts.argoproj.io/managed-by: web-1}
spec: {}
status:
  common: {State: {approval: INVALID, message: no such destination, observedGeneration: "1"}}
---
apiVersion: trafficcontrol.policy.gloo.solo.io/v2
kind: MirrorPolicy
metadata: {name: of-somebody-else, namespace: gloo-mesh, generation: 1}
spec: {}`}, nil, `
fail  MirrorPolicy gloo-mesh/front-1: Gloo has not accepted it: INVALID no such destination; until that is mended, nothing is mirrored; mend what Gloo says
`},
		{"a controller that is too old", append([]string{"v1.10.1", "v1.9.2"}, mirroring...), nil, `
fail  ` + web + `: setMirrorRoute is refused by controllers before v1.10, and this one is v1.9.2; upgrade the controller
`},
		{"RouteTables of one namespace alone may be read", nil, func(c *cluster) { c.forbidden = []string{"list routetables"} }, `
warn  RouteTables: you may not read RouteTables of all namespaces, so what is to be said of that is missing here; ask somebody who may
`},
		{"no RouteTable may be read", nil, func(c *cluster) {
			c.forbidden = []string{"list routetables", "list routetables in gloo-mesh", "get routetables in gloo-mesh"}
		}, `
warn  RouteTables: you may not read RouteTables of all namespaces, so what is to be said of that is missing here; ask somebody who may
warn  ` + web + `: not all objects that it selects can be read, so they are not looked at; ask somebody who may
`},
		{"Rollouts may not be read", nil, func(c *cluster) { c.forbidden = []string{"list rollouts"} }, `
warn  Rollouts: you may not read Rollouts of all namespaces (-n names one), so what is to be said of that is missing here; ask somebody who may
`},
	} {
		tt.check(t, options())
	}
}

// remembers are changes by which the table remembers something of a Rollout.
func remembers(owner string) []string {
	return []string{"  labels: {app: shop}\n", "  labels: {app: shop}\n  annotations:\n    rollouts.argoproj.io/traffic-weights: '{\"" + owner +
		"\":{\"roles\":{\"apps/old\":\"stable\",\"apps/old-canary\":\"canary\"},\"held\":[{\"was\":{\"apps/old\":null},\"routes\":[\"http/old\"]}]}}'\n"}
}

func TestLeftBehind(t *testing.T) {
	const restore = "; rollouts-plugin-trafficrouter-glooplatform restore "
	for _, tt := range []row{
		{"by a Rollout that is gone", remembers("apps/old"), nil, `
fail  Rollout apps/old: it does not exist any more, and RouteTable gloo-mesh/front holds what it left` + restore + `old -n apps
`},
		{"by one of another cluster", remembers("west/apps/old"), nil, `
note  Rollout west/apps/old: tables hold something of it, and its cluster is not looked at here
`},
		{"on a table that is selected no more, in a release", []string{`currentPodHash: "1"`, `currentPodHash: "2"`, `observedGeneration: "3"}}`, `observedGeneration: "3"}}
---
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata:
  name: before
  resourceVersion: "2"
  namespace: gloo-mesh
  annotations:
    rollouts.argoproj.io/traffic-weights: '{"apps/web":{"roles":{"apps/web":"stable"},"held":[{"was":{"apps/web":null},"routes":["http/web"]}]}}'
spec: {}`}, nil, `
warn  Rollout apps/web: RouteTable gloo-mesh/before is selected no more, and holds something of it; its next step puts that at rest; if it stays, rollouts-plugin-trafficrouter-glooplatform restore web -n apps
`},
		{"by one that has another router by now", append([]string{"          solo-io/glooplatform:\n", "          somebody/else:\n"}, remembers("apps/web")...), nil, `
fail  Rollout apps/web: it does not use the plugin any more, or not as it stands, and RouteTable gloo-mesh/front holds what it left` + restore + `web -n apps
`},
		{"by one that has no release under way", []string{destination, destination + "            weight: 90\n          - {ref: {name: web-canary, namespace: apps}, port: {number: 8080}, subset: {}, weight: 10}\n"}, nil, `
fail  Rollout apps/web: RouteTable gloo-mesh/front is not at rest, and no release is under way` + restore + `web -n apps
`},
	} {
		tt.check(t, options())
	}
}
