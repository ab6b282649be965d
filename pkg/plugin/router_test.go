package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/memory"
)

// rollout returns a Rollout apps/web with this block for the plugin, as it arrives over RPC.
func rollout(t *testing.T, name, block string) *v1alpha1.Rollout {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(block))
	if err != nil {
		t.Fatal(err)
	}
	sent := &v1alpha1.Rollout{}
	sent.Namespace, sent.Name = "apps", "web"
	sent.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{
		StableService: "web", CanaryService: "web-canary",
		TrafficRouting: &v1alpha1.RolloutTrafficRouting{Plugins: map[string]json.RawMessage{name: raw}},
	}
	return overRPC(sent)
}

func router(options plugin.Options) *plugin.Router {
	options.Log = hclog.New(&hclog.LoggerOptions{Output: io.Discard})
	if options.Connect == nil {
		options.Connect = func() (plugin.Connection, error) {
			return plugin.Connection{Cluster: unreachable{}, Events: sink(nil)}, nil
		}
	}
	return plugin.NewRouter(options)
}

// unreachable is a cluster that can be asked for objects and does not answer.
type unreachable struct{ engine.Cluster }

func (unreachable) Get(context.Context, schema.GroupVersionResource, string, string) (engine.Object, error) {
	return engine.Object{}, errors.New("asked")
}

func (unreachable) List(context.Context, schema.GroupVersionResource, string, labels.Selector) ([]engine.Object, error) {
	return nil, errors.New("asked")
}

func (unreachable) Find(context.Context, schema.GroupVersionResource, string, engine.Index, ...string) ([]engine.Object, error) {
	return nil, errors.New("asked")
}

// sink takes Events; a nil one loses them.
type sink chan *corev1.Event

func (s sink) Create(event *corev1.Event) (*corev1.Event, error) {
	if s != nil {
		s <- event
	}
	return event, nil
}

func (s sink) Update(event *corev1.Event) (*corev1.Event, error)          { return s.Create(event) }
func (s sink) Patch(event *corev1.Event, _ []byte) (*corev1.Event, error) { return s.Create(event) }

