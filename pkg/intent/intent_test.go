package intent_test

import (
	"reflect"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

const byServices = `
metadata: {name: web, namespace: apps}
spec: {strategy: {canary: {stableService: web, canaryService: web-canary}}}
`

func rollout(t *testing.T, text string) *v1alpha1.Rollout {
	t.Helper()
	ro := &v1alpha1.Rollout{}
	if err := yaml.UnmarshalStrict([]byte(text), ro); err != nil {
		t.Fatal(err)
	}
	return ro
}

func block(t *testing.T, text string) *config.Config {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte("routeTableSelector: {name: demo}\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func service(name string) intent.Destination {
	return intent.Destination{Kind: config.KindService, Namespace: "apps", Name: name}
}

// inEast is a Service of cluster east.
func inEast(name string) intent.Destination {
	d := service(name)
	d.Home = "east"
	return d
}

func TestMatches(t *testing.T) {
	found := intent.Destination{Kind: config.KindService, Cluster: "east", Namespace: "apps", Name: "web", Port: &config.Port{Number: 80}, Subset: map[string]string{"v": "1"}}
	with := func(edit func(*intent.Destination)) intent.Destination {
		d := service("web")
		edit(&d)
		return d
	}
	for _, tt := range []struct {
		name string
		d    intent.Destination
		want bool
	}{
		{"any cluster, port and subset", service("web"), true},
		{"another name", service("api"), false},
		{"another kind", with(func(d *intent.Destination) { d.Kind = config.KindVirtualDestination }), false},
		{"another namespace", with(func(d *intent.Destination) { d.Namespace = "else" }), false},
		{"the cluster", with(func(d *intent.Destination) { d.Cluster = "east" }), true},
		{"another cluster", with(func(d *intent.Destination) { d.Cluster = "west" }), false},
		{"the home cluster", inEast("web"), true},
		{"another home cluster", with(func(d *intent.Destination) { d.Home = "west" }), false},
		{"a cluster other than home", with(func(d *intent.Destination) { d.Cluster, d.Home = "east", "west" }), true},
		{"the port", with(func(d *intent.Destination) { d.Port = &config.Port{Number: 80} }), true},
		{"another port", with(func(d *intent.Destination) { d.Port = &config.Port{Name: "http"} }), false},
		{"the subset", with(func(d *intent.Destination) { d.Subset = map[string]string{"v": "1"} }), true},
		{"no subset", with(func(d *intent.Destination) { d.Subset = map[string]string{} }), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.d.Matches(found); got != tt.want {
				t.Errorf("%s matches %s: %v", tt.d, found, got)
			}
		})
	}
}

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		name       string
		rollout    string
		block      string
		bounds     intent.Bounds
		weight     int32
		additional []v1alpha1.WeightDestination
		want       intent.Intent
	}{
		{name: "services of the Rollout", rollout: byServices, weight: 10,
			want: intent.Intent{Owner: "apps/web", Namespace: "apps", Stable: service("web"), Canary: service("web-canary"), CanaryShare: 10, MaxShare: 100}},
		{name: "the cluster's name comes first", rollout: byServices, bounds: intent.Bounds{Cluster: "east"},
			want: intent.Intent{Owner: "east/apps/web", Cluster: "east", Namespace: "apps", Stable: inEast("web"), Canary: inEast("web-canary"), MaxShare: 100}},
		{name: "another kind in another namespace", rollout: byServices, block: "destinationKind: VIRTUAL_DESTINATION\ndestinationNamespace: mesh",
			want: intent.Intent{Owner: "apps/web", Namespace: "apps", MaxShare: 100,
				Stable: intent.Destination{Kind: config.KindVirtualDestination, Namespace: "mesh", Name: "web"},
				Canary: intent.Destination{Kind: config.KindVirtualDestination, Namespace: "mesh", Name: "web-canary"}}},
		{name: "subsets of one destination, without services", rollout: `
metadata: {name: web, namespace: apps}
spec: {strategy: {canary: {}}}
`, block: "stable: {name: web, subset: {version: v1}}\ncanary: {name: web, subset: {version: v2}}",
			want: intent.Intent{Owner: "apps/web", Namespace: "apps", MaxShare: 100,
				Stable: intent.Destination{Kind: config.KindService, Namespace: "apps", Name: "web", Subset: map[string]string{"version": "v1"}},
				Canary: intent.Destination{Kind: config.KindService, Namespace: "apps", Name: "web", Subset: map[string]string{"version": "v2"}}}},
		{name: "pong is stable until the first deployment is done", rollout: `
metadata: {name: web, namespace: apps}
spec: {strategy: {canary: {pingPong: {pingService: ping, pongService: pong}}}}
`, want: intent.Intent{Owner: "apps/web", Namespace: "apps", Stable: service("pong"), Canary: service("ping"), Alternating: true, MaxShare: 100}},
		{name: "then the status says", rollout: `
metadata: {name: web, namespace: apps}
spec: {strategy: {canary: {pingPong: {pingService: ping, pongService: pong}}}}
status: {canary: {stablePingPong: ping}}
`, want: intent.Intent{Owner: "apps/web", Namespace: "apps", Stable: service("ping"), Canary: service("pong"), Alternating: true, MaxShare: 100}},
		{name: "out of a thousand, with experiments", rollout: `
metadata: {name: web, namespace: apps}
spec: {strategy: {canary: {stableService: web, canaryService: web-canary, trafficRouting: {maxTrafficWeight: 1000}}}}
`, weight: 100, additional: []v1alpha1.WeightDestination{{ServiceName: "a", Weight: 20}, {Weight: 30}, {ServiceName: "b"}, {ServiceName: "a", Weight: 5}},
			want: intent.Intent{Owner: "apps/web", Namespace: "apps", Stable: service("web"), Canary: service("web-canary"), CanaryShare: 100, MaxShare: 1000,
				Experiments: []intent.Experiment{{Destination: service("a"), Share: 25}}}},
		{name: "what got traffic at the last call", rollout: `
metadata: {name: web, namespace: apps}
spec: {strategy: {canary: {stableService: web, canaryService: web-canary}}}
status: {canary: {weights: {canary: {serviceName: old-canary, weight: 20}, stable: {serviceName: web, weight: 70}, additional: [{serviceName: a, weight: 10}, {serviceName: b, weight: 0}]}}}
`, want: intent.Intent{Owner: "apps/web", Namespace: "apps", Stable: service("web"), Canary: service("web-canary"), MaxShare: 100,
			Used: []intent.Destination{service("old-canary"), service("web-canary"), service("a")}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := intent.Of(rollout(t, tt.rollout), block(t, tt.block), tt.bounds, tt.weight, tt.additional)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, tt.want)
			}
		})
	}
}

