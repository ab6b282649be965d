package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gatewayapi"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// inDetail has rules that ask for more than a path.
const inDetail = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: demo}
spec:
  parentRefs: [{name: edge}]
  hostnames: [NAMESPACE.example.com]
  rules:
    - name: search
      matches: [{path: {type: PathPrefix, value: /demo}, headers: [{name: x-tenant, value: "1"}], queryParams: [{name: q, value: go}]}]
      filters:
        - {type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /color}}}
        - {type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: x-edge, value: "yes"}]}}
      backendRefs: [BACKENDS]
    - name: shop
      matches: [{path: {type: PathPrefix, value: /shop}, method: GET}, {path: {type: PathPrefix, value: /store}}]
      backendRefs: [{name: partner, port: 80, weight: 40}, {name: web, port: 8080, weight: 60}]
    - name: partner
      matches: [{path: {type: PathPrefix, value: /partner}}]
      backendRefs: [{name: partner, port: 80}]
`

// A header step at weight 0: of the requests that a rule to stable is for, those with the header reach the canary, and no others.
// The label shows the release.
func TestHeaderStepOnAnHTTPRoute(t *testing.T) {
	for _, tt := range []struct{ name, backends string }{
		{"stable listed", "{name: web, port: 8080}"},
		{"both listed", "{name: web, port: 8080, weight: 100}, {name: web-canary, port: 8080, weight: 0}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := withManagedSteps(setup{
				plugin: successor, routes: strings.ReplaceAll(inDetail, "BACKENDS", tt.backends), services: withPartner(t),
			}, headerStep("beta", "x-beta", "yes")).begin(t)
			host := "http://" + d.Namespace + ".example.com"
			const search = "/demo?q=go"
			d.release("web:2")
			d.rests(0)
			d.showsRelease()
			d.answers(requestsAtZero, host+search, shares{"web:1": 100, "web:2": 0}, "x-tenant", "1")
			d.answers(requests, host+search, shares{"web:1": 100}, "x-tenant", "1", "x-beta", "no")
			d.answers(requests, host+search, shares{"web:2": 100}, "x-tenant", "1", "x-beta", "yes")
			d.answers(1, host+search, shares{}, "x-beta", "yes")
			d.answers(1, host+"/demo?q=no", shares{}, "x-tenant", "1", "x-beta", "yes")
			d.answers(requests, host+"/shop", shares{"web:1": 60, "partner": 40})
			for _, path := range []string{"/shop", "/store"} {
				d.answers(requests, host+path, shares{"web:2": 100}, "x-beta", "yes")
			}
			d.answers(requests, host+"/partner", shares{"partner": 100}, "x-beta", "yes")

			d.promote()
			d.reaches(50)
			d.answers(requests, host+search, shares{"web:1": 50, "web:2": 50}, "x-tenant", "1")
			d.answers(requests, host+search, shares{"web:2": 100}, "x-tenant", "1", "x-beta", "yes")

			d.promote()
			d.completes("web:2")
		})
	}
}

func TestHeaderStepOnAGRPCRoute(t *testing.T) {
	t.Parallel()
	d := withManagedSteps(setup{
		block: "grpcRoutes: [{name: demo, useHeaderRoutes: true}]", routes: strings.ReplaceAll(grpcRoute, "BACKENDS", "{name: web, port: 8080}"),
	}, headerStep("beta", "x-beta", "yes")).begin(t)
	d.release("web:2")
	d.rests(0)
	d.showsRelease()
	d.connectsBy(gatewayapi.GRPC, shares{"web:1": 100})
	d.connectsBy(gatewayapi.GRPC, shares{"web:2": 100}, "x-beta", "yes")
	d.Abort(d.name)
	d.aborts()
	d.connectsBy(gatewayapi.GRPC, shares{"web:1": 100}, "x-beta", "yes")
}

// Copies of GETs go to the canary, and requests where they would have gone.
func TestMirrorOnAnHTTPRoute(t *testing.T) {
	inBothRouteShapes(t, func(t *testing.T, s setup) {
		gone := v1alpha1.CanaryStep{SetMirrorRoute: &v1alpha1.SetMirrorRoute{Name: "shadow"}}
		s = withManagedSteps(s, mirrorStep())
		s.steps = append(s.steps, gone, v1alpha1.CanaryStep{Pause: &v1alpha1.RolloutPause{}})
		d := s.begin(t)
		d.release("web:2")
		d.rests(0)
		d.showsRelease()
		d.mirrors(requestsAtZero, http.MethodGet, "/demo", shares{"web:1": 100, "web:2": 0}, "web:2")
		d.mirrors(requests, http.MethodPost, "/demo", shares{"web:1": 100}, "")

		d.promote()
		d.reaches(50)
		d.mirrors(requests, http.MethodGet, "/demo", shares{"web:1": 50, "web:2": 50}, "web:2")
		d.mirrors(requests, http.MethodGet, "/shop", shares{"web:1": 36, "web:2": 36, "partner": 29}, "web:2")

		d.promote()
		d.WaitFor(d.name, testbed.PausedAt(7))
		d.isServed()
		d.mirrors(requests, http.MethodGet, "/demo", shares{"web:1": 50, "web:2": 50}, "")
		d.promote()
		d.completes("web:2")
	})
}