func TestSetWeightFindsItsBlock(t *testing.T) {
	for _, tt := range []struct{ name, registered, block, want string }{
		{"today's name", "", "solo-io/glooplatform", "RouteTable apps/demo: asked"},
		{"the first release's name", "", "solo-io/glooplatformAPI", "RouteTable apps/demo: asked"},
		{"an alias", "acme/gloo", "acme/gloo", "RouteTable apps/demo: asked"},
		{"not the name it is registered by", "acme/gloo", "solo-io/glooplatform",
			"the Rollout has no block acme/gloo in spec.strategy.canary.trafficRouting.plugins, only solo-io/glooplatform; rename it, or set the plugin's flag --name"},
		{"another plugin's", "", "acme/other",
			"the Rollout has no block solo-io/glooplatform or solo-io/glooplatformAPI in spec.strategy.canary.trafficRouting.plugins, only acme/other; rename it, or set the plugin's flag --name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ro := rollout(t, tt.block, "routeTableSelector: {name: demo}")
			if got := router(plugin.Options{Name: tt.registered}).SetWeight(ro, 10, nil).ErrorString; got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestSetWeightRefuses(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options plugin.Options
		block   string
		weight  int32
		want    string
	}{
		{"an unknown field", plugin.Options{}, "routeTableSelecter: {name: demo}", 10,
			"solo-io/glooplatform: routeTableSelecter: unknown field; did you mean routeTableSelector?; routeTableSelector: missing; it says which RouteTables are concerned, by name or by labels; for routes of the Gateway API set httpRoute, grpcRoute, tcpRoute or tlsRoute"},
		{"a weight out of bounds", plugin.Options{}, "routeTableSelector: {name: demo}", 101,
			"solo-io/glooplatform: weight 101 is outside 0 to maxTrafficWeight 100"},
		{"a namespace that is not allowed", plugin.Options{RouteNamespaces: []string{"apps", "shared"}}, "routeTableSelector: {name: demo, namespace: gloo-mesh}", 10,
			"solo-io/glooplatform: routeTableSelector: namespace gloo-mesh is not among those that the plugin's flag --route-namespaces allows (apps, shared)"},
		{"text that is no format", plugin.Options{}, "routeTableSelector: {name: '100%'}", 10,
			`solo-io/glooplatform: routeTableSelector.name: "100%%" is not a name that a Kubernetes object can have`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := router(tt.options).SetWeight(rollout(t, "solo-io/glooplatform", tt.block), tt.weight, nil).ErrorString; got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestOtherVerbsNeverStopARollout(t *testing.T) {
	r, ro := router(plugin.Options{}), rollout(t, "solo-io/glooplatform", "nonsense: true")
	if verified, err := r.VerifyWeight(ro, 10, nil); verified != types.NotVerified || err.HasError() {
		t.Errorf("VerifyWeight = %v, %v; want NotVerified and no error: an error would end the asking", verified, err)
	}
	for verb, err := range map[string]types.RpcError{
		"InitPlugin":          r.InitPlugin(),
		"UpdateHash":          r.UpdateHash(ro, "a", "b", nil),
		"RemoveManagedRoutes": r.RemoveManagedRoutes(ro),
	} {
		if err.HasError() {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

func TestTroubleBecomesAnEvent(t *testing.T) {
	events := make(sink, 10)
	r := router(plugin.Options{Connect: func() (plugin.Connection, error) {
		return plugin.Connection{Cluster: unreachable{}, Events: events}, nil
	}})
	ro := rollout(t, "solo-io/glooplatform", "routeTableSelector: {name: demo}")
	_, verifyErr := r.VerifyWeight(ro, 10, nil)
	headerErr := r.SetHeaderRoute(ro, &v1alpha1.SetHeaderRoute{Name: "b", Match: []v1alpha1.HeaderRoutingMatch{{}}})
	mirrorErr := r.SetMirrorRoute(ro, &v1alpha1.SetMirrorRoute{Name: "b", Match: []v1alpha1.RouteMatch{{}}})
	for _, tt := range []struct {
		err          types.RpcError
		answers      bool // with an error
		reason, text string
	}{
		{verifyErr, false, plugin.ReasonNotVerified, "RouteTable apps/demo: asked"},
		{headerErr, true, plugin.ReasonError, "RouteTable apps/demo: asked"},
		{mirrorErr, true, plugin.ReasonError, "RouteTable apps/demo: asked"},
	} {
		event := <-events
		if event.Reason != tt.reason || event.Message != tt.text || event.InvolvedObject.Name != "web" || event.Type != corev1.EventTypeWarning {
			t.Errorf("got %s %s %q on %v\nwant %s %q", event.Type, event.Reason, event.Message, event.InvolvedObject, tt.reason, tt.text)
		}
		if tt.err.HasError() != tt.answers {
			t.Errorf("%s: answered %q", tt.reason, tt.err.ErrorString)
		}
	}
}

// oneTable is a cluster with one RouteTable, which notes what it is asked for.
type oneTable struct {
	engine.Cluster
	asked   []string
	patches []string
}

const twoRoutes = `{"metadata":{"namespace":"gloo-mesh","name":"demo"},"spec":{"http":[` +
	`{"name":"one","labels":{"route":"demo"},"forwardTo":{"destinations":[{"ref":{"name":"web","namespace":"apps"}},{"ref":{"name":"web-canary","namespace":"apps"}}]}},` +
	`{"name":"two","forwardTo":{"destinations":[{"ref":{"name":"web","namespace":"apps"}},{"ref":{"name":"web-canary","namespace":"apps"}}]}}]}}`

func (c *oneTable) Get(_ context.Context, _ schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	c.asked = append(c.asked, namespace+"/"+name)
	return engine.Object{Namespace: "gloo-mesh", Name: "demo", JSON: json.RawMessage(twoRoutes)}, nil
}

func (c *oneTable) List(_ context.Context, _ schema.GroupVersionResource, namespace string, selector labels.Selector) ([]engine.Object, error) {
	c.asked = append(c.asked, namespace+" "+selector.String())
	return []engine.Object{{Namespace: "gloo-mesh", Name: "demo", JSON: json.RawMessage(twoRoutes)}}, nil
}

func (c *oneTable) Fresh(context.Context, schema.GroupVersionResource, string, string) (engine.Object, error) {
	return engine.Object{}, errors.New("asked again")
}

func (c *oneTable) Find(context.Context, schema.GroupVersionResource, string, engine.Index, ...string) ([]engine.Object, error) {
	return nil, nil
}

func (c *oneTable) Patch(_ context.Context, _ schema.GroupVersionResource, _, _ string, patch []byte) (engine.Object, error) {
	c.patches = append(c.patches, string(patch))
	return engine.Object{}, errors.New("patched")
}

func TestSelectorsOfTheBlock(t *testing.T) {
	for _, tt := range []struct{ name, block, asked, touches string }{
		{"by name, all routes", "routeTableSelector: {name: demo, namespace: gloo-mesh}", "gloo-mesh/demo", "/spec/http/0/ /spec/http/1/"},
		{"in the Rollout's namespace", "routeTableSelector: {name: demo}", "apps/demo", "/spec/http/0/ /spec/http/1/"},
		{"by labels and expressions, one route", "routeTableSelector: {labels: {app: demo}, matchExpressions: [{key: env, operator: Exists}]}\nrouteSelector: {labels: {route: demo}}",
			"apps app=demo,env", "/spec/http/0/"},
		{"the first release's keys, one route by name", "routeTableName: demo\nrouteTableNamespace: gloo-mesh\nrouteSelector: {name: two}", "gloo-mesh/demo", "/spec/http/1/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &oneTable{}
			r := router(plugin.Options{Connect: func() (plugin.Connection, error) { return plugin.Connection{Cluster: c, Events: sink(nil)}, nil }})
			if got := r.SetWeight(rollout(t, "solo-io/glooplatform", tt.block), 10, nil).ErrorString; got != "RouteTable gloo-mesh/demo: patched" {
				t.Fatal(got)
			}
			if c.asked[0] != tt.asked {
				t.Errorf("asked for %q, want %q", c.asked[0], tt.asked)
			}
			var touched []string
			for _, path := range []string{"/spec/http/0/", "/spec/http/1/"} {
				if strings.Contains(c.patches[0], path) {
					touched = append(touched, path)
				}
			}
			if got := strings.Join(touched, " "); got != tt.touches {
				t.Errorf("touches %s, want %s", got, tt.touches)
			}
		})
	}
}

// The controller tells the pod hashes before it sets a weight; after a restart the status serves.
func TestHashesOfTheController(t *testing.T) {
	const table = `{"metadata":{"namespace":"apps","name":"demo"},"spec":{"http":[{"name":"one","forwardTo":{"destinations":[{"ref":{"name":"web"}}]}}]}}`
	c := &memory.Cluster{Services: map[string]intent.Service{"web": {Ports: []intent.ServicePort{{Number: 80}}}}}
	c.Put([]byte(table))
	ro := rollout(t, "solo-io/glooplatform", "routeTableSelector: {name: demo}\nsubsetLabel: rollouts-pod-template-hash\nstable: {name: web}")
	ro.Spec.Strategy.Canary.StableService, ro.Spec.Strategy.Canary.CanaryService = "", ""
	ro.Status.StableRS, ro.Status.CurrentPodHash = "h1", "h2"
	start := func() *plugin.Router {
		return router(plugin.Options{Connect: func() (plugin.Connection, error) { return plugin.Connection{Cluster: c, Events: sink(nil)}, nil }})
	}
	r := start()
	for _, tt := range []struct{ canary, want string }{
		{"", `"subset":{"rollouts-pod-template-hash":"h2"},"weight":10`},
		{"h3", `"subset":{"rollouts-pod-template-hash":"h3"},"weight":10`},
	} {
		if tt.canary != "" {
			if err := r.UpdateHash(ro, tt.canary, "h1", nil); err.HasError() {
				t.Fatal(err)
			}
		}
		if err := r.SetWeight(ro, 10, nil); err.HasError() {
			t.Fatal(err)
		}
		if got := string(c.Objects[0].JSON); !strings.Contains(got, tt.want) || !strings.Contains(got, `"subset":{"rollouts-pod-template-hash":"h1"},"weight":90`) {
			t.Errorf("no %s in %s", tt.want, got)
		}
	}
	if verified, _ := start().VerifyWeight(ro, 10, nil); verified != types.NotVerified {
		t.Errorf("after a restart, with another hash in the status, VerifyWeight = %v", verified)
	}
}

// broken is a cluster that brings a bug out.
type broken struct{ engine.Cluster }

func TestBugOfOneRolloutEndsNothing(t *testing.T) {
	r := router(plugin.Options{Connect: func() (plugin.Connection, error) {
		return plugin.Connection{Cluster: broken{}, Events: sink(nil)}, nil
	}})
	ro := rollout(t, "solo-io/glooplatform", "routeTableSelector: {name: demo}")
	want := "the plugin has a bug that this Rollout brings out (runtime error: invalid memory address or nil pointer dereference); its log has the stack"
	if got := r.SetWeight(ro, 10, nil).ErrorString; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if verified, err := r.VerifyWeight(ro, 10, nil); verified != types.NotVerified || err.HasError() {
		t.Errorf("VerifyWeight = %v, %v", verified, err)
	}
}

func TestVerifyOff(t *testing.T) {
	ro := rollout(t, "solo-io/glooplatform", "{routeTableSelector: {name: demo}, verify: Off}")
	if verified, err := router(plugin.Options{}).VerifyWeight(ro, 10, nil); verified != types.NotImplemented || err.HasError() {
		t.Errorf("VerifyWeight = %v, %v; want NotImplemented", verified, err)
	}
}

func TestConnectsWhenNeededAndAgainUntilItSucceeds(t *testing.T) {
	tries := 0
	r := router(plugin.Options{Connect: func() (plugin.Connection, error) {
		tries++
		return plugin.Connection{}, errors.New("no API server is known")
	}})
	ro := rollout(t, "solo-io/glooplatform", "routeTableSelector: {name: demo}")
	for range 2 {
		if got := r.SetWeight(ro, 10, nil).ErrorString; !strings.Contains(got, "no API server is known") {
			t.Errorf("got %q", got)
		}
	}
	if tries != 2 {
		t.Errorf("%d tries, want 2", tries)
	}
}

func TestNameFromPath(t *testing.T) {
	for path, want := range map[string]string{
		"/home/argo-rollouts/plugin-bin/solo-io/glooplatform":       "solo-io/glooplatform",
		"plugin-bin/acme/gloo":                                      "acme/gloo",
		"/usr/local/bin/rollouts-plugin-trafficrouter-glooplatform": "",
		"./plugin-bin/gloo":                                         "",
	} {
		if got := plugin.NameFromPath(path); got != want {
			t.Errorf("NameFromPath(%q) = %q, want %q", path, got, want)
		}
	}
}
