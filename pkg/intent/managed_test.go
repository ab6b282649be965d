package intent_test

import (
	"reflect"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// updating is a Rollout on its way from one version to another, with these steps.
const updating = `
metadata: {name: web, namespace: apps, annotations: {rollout.argoproj.io/revision: "2"}}
spec:
  strategy:
    canary:
      stableService: web
      canaryService: web-canary
      trafficRouting: {managedRoutes: [{name: first}, {name: second}]}
      steps:
      - setHeaderRoute: {name: second, match: [{headerName: x, headerValue: {exact: a}}]}
      - setWeight: 10
      - setHeaderRoute: {name: first, match: [{headerName: w, headerValue: {prefix: b}}, {headerName: z, headerValue: {regex: c.*}}]}
      - setHeaderRoute: {name: second, match: [{headerName: x, headerValue: {exact: d}}]}
      - setHeaderRoute: {name: second}
status: {currentPodHash: new, stableRS: old}
`

func TestManagedRoutesFollowTheSteps(t *testing.T) {
	one := func(name string, is intent.MatchType, value string) intent.RequestMatch {
		return intent.RequestMatch{Headers: []intent.HeaderMatch{{Name: name, ValueMatch: intent.ValueMatch{Type: is, Value: value}}}}
	}
	first := intent.ManagedRoute{Name: "first", Matches: []intent.RequestMatch{one("w", intent.Prefix, "b"), one("z", intent.Regex, "c.*")}}
	second := func(value string) intent.ManagedRoute {
		return intent.ManagedRoute{Name: "second", Matches: []intent.RequestMatch{one("x", intent.Exact, value)}}
	}
	at := func(step int32) func(*v1alpha1.Rollout) {
		return func(ro *v1alpha1.Rollout) { ro.Status.CurrentStepIndex = &step }
	}
	for _, tt := range []struct {
		name string
		edit func(*v1alpha1.Rollout)
		want []intent.ManagedRoute
	}{
		{"the first step, whose index gob loses", func(*v1alpha1.Rollout) {}, []intent.ManagedRoute{second("a")}},
		{"a step later", at(1), []intent.ManagedRoute{second("a")}},
		{"in the order of managedRoutes", at(2), []intent.ManagedRoute{first, second("a")}},
		{"the last step of a name counts", at(3), []intent.ManagedRoute{first, second("d")}},
		{"an empty match takes it away", at(4), []intent.ManagedRoute{first}},
		{"past the last step", at(5), []intent.ManagedRoute{first}},
		{"far past the last step, as after steps were cut", at(50), []intent.ManagedRoute{first}},
		{"the first revision", func(ro *v1alpha1.Rollout) { ro.Annotations = map[string]string{"rollout.argoproj.io/revision": "1"} }, nil},
		{"no revision yet", func(ro *v1alpha1.Rollout) { ro.Annotations = nil }, nil},
		{"aborted", func(ro *v1alpha1.Rollout) { ro.Status.Abort = true }, nil},
		{"promoted in full", func(ro *v1alpha1.Rollout) { ro.Status.PromoteFull = true }, nil},
		{"rolled back", func(ro *v1alpha1.Rollout) { ro.Status.CurrentPodHash = "old" }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ro := rollout(t, updating)
			tt.edit(ro)
			in, err := intent.Of(ro, block(t, ""), intent.Bounds{}, 0, nil)
			if err != nil || !reflect.DeepEqual(in.Managed, tt.want) {
				t.Errorf("got %v, %v\nwant %v", in.Managed, err, tt.want)
			}
		})
	}
}

func TestMirrorRoutesFollowTheSteps(t *testing.T) {
	get := v1alpha1.RouteMatch{Method: &v1alpha1.StringMatch{Exact: "GET"}, Path: &v1alpha1.StringMatch{Prefix: "/api"}, Headers: map[string]v1alpha1.StringMatch{
		"b": {Regex: "1|2"}, "a": {Exact: "x"},
	}}
	mirror := func(percentage *int32, matches ...v1alpha1.RouteMatch) v1alpha1.CanaryStep {
		return v1alpha1.CanaryStep{SetMirrorRoute: &v1alpha1.SetMirrorRoute{Name: "first", Match: matches, Percentage: percentage}}
	}
	route := func(percentage int, matches ...intent.RequestMatch) []intent.ManagedRoute {
		return []intent.ManagedRoute{{Name: "first", Matches: matches, Mirror: &percentage}}
	}
	is := func(kind intent.MatchType, value string) intent.ValueMatch {
		return intent.ValueMatch{Type: kind, Value: value}
	}
	method, path := is(intent.Exact, "GET"), is(intent.Prefix, "/api")
	wanted := intent.RequestMatch{Method: &method, Path: &path, Headers: []intent.HeaderMatch{{Name: "a", ValueMatch: is(intent.Exact, "x")}, {Name: "b", ValueMatch: is(intent.Regex, "1|2")}}}
	some := int32(35)
	for _, tt := range []struct {
		name  string
		steps []v1alpha1.CanaryStep
		want  []intent.ManagedRoute
	}{
		{"all conditions, a percentage", []v1alpha1.CanaryStep{mirror(&some, get)}, route(35, wanted)},
		{"no percentage means all", []v1alpha1.CanaryStep{mirror(nil, get)}, route(100, wanted)},
		{"alternatives, and one without a condition", []v1alpha1.CanaryStep{mirror(nil, get, v1alpha1.RouteMatch{})}, route(100, wanted, intent.RequestMatch{})},
		{"an empty match takes it away", []v1alpha1.CanaryStep{mirror(nil, get), mirror(nil)}, nil},
		{"a header step of the same name takes its place", []v1alpha1.CanaryStep{mirror(nil, get), {SetHeaderRoute: &v1alpha1.SetHeaderRoute{Name: "first"}}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ro := rollout(t, updating)
			last := int32(len(tt.steps))
			ro.Spec.Strategy.Canary.Steps, ro.Status.CurrentStepIndex = tt.steps, &last
			in, err := intent.Of(ro, block(t, ""), intent.Bounds{}, 0, nil)
			if err != nil || !reflect.DeepEqual(in.Managed, tt.want) || !in.MayMirror {
				t.Errorf("got %v, %v\nwant %v", in.Managed, err, tt.want)
			}
		})
	}
}

