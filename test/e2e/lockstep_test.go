package e2e

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

const (
	lockstepTable = `
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: demo}
spec:
  hosts: [NAMESPACE.example.com]
  http: [{name: by table, forwardTo: {destinations: [{ref: {name: web}, port: {number: 8080}}]}}]
`
	lockstepRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: demo}
spec:
  parentRefs: [{name: edge}]
  hostnames: [NAMESPACE.example.com]
  rules: [{name: by-route, backendRefs: [{name: web, port: 8080, weight: 3}]}]
`
	lockstepBlock = "{routeTableSelector: {name: demo}, httpRoute: demo}"
)

// lockstep is a setup with a table and a route, which move together.
func lockstep(weights ...int32) setup {
	return setup{tables: lockstepTable, routes: lockstepRoute, block: lockstepBlock, steps: stepsTo(weights...)}
}

// In the middle of a release, all requests come by the HTTPRoute, and the table is taken out of the block: it is put at rest.
func TestFromATableToARoute(t *testing.T) {
	t.Parallel()
	d := lockstep(10, 50, 100).begin(t)
	byTable, byRoute := d.through(gw.Client), d.through(edge.Client)
	d.release("web:2")
	d.reaches(10)
	byTable.serves("/", shares{"web:1": 90, "web:2": 10})
	byRoute.serves("/", shares{"web:1": 90, "web:2": 10})
	d.promote()
	d.reaches(50)
	byTable.serves("/", shares{"web:1": 50, "web:2": 50})
	byRoute.serves("/", shares{"web:1": 50, "web:2": 50})

	d.someoneSets("httpRoute: demo")
	d.soonLists("by table", "web")
	d.lists("by-route", "web 50, web-canary 50")
	byTable.served(requestsAtZero, "/", shares{"web:1": 100, "web:2": 0})
	byRoute.serves("/", shares{"web:1": 50, "web:2": 50})

	d.promote()
	d.reaches(100)
	byTable.serves("/", shares{"web:1": 100})
	byRoute.serves("/", shares{"web:2": 100})
	d.promote()
	d.completes("web:2")
	byTable.serves("/", shares{"web:2": 100})
	byRoute.serves("/", shares{"web:2": 100})
}

// Of a table and a route, one is deleted in the middle of a release and the other put back as it was written. That one is put
// right all the same, the release waits, and its owner is told.
func TestOneOfTwoIsMissing(t *testing.T) {
	for _, tt := range []struct{ name, lost, complaint, back, listing string }{
		{"the table", lockstepTable, "RouteTable NAMESPACE/demo does not exist; that namespace has none at all: is it the right one?", lockstepRoute, "by-route"},
		{"the route", lockstepRoute, "HTTPRoute NAMESPACE/demo does not exist; that namespace has none at all: is it the right one?", lockstepTable, "by table"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := lockstep(10, 50).begin(t)
			d.release("web:2")
			d.reaches(10)
			d.loses(tt.lost)
			d.Apply(tt.back)
			d.looksAgain()
			d.complains(tt.complaint)
			d.soonLists(tt.listing, "web 90, web-canary 10")
			d.promote()
			d.WaitFor(d.name, testbed.AtStep(1), testbed.CanaryWeight(10))

			d.applies(tt.lost)
			d.reaches(50)
			for _, gateway := range []*story{d.through(gw.Client), d.through(edge.Client)} {
				gateway.serves("/", shares{"web:1": 50, "web:2": 50})
			}
			d.promote()
			d.completes("web:2")
		})
	}
}

// loses deletes tables and routes, and forgets how they were written.
func (d *story) loses(text string) {
	d.t.Helper()
	objects, err := testbed.Decode(text)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, object := range objects {
		object.SetNamespace(d.Namespace)
		if err := bed.Client.Delete(d.t.Context(), object); err != nil {
			d.t.Fatal(err)
		}
		if object.GetKind() == tableKind.Kind {
			delete(d.tables, client.ObjectKeyFromObject(object))
		}
		delete(d.routes, routeKey{object.GroupVersionKind(), client.ObjectKeyFromObject(object)})
	}
}
