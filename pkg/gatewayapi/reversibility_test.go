package gatewayapi_test

import (
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gatewayapi"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
)

func TestReleaseLeavesTheRouteAsItWas(t *testing.T) {
	for _, tt := range []struct{ name, route string }{
		{"only stable", rule("{name: web}")},
		{"only stable, with a weight", rule("{name: web, weight: 1}")},
		{"only stable, with filters", rule("{name: web, filters: [{type: RequestMirror}]}")},
		{"only stable, with an empty list of filters", rule("{name: web, filters: []}")},
		{"canary listed at 0", rule("{name: web}, {name: web-canary, weight: 0}")},
		{"canary listed in the plugin's manner", rule("{name: web, weight: 3}, {name: web-canary, filters: [], weight: 0}")},
		{"beside others", rule("{name: other, weight: 40}, {name: web, weight: 60}, {name: more}")},
		{"two rules that are alike", route("{backendRefs: [{name: web}]}, {backendRefs: [{name: web, weight: 5}]}")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			applied := objects.Read(t, tt.route)
			released := after(t, http, applied, canary(10), canary(10, experiment("exp-a", 20)), canary(50), canary(100), canary(0))
			if !objects.Same(released.JSON, applied.JSON) {
				t.Errorf("the route is\n%s\nwhere it was\n%s", objects.YAML(released.JSON), objects.YAML(applied.JSON))
			}
		})
	}
}

// A manifest without weights that is applied once more in the middle of a release takes nothing from it but the weights.
func TestManifestAppliedAgain(t *testing.T) {
	for _, manifest := range []string{rule("{name: web}"), rule("{name: web}, {name: web-canary}")} {
		moved := after(t, http, objects.Read(t, manifest), canary(10))
		again := objects.Tree(t, moved.JSON)
		again["spec"] = objects.Tree(t, objects.Read(t, manifest).JSON)["spec"]
		if got := after(t, http, objects.OfTree(t, again), canary(10)); !objects.Same(got.JSON, moved.JSON) {
			t.Errorf("got\n%s\nwant\n%s", objects.YAML(got.JSON), objects.YAML(moved.JSON))
		}
	}
}

