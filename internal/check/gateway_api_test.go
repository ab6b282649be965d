package check_test

import (
	"bytes"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/check"
)

// httpRoutes makes a cluster one that serves the Gateway API in these versions, and no Gloo.
func httpRoutes(c *cluster, versions ...string) {
	c.versions = map[string][]string{"rollouts.argoproj.io": {"v1alpha1"}, "httproutes.gateway.networking.k8s.io": versions}
}

// Where Rollouts select routes of the Gateway API alone, nothing is asked of Gloo.
func TestHealthyGatewayAPI(t *testing.T) {
	c, out := in(t, "gateway_api.yaml"), bytes.Buffer{}
	httpRoutes(c, "v1", "v1beta1")
	c.denied = []string{"patch routetables", "patch grpcroutes"}
	if err := run(t, c, options()).PrintText(&out); err != nil {
		t.Fatal(err)
	}
	want := `
ok    ConfigMap argo-rollouts/argo-rollouts-config: registers argoproj-labs/gatewayAPI, at https://example.com/v1/rollouts-plugin-trafficrouter-glooplatform-linux-amd64
ok    ConfigMap argo-rollouts/argo-rollouts-config: argoproj-labs/gatewayAPI: its sha256 is that of this binary
ok    Argo Rollouts controller in namespace argo-rollouts: it is v1.10.1
ok    CustomResourceDefinition rollouts.argoproj.io: v1alpha1 is served
ok    CustomResourceDefinition httproutes.gateway.networking.k8s.io: v1, v1beta1 is served
ok    ServiceAccount argo-rollouts/argo-rollouts: may get, list, watch services in all namespaces
ok    ServiceAccount argo-rollouts/argo-rollouts: may create, patch events in all namespaces
ok    ServiceAccount argo-rollouts/argo-rollouts: may get, list, watch, patch httproutes.gateway.networking.k8s.io in all namespaces
ok    Rollout apps/web: argoproj-labs/gatewayAPI moves its weight on HTTPRoute apps/front rules[0] "web"
ok    HTTPRoute apps/front: the gateway has accepted it
10 ok, 0 to note, 0 to be warned of, 0 wrong
`
	if got := "\n" + out.String(); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
}

func TestGatewayAPI(t *testing.T) {
	const account, web = "ServiceAccount argo-rollouts/argo-rollouts", "Rollout apps/web"
	const restore = "; rollouts-plugin-trafficrouter-glooplatform restore "
	for _, tt := range []row{
		{"it is not there", nil, func(c *cluster) { httpRoutes(c) }, `
fail  CustomResourceDefinition httproutes.gateway.networking.k8s.io: the cluster does not serve it, so no weight can be moved on it; ` +
			`install the Gateway API's here, of the channel that has it, or name the cluster of the routes by --kubeconfig
warn  HTTPRoutes: HTTPRoutes cannot be read: the cluster does not serve that; see what is said of custom resource definitions
warn  ` + web + `: not all objects that it selects can be read, so they are not looked at; ask somebody who may
`},
		{"no patch", nil, func(c *cluster) { c.denied = []string{"patch httproutes"} }, `
fail  ` + account + `: may not patch httproutes.gateway.networking.k8s.io in namespace apps: no weight can be moved; ` +
			`kubectl apply -k deploy/rbac-gateway-api, or the role of that namespace in deploy/rbac-gateway-api-namespaced
`},
		{"no route with these labels", []string{"httpRoute: front", "httpRouteSelector: {matchLabels: {app: none}}"}, nil, `
fail  ` + web + `: at rest is refused: no HTTPRoute in namespace apps matches app=none; there are front: correct the selector or create it
`},
		{"a port that the Service does not have", []string{"backendRefs: [{name: web, port: 8080}]", "backendRefs: [{name: web, port: 8081}]"}, nil, `
fail  ` + web + `: setWeight 10 is refused: HTTPRoute apps/front: rules[0] "web": Service apps/web-canary has no port 8081 (it has 8080 http); add it, or list the destination with another
`},
		{"a route that refers to what it may not", []string{`type: ResolvedRefs, status: "True"`, `type: ResolvedRefs, status: "False", reason: RefNotPermitted`}, nil, `
fail  HTTPRoute apps/front: the gateway has not accepted it: Gateway apps/edge by example.com/gateway: ResolvedRefs is False: RefNotPermitted; ` +
			`until that is mended, requests to what it refers to and cannot reach are answered with an error; mend what the gateway says
`},
		{"what a Rollout left that is gone", []string{"  labels: {app: shop}\n", remembers("apps/old")[1]}, nil, `
fail  Rollout apps/old: it does not exist any more, and HTTPRoute apps/front holds what it left` + restore + `old -n apps
`},
	} {
		if edit := tt.edit; edit == nil {
			tt.edit = func(c *cluster) { httpRoutes(c, "v1") }
		} else {
			tt.edit = func(c *cluster) { httpRoutes(c, "v1"); edit(c) }
		}
		tt.checkIn(t, "gateway_api.yaml", options())
	}
}

// A route that no Rollout selects is looked at as well: it may hold what one left.
func TestLeftBehindOnAnotherKind(t *testing.T) {
	c := healthy(t)
	c.versions["httproutes.gateway.networking.k8s.io"] = []string{"v1"}
	c.objects["httproutes"] = in(t, "gateway_api.yaml", "  labels: {app: shop}\n", remembers("apps/old")[1]).objects["httproutes"]
	want := "fail  Rollout apps/old: it does not exist any more, and HTTPRoute apps/front holds what it left; " + check.Binary + " restore old -n apps\n"
	if got := lines(t, run(t, c, options())); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