func TestOfRefuses(t *testing.T) {
	for _, tt := range []struct {
		name       string
		rollout    string
		block      string
		bounds     intent.Bounds
		weight     int32
		additional []v1alpha1.WeightDestination
		want       string
	}{
		{name: "blue-green", rollout: `{metadata: {name: web, namespace: apps}, spec: {strategy: {blueGreen: {activeService: web}}}}`,
			want: "spec.strategy.canary is not set; traffic is moved for canary Rollouts only"},
		{name: "no services", rollout: `{metadata: {name: web, namespace: apps}, spec: {strategy: {canary: {}}}}`,
			want: "the Rollout has no spec.strategy.canary.stableService; set it, or set stable.name in this block; " +
				"the Rollout has no spec.strategy.canary.canaryService; set it, or set canary.name in this block"},
		{name: "names under pingPong", rollout: `{metadata: {name: web, namespace: apps}, spec: {strategy: {canary: {pingPong: {pingService: a, pongService: b}}}}}`,
			block: "stable: {name: c}",
			want:  "stable.name, canary.name: the Rollout uses pingPong, where the two services swap roles; leave the names out"},
		{name: "half a pingPong", rollout: `{metadata: {name: web, namespace: apps}, spec: {strategy: {canary: {pingPong: {pingService: a}}}}}`,
			want: "the Rollout's spec.strategy.canary.pingPong lacks pingService or pongService; set both"},
		{name: "one destination for both", rollout: byServices, block: "canary: {name: web, subset: {version: v2}}",
			want: "stable and canary are both Service apps/web; they must differ in name, or each in its own subset, port or cluster"},
		{name: "a Service elsewhere", rollout: byServices, block: "destinationNamespace: mesh",
			want: "Service mesh/web: a Service must be in the Rollout's own namespace apps; " +
				"Service mesh/web-canary: a Service must be in the Rollout's own namespace apps"},
		{name: "a namespace that is not allowed", rollout: byServices, block: "destinationNamespace: mesh\ndestinationKind: EXTERNAL_SERVICE",
			bounds: intent.Bounds{DestinationNamespaces: []string{"apps", "shared"}},
			want: "ExternalService mesh/web: namespace mesh is not among those that the plugin's flag --destination-namespaces allows (apps, shared); " +
				"ExternalService mesh/web-canary: namespace mesh is not among those that the plugin's flag --destination-namespaces allows (apps, shared)"},
		{name: "more than all", rollout: byServices, weight: 101, want: "weight 101 is outside 0 to maxTrafficWeight 100"},
		{name: "less than nothing", rollout: byServices, weight: -1, want: "weight -1 is outside 0 to maxTrafficWeight 100"},
		{name: "more than all with an experiment", rollout: byServices, weight: 60, additional: []v1alpha1.WeightDestination{{ServiceName: "a", Weight: 50}},
			want: "canary and experiment together get 110, more than maxTrafficWeight 100"},
		{name: "a negative experiment", rollout: byServices, additional: []v1alpha1.WeightDestination{{ServiceName: "a", Weight: -5}},
			want: "weight -5 of experiment service a is negative"},
		{name: "an experiment on stable", rollout: byServices, additional: []v1alpha1.WeightDestination{{ServiceName: "web", Weight: 5}},
			want: "experiment service web is the Rollout's stable or canary as well"},
		{name: "no traffic to divide", rollout: `
metadata: {name: web, namespace: apps}
spec: {strategy: {canary: {stableService: web, canaryService: web-canary, trafficRouting: {maxTrafficWeight: 0}}}}
`, want: "maxTrafficWeight is 0; want 1 or more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := intent.Of(rollout(t, tt.rollout), block(t, tt.block), tt.bounds, tt.weight, tt.additional)
			if err == nil {
				t.Fatalf("accepted as %+v", got)
			}
			if err.Error() != tt.want {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
		})
	}
}