func TestMirrorRoutesRefuse(t *testing.T) {
	many := int32(101)
	for _, tt := range []struct {
		name string
		step v1alpha1.SetMirrorRoute
		want string
	}{
		{"a name that is not managed", v1alpha1.SetMirrorRoute{Name: "third", Match: []v1alpha1.RouteMatch{{}}},
			`setMirrorRoute "third": the name is not listed in spec.strategy.canary.trafficRouting.managedRoutes; add it there`},
		{"more than all", v1alpha1.SetMirrorRoute{Name: "first", Percentage: &many, Match: []v1alpha1.RouteMatch{{}}},
			`setMirrorRoute "first": percentage is 101; want 0 to 100`},
		{"a condition without a value", v1alpha1.SetMirrorRoute{Name: "first", Match: []v1alpha1.RouteMatch{{}, {Path: &v1alpha1.StringMatch{}}}},
			`setMirrorRoute "first": match[1]: path has 0 of exact, prefix and regex; set one`},
		{"two values of a header", v1alpha1.SetMirrorRoute{Name: "first", Match: []v1alpha1.RouteMatch{{Headers: map[string]v1alpha1.StringMatch{"x": {Exact: "a", Regex: "b"}}}}},
			`setMirrorRoute "first": match[0]: headers.x has 2 of exact, prefix and regex; set one`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ro := rollout(t, updating)
			ro.Spec.Strategy.Canary.Steps = []v1alpha1.CanaryStep{{SetMirrorRoute: &tt.step}}
			got, err := intent.Of(ro, block(t, ""), intent.Bounds{}, 0, nil)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, %v\nwant %s", got.Managed, err, tt.want)
			}
		})
	}
}

func TestManagedRoutesRefuse(t *testing.T) {
	for _, tt := range []struct {
		name string
		step v1alpha1.SetHeaderRoute
		want string
	}{
		{"a name that is not managed", v1alpha1.SetHeaderRoute{Name: "third", Match: []v1alpha1.HeaderRoutingMatch{{HeaderName: "x", HeaderValue: &v1alpha1.StringMatch{Exact: "a"}}}},
			`setHeaderRoute "third": the name is not listed in spec.strategy.canary.trafficRouting.managedRoutes; add it there`},
		{"no header", v1alpha1.SetHeaderRoute{Name: "first", Match: []v1alpha1.HeaderRoutingMatch{{}}},
			`setHeaderRoute "first": match[0]: headerName is not set`},
		{"no value", v1alpha1.SetHeaderRoute{Name: "first", Match: []v1alpha1.HeaderRoutingMatch{{HeaderName: "x"}}},
			`setHeaderRoute "first": match[0]: headerValue of x has 0 of exact, prefix and regex; set one`},
		{"two values", v1alpha1.SetHeaderRoute{Name: "first", Match: []v1alpha1.HeaderRoutingMatch{{HeaderName: "x", HeaderValue: &v1alpha1.StringMatch{Exact: "a", Prefix: "b"}}}},
			`setHeaderRoute "first": match[0]: headerValue of x has 2 of exact, prefix and regex; set one`},
		{"no expression", v1alpha1.SetHeaderRoute{Name: "first", Match: []v1alpha1.HeaderRoutingMatch{{HeaderName: "x", HeaderValue: &v1alpha1.StringMatch{Regex: "("}}}},
			"setHeaderRoute \"first\": match[0]: headerValue of x: regex is no RE2 expression: error parsing regexp: missing closing ): `(`"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ro := rollout(t, updating)
			ro.Spec.Strategy.Canary.Steps = []v1alpha1.CanaryStep{{SetHeaderRoute: &tt.step}}
			got, err := intent.Of(ro, block(t, ""), intent.Bounds{}, 0, nil)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, %v\nwant %s", got.Managed, err, tt.want)
			}
		})
	}
}
