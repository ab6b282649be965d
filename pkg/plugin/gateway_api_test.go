package plugin_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/memory"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
)

const (
	demoTable = `{apiVersion: networking.gloo.solo.io/v2, kind: RouteTable, metadata: {name: table, namespace: apps},
spec: {http: [{forwardTo: {destinations: [{ref: {name: web}}]}}]}}`
	demoRoute = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: route, namespace: apps},
spec: {rules: [{backendRefs: [{name: web, port: 8080}]}]}}`
	onTable = "routeTableSelector: {name: table}\n"
	onRoute = "httpRoute: route\n"
)

// both is a cluster with a RouteTable and an HTTPRoute. It counts what is asked of it, by verb and resource.
type both struct {
	*memory.Cluster
	asked map[string]int
	// refuses is the error for resources of the Gateway API; nil: there is none.
	refuses error
}

func newBoth(t *testing.T) *both {
	t.Helper()
	port := intent.Service{Ports: []intent.ServicePort{{Number: 8080, Name: "http", Target: "http"}}}
	c := &both{Cluster: &memory.Cluster{Services: map[string]intent.Service{"web": port, "web-canary": port}}, asked: map[string]int{}}
	for _, text := range []string{demoTable, demoRoute} {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		c.Put(raw)
	}
	return c
}

func (c *both) ask(verb string, resource schema.GroupVersionResource) error {
	c.asked[verb+" "+resource.Resource]++
	if resource.Group == "gateway.networking.k8s.io" {
		return c.refuses
	}
	return nil
}

func (c *both) Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	if err := c.ask("get", resource); err != nil {
		return engine.Object{}, err
	}
	return c.Cluster.Get(ctx, resource, namespace, name)
}

func (c *both) List(ctx context.Context, resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]engine.Object, error) {
	if err := c.ask("list", resource); err != nil {
		return nil, err
	}
	return c.Cluster.List(ctx, resource, namespace, selector)
}

func (c *both) Find(ctx context.Context, resource schema.GroupVersionResource, namespace string, index engine.Index, keys ...string) ([]engine.Object, error) {
	if err := c.ask("find", resource); err != nil {
		return nil, err
	}
	return c.Cluster.Find(ctx, resource, namespace, index, keys...)
}

// weights returns those of the table and of the route, each as its entries give them.
func (c *both) weights(t *testing.T) string {
	t.Helper()
	var texts []string
	for i, api := range []engine.API{plugin.APIs()[0], plugin.APIs()[1]} {
		routes, err := api.Routes(c.Objects[i].JSON)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range routes[0].Entries {
			weight := "-"
			if e.Weight != nil {
				weight = fmt.Sprint(*e.Weight)
			}
			texts = append(texts, weight)
		}
		texts = append(texts, "|")
	}
	return strings.Join(texts[:len(texts)-1], " ")
}

func (c *both) restart() *plugin.Router { return plugin.OnCluster(c, hclog.NewNullLogger()) }

// underWay returns the Rollout with this block whose canary had a weight at the last call.
func underWay(t *testing.T, block string, weight int32) *v1alpha1.Rollout {
	t.Helper()
	ro := rollout(t, "solo-io/glooplatform", block)
	ro.Status.Canary.Weights = &v1alpha1.TrafficWeights{Canary: v1alpha1.WeightDestination{Weight: weight, ServiceName: "web-canary"}}
	return ro
}

func TestTargets(t *testing.T) {
	for _, tt := range []struct{ name, block, want string }{
		{"a table", "routeTableSelector: {name: a, namespace: shared}", "RouteTable shared a"},
		{"a route", "httpRoute: a", "HTTPRoute apps a"},
		{"routes by name", "grpcRoutes: [{name: a, useHeaderRoutes: true}, {name: b}]\nnamespace: shared", "GRPCRoute shared a; GRPCRoute shared b"},
		{"routes by label", "tlsRouteSelector: {matchLabels: {app: demo}}", "TLSRoute apps app=demo"},
		{"all together", "routeTableSelector: {labels: {app: demo}}\nhttpRoute: a\ntcpRoute: b\ntcpRouteSelector: {matchLabels: {app: demo}}",
			"RouteTable apps app=demo; HTTPRoute apps a; TCPRoute apps b; TCPRoute apps app=demo"},
		{"routes by the label that shows a release", "httpRouteSelector: {matchExpressions: [{key: rollouts.argoproj.io/gatewayapi-canary, operator: DoesNotExist}]}",
			"httpRouteSelector: it selects by label rollouts.argoproj.io/gatewayapi-canary, which comes and goes with each release; select by another, or set inProgressLabelKey or disableInProgressLabel"},
		{"by that label's key of the block", "tcpRouteSelector: {matchLabels: {app: demo}}\ninProgressLabelKey: app",
			"tcpRouteSelector: it selects by label app, which comes and goes with each release; select by another, or set inProgressLabelKey or disableInProgressLabel"},
		{"by a label that releases do not touch", "httpRouteSelector: {matchLabels: {rollouts.argoproj.io/gatewayapi-canary: x}}\ndisableInProgressLabel: true",
			"HTTPRoute apps rollouts.argoproj.io/gatewayapi-canary=x"},
		{"a route where it may not be", "httpRoute: a\nnamespace: other",
			"namespace: namespace other is not among those that the plugin's flag --route-namespaces allows (apps, shared)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := targets(t, tt.block); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// targets returns what a block selects, or the error.
func targets(t *testing.T, block string) string {
	t.Helper()
	var texts []string
	options := plugin.Options{RouteNamespaces: []string{"apps", "shared"}}
	selected, err := options.Targets(rollout(t, "a/b", block), decoded(t, block))
	if err != nil {
		return err.Error()
	}
	for _, target := range selected {
		what := target.Name
		if target.Selector != nil {
			what += target.Selector.String()
		}
		texts = append(texts, strings.Join([]string{target.API.Kind(), target.Namespace, what}, " "))
	}
	return strings.Join(texts, "; ")
}

func TestTablesAndRoutesMoveTogether(t *testing.T) {
	c := newBoth(t)
	applied := []string{objects.Spec(t, c.Objects[0]), objects.Spec(t, c.Objects[1])}
	r := c.restart()
	for _, tt := range []struct {
		weight int32
		want   string
	}{{10, "90 10 | 90 10"}, {50, "50 50 | 50 50"}, {100, "0 100 | 0 100"}, {0, "- | -"}} {
		ro := rollout(t, "solo-io/glooplatform", onTable+onRoute)
		if err := r.SetWeight(ro, tt.weight, nil); err.HasError() {
			t.Fatal(err)
		}
		if got := c.weights(t); got != tt.want {
			t.Errorf("at %d: got %s, want %s", tt.weight, got, tt.want)
		}
		if answer, _ := r.VerifyWeight(ro, tt.weight, nil); answer != types.Verified {
			t.Errorf("at %d: not verified", tt.weight)
		}
	}
	for i, want := range applied {
		if got := objects.Spec(t, c.Objects[i]); got != want {
			t.Errorf("at rest\n%s\nwant\n%s", got, want)
		}
	}
}

// The label is on routes of the Gateway API alone, by the block's words, and comes with the weights in one patch.
func TestLabelShowsARelease(t *testing.T) {
	for _, tt := range []struct{ name, block, want string }{
		{"by default", "", "map[rollouts.argoproj.io/gatewayapi-canary:in-progress]"},
		{"another one", "inProgressLabelKey: canary\ninProgressLabelValue: busy", "map[canary:busy]"},
		{"none", "disableInProgressLabel: true", "map[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newBoth(t)
			r, ro := c.restart(), rollout(t, "solo-io/glooplatform", onTable+onRoute+tt.block)
			for _, step := range []struct {
				weight int32
				want   string
			}{{10, tt.want}, {0, "map[]"}} {
				before := c.Writes
				if err := r.SetWeight(ro, step.weight, nil); err.HasError() {
					t.Fatal(err)
				}
				if got := fmt.Sprint(c.Objects[1].Labels); got != step.want || len(c.Objects[0].Labels) > 0 || c.Writes-before != 2 {
					t.Errorf("at %d: labels %s and, of the table, %v by %d writes; want %s", step.weight, got, c.Objects[0].Labels, c.Writes-before, step.want)
				}
			}
		})
	}
}

func TestOneMovesWhereTheOtherCannot(t *testing.T) {
	for _, tt := range []struct{ name, block, error, weights string }{
		{"the route", "routeTableSelector: {name: gone}\n" + onRoute, "RouteTable apps/gone does not exist; there are table: correct the selector or create it", "- | 90 10"},
		{"the table", onTable + "httpRoute: gone", "HTTPRoute apps/gone does not exist; there are route: correct the selector or create it", "90 10 | -"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newBoth(t)
			r, ro := c.restart(), rollout(t, "solo-io/glooplatform", tt.block)
			if got := r.SetWeight(ro, 10, nil).ErrorString; got != tt.error {
				t.Errorf("got  %s\nwant %s", got, tt.error)
			}
			if got := c.weights(t); got != tt.weights {
				t.Errorf("got %s, want %s", got, tt.weights)
			}
			if answer, _ := r.VerifyWeight(ro, 10, nil); answer != types.NotVerified {
				t.Errorf("answer %v", answer)
			}
		})
	}
}

// A block that names another API in the middle of a release leaves nothing behind, whether or not this process saw what it named
// before.
func TestChangeOfMindBetweenAPIs(t *testing.T) {
	for _, tt := range []struct {
		name    string
		restart bool
	}{{"by the same process", false}, {"after a restart", true}} {
		t.Run(tt.name, func(t *testing.T) {
			c := newBoth(t)
			r := c.restart()
			for _, step := range []struct {
				block string
				want  string
			}{
				{onTable, "80 20 | -"}, {onRoute, "- | 80 20"}, {onTable, "80 20 | -"}, {onTable + onRoute, "80 20 | 80 20"}, {onRoute, "- | 80 20"},
			} {
				if tt.restart {
					r = c.restart()
				}
				ro := underWay(t, step.block, 20)
				if err := r.SetWeight(ro, 20, nil); err.HasError() {
					t.Fatal(err)
				}
				if got := c.weights(t); got != step.want {
					t.Errorf("with %s got %s, want %s", step.block, got, step.want)
				}
				if answer, _ := r.VerifyWeight(ro, 20, nil); answer != types.Verified {
					t.Errorf("with %s: not verified", step.block)
				}
			}
		})
	}
}

// Who uses tables alone needs no Gateway API in the cluster, and no rights on it. Nothing is asked of it but once, while a release
// is under way.
func TestTablesNeedNoGatewayAPI(t *testing.T) {
	for _, tt := range []struct {
		name    string
		refuses error
	}{
		{"not served", engine.ErrUnserved},
		{"not permitted", apierrors.NewForbidden(schema.GroupResource{Resource: "httproutes"}, "", nil)},
		{"not used", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newBoth(t)
			c.refuses = tt.refuses
			r := c.restart()
			if err := r.SetWeight(rollout(t, "solo-io/glooplatform", onTable), 10, nil); err.HasError() {
				t.Error(err)
			}
			c.wasAskedForRoutes(t)
			for _, weight := range []int32{20, 30, 0} {
				ro := underWay(t, onTable, 10)
				if err := r.SetWeight(ro, weight, nil); err.HasError() {
					t.Error(err)
				}
				if err := r.RemoveManagedRoutes(ro); err.HasError() {
					t.Error(err)
				}
				if answer, _ := r.VerifyWeight(ro, weight, nil); answer != types.Verified {
					t.Errorf("at %d: not verified", weight)
				}
			}
			c.wasAskedForRoutes(t, "find grpcroutes 1", "find httproutes 1", "find tcproutes 1", "find tlsroutes 1")
		})
	}
}

// wasAskedForRoutes fails unless this was asked of the Gateway API.
func (c *both) wasAskedForRoutes(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for what, times := range c.asked {
		if !strings.Contains(what, "routetables") && !strings.Contains(what, "mirrorpolicies") {
			got = append(got, fmt.Sprint(what, " ", times))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
}

// A header step adds a route to the table and a rule to the HTTPRoute, before the canary has any weight, and the call for that takes
// both out again. Of routes given in a list, those that want none have none.
func TestHeaderStepsOnBoth(t *testing.T) {
	for _, tt := range []struct {
		name, block string
		rules       int
	}{
		{"the only one", onRoute, 2},
		{"of a list", "httpRoutes: [{name: route, useHeaderRoutes: true}]\n", 2},
		{"of a list, and not wanted", "httpRoutes: [{name: route}]\n", 1},
		{"by label", "httpRouteSelector: {matchExpressions: [{key: nothing, operator: DoesNotExist}]}\n", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newBoth(t)
			r, ro := c.restart(), atHeaderStep(t, onTable+tt.block)
			if err := r.SetHeaderRoute(ro, ro.Spec.Strategy.Canary.Steps[0].SetHeaderRoute); err.HasError() {
				t.Fatal(err)
			}
			if answer, err := r.VerifyWeight(ro, 0, nil); answer != types.Verified {
				t.Errorf("not verified: %v", err)
			}
			if got := c.routes(t); got != [2]int{2, tt.rules} {
				t.Errorf("%d routes and rules, want 2 and %d", got, tt.rules)
			}
			if err := r.RemoveManagedRoutes(ro); err.HasError() {
				t.Error(err)
			}
			if got := c.routes(t); got != [2]int{1, 1} {
				t.Errorf("%d routes and rules are left, want 1 and 1", got)
			}
		})
	}
}

// A header step that no object can carry out is refused: it would promote a version that nobody has tried.
func TestHeaderStepThatNoRouteWants(t *testing.T) {
	c := newBoth(t)
	ro := atHeaderStep(t, "httpRoutes: [{name: route}]\n")
	const want = "HTTPRoute apps/route: header routes are added only where useHeaderRoutes is true, which it is not; set it"
	if got := c.restart().SetHeaderRoute(ro, ro.Spec.Strategy.Canary.Steps[0].SetHeaderRoute).ErrorString; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if c.Writes != 0 {
		t.Errorf("%d writes", c.Writes)
	}
}

// atHeaderStep returns the Rollout with this block at its first step, which sets header route beta.
func atHeaderStep(t *testing.T, block string) *v1alpha1.Rollout {
	t.Helper()
	ro := rollout(t, "solo-io/glooplatform", block)
	canary := ro.Spec.Strategy.Canary
	canary.TrafficRouting.ManagedRoutes = []v1alpha1.MangedRoutes{{Name: "beta"}}
	canary.Steps = []v1alpha1.CanaryStep{{SetHeaderRoute: &v1alpha1.SetHeaderRoute{Name: "beta",
		Match: []v1alpha1.HeaderRoutingMatch{{HeaderName: "x-beta", HeaderValue: &v1alpha1.StringMatch{Exact: "yes"}}}}}}
	ro.Annotations = map[string]string{"rollout.argoproj.io/revision": "2"}
	ro.Status.StableRS, ro.Status.CurrentPodHash = "v1", "v2"
	return ro
}

// routes returns how many routes the table has, and how many rules the route.
func (c *both) routes(t *testing.T) (n [2]int) {
	t.Helper()
	for i, api := range plugin.APIs()[:2] {
		routes, err := api.Routes(c.Objects[i].JSON)
		if err != nil {
			t.Fatal(err)
		}
		n[i] = len(routes)
	}
	return n
}

// decoded returns a block as the plugin reads it.
func decoded(t *testing.T, block string) *config.Config {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(block))
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