// Where a mark has room the plugin's entry goes all the same; where it has none, it stays and gets nothing.
func TestAnnotationLost(t *testing.T) {
	for _, tt := range []struct {
		api  gatewayapi.Routes
		want string
	}{
		{http, "{name: web, weight: 100}"},
		{gatewayapi.TCPRoutes("v1alpha2"), "{name: web, weight: 100}, {name: web-canary, weight: 0}"},
	} {
		t.Run(tt.api.Kind(), func(t *testing.T) {
			moved := after(t, tt.api, objects.Read(t, rule("{name: web}")), canary(10))
			lost := objects.Read(t, strings.Replace(string(moved.JSON), engine.Annotation, "somebody/else", 1))
			aborted := canary(0)
			aborted.Used = []intent.Destination{service("web-canary")} // as the Rollout's status has it
			if got, want := objects.Spec(t, after(t, tt.api, lost, aborted)), objects.Spec(t, objects.Read(t, rule(tt.want))); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// A record that was tampered with must not make a patch that the API server refuses for ever.
func TestRecordOfAWeightThatIsNone(t *testing.T) {
	moved := after(t, http, objects.Read(t, rule("{name: web, weight: 7}")), canary(10))
	tampered := objects.Read(t, strings.Replace(string(moved.JSON), `\"apps/web\":7`, `\"apps/web\":7000000`, 1))
	if objects.Same(moved.JSON, tampered.JSON) {
		t.Fatal("the record is spelt otherwise")
	}
	want := objects.Spec(t, objects.Read(t, rule("{name: web, weight: 100}")))
	if got := objects.Spec(t, after(t, http, tampered, canary(0))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPingPongOverTwoReleases(t *testing.T) {
	in := func(stable, other string, share int) intent.Intent {
		in := canary(share)
		in.Stable, in.Canary, in.Alternating = service(stable), service(other), true
		return in
	}
	applied := objects.Read(t, rule("{name: ping}"))
	first := after(t, http, applied, in("ping", "pong", 50), in("ping", "pong", 100), in("pong", "ping", 0))
	want := objects.Spec(t, objects.Read(t, rule("{name: ping, weight: 0}, {name: pong, filters: [], weight: 100}")))
	if got := objects.Spec(t, first); got != want {
		t.Errorf("after the first release\n%s\nwant\n%s", got, want)
	}
	second := after(t, http, first, in("pong", "ping", 50), in("pong", "ping", 100), in("ping", "pong", 0))
	if !objects.Same(second.JSON, applied.JSON) {
		t.Errorf("after the second\n%s\nwant\n%s", objects.YAML(second.JSON), objects.YAML(applied.JSON))
	}
}

// An entry that stands in the list before it is the Rollout's stays there, though nothing marks the plugin's own.
func TestCanaryRenamedToOneThatIsListed(t *testing.T) {
	tcp := gatewayapi.TCPRoutes("v1alpha2")
	renamed := func(share int) intent.Intent {
		in := canary(share)
		in.Canary = service("next")
		return in
	}
	applied := objects.Read(t, rule("{name: web}, {name: next, weight: 0}"))
	if released := after(t, tcp, applied, canary(10), renamed(10), renamed(0)); !objects.Same(released.JSON, applied.JSON) {
		t.Errorf("the route is\n%s\nwhere it was\n%s", objects.YAML(released.JSON), objects.YAML(applied.JSON))
	}
}

// A destination that was the canary on one rule may be somebody else's on another, which is selected later: there it stays.
func TestFormerCanaryOfAnotherRuleStays(t *testing.T) {
	tcp := gatewayapi.TCPRoutes("v1alpha2")
	applied := objects.Read(t, route("{name: one, backendRefs: [{name: web}, {name: web-canary, weight: 0}]}, {name: two, backendRefs: [{name: web}, {name: web-canary}]}"))
	first, err := engine.MakePlan(tcp, applied, engine.Selection{Routes: &config.RouteSelector{Name: "one"}}, canary(10))
	if err != nil {
		t.Fatal(err)
	}
	renamed := func(share int) intent.Intent {
		in := canary(share)
		in.Canary = service("next")
		return in
	}
	once := after(t, tcp, objects.Patched(t, applied, first.Patch), renamed(10))
	if twice := after(t, tcp, once, renamed(10)); !objects.Same(once.JSON, twice.JSON) {
		t.Errorf("a second call makes\n%s\nof\n%s", objects.YAML(twice.JSON), objects.YAML(once.JSON))
	}
	want := objects.Spec(t, applied)
	if got := objects.Spec(t, after(t, tcp, once, renamed(0))); got != want {
		t.Errorf("at rest\n%s\nwant\n%s", got, want)
	}
}

// It may become the canary there after all: then what its owners gave is what it gets back.
func TestFormerCanaryOfAnotherRuleIsNamedAgain(t *testing.T) {
	tcp := gatewayapi.TCPRoutes("v1alpha2")
	applied := objects.Read(t, route("{name: one, backendRefs: [{name: web}, {name: web-canary, weight: 0}]}, "+
		"{name: two, backendRefs: [{name: web, weight: 0}, {name: other}, {name: web-canary, weight: 0}]}"))
	first, err := engine.MakePlan(tcp, applied, engine.Selection{Routes: &config.RouteSelector{Name: "one"}}, canary(10))
	if err != nil {
		t.Fatal(err)
	}
	renamed := canary(10)
	renamed.Canary = service("next")
	once := after(t, tcp, objects.Patched(t, applied, first.Patch), renamed)
	for _, calls := range [][]intent.Intent{{canary(10), canary(0)}, {canary(0)}} {
		if got := after(t, tcp, once, calls...); !objects.Same(got.JSON, applied.JSON) {
			t.Errorf("at rest\n%s\nwant\n%s", objects.YAML(got.JSON), objects.YAML(applied.JSON))
		}
	}
}
