package gloo_test

import (
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// after returns the object as it is once every intent has been asked for, one after the other.
func after(t *testing.T, o engine.Object, calls ...intent.Intent) engine.Object {
	t.Helper()
	for _, in := range calls {
		plan, err := engine.MakePlan(gloo.RouteTables{}, o, engine.Selection{}, in)
		if err != nil {
			t.Fatal(err)
		}
		o = apply(t, o, plan.Patch)
	}
	return o
}

func TestReleaseLeavesTheTableAsItWas(t *testing.T) {
	for _, tt := range []struct{ name, table string }{
		{"only stable, without a weight", route(web)},
		{"only stable, with a weight", route("{ref: {name: web}, weight: 30}")},
		{"canary listed at 0", route("{ref: {name: web}, weight: 100}, {ref: {name: web-canary}, weight: 0}")},
		{"canary listed without a weight beside all of it", route("{ref: {name: web}, weight: 100}, {ref: {name: web-canary}}")},
		{"beside others", route("{ref: {name: other}, weight: 40}, {ref: {name: web}}")},
		{"beside others that give none", route("{ref: {name: other}}, {ref: {name: web}, weight: 90}, {ref: {name: more}, weight: 4}")},
		{"empty subsets that somebody else spelt out", route("{ref: {name: web}, weight: 100, subset: {}}, {ref: {name: web-canary}, weight: 0, subset: {}}")},
		{"the default destination", table("  defaultDestination: {ref: {name: web}}\n  http: [{forwardTo: {pathRewrite: /}}, {forwardTo: {destinations: []}}]\n")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			applied := object(t, tt.table)
			released := after(t, applied, canary(10), canary(10, experiment("exp-a", 20)), canary(50), canary(0))
			if !same(released.JSON, applied.JSON) {
				t.Errorf("the table is\n%s\nwhere it was\n%s", asYAML(released.JSON), asYAML(applied.JSON))
			}
		})
	}
}

func TestAnnotationLostAtTen(t *testing.T) {
	moved := after(t, object(t, route(web)), canary(10))
	lost := fromJSON(t, []byte(strings.Replace(string(moved.JSON), engine.Annotation, "somebody/else", 1)))
	aborted := canary(0)
	aborted.Used = []intent.Destination{service("web-canary")} // as the Rollout's status has it
	for _, calls := range [][]intent.Intent{{aborted}, {canary(50), canary(0)}} {
		calls[0].Used = aborted.Used
		want := spec(t, object(t, route("{ref: {name: web}, port: {number: 8080}, weight: 100}")))
		if got := spec(t, after(t, lost, calls...)); got != want {
			t.Errorf("got\n%s\nwant only the spelling of the weight to be lost\n%s", got, want)
		}
	}
}

func TestCanaryListedMeanwhileStays(t *testing.T) {
	moved := after(t, object(t, route("{ref: {name: web}}")), canary(10))
	listed := fromJSON(t, []byte(strings.Replace(string(moved.JSON), `"subset":{},`, "", 1)))
	want := spec(t, object(t, route("{ref: {name: web}, weight: 100}, {ref: {name: web-canary}, weight: 0}")))
	if got := spec(t, after(t, listed, canary(50), canary(0))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPingPongOverThreeReleases(t *testing.T) {
	in := func(stable, other string, share int) intent.Intent {
		in := canary(share)
		in.Stable, in.Canary, in.Alternating = service(stable), service(other), true
		return in
	}
	applied := object(t, route("{ref: {name: ping}}"))
	first := after(t, applied, in("ping", "pong", 50), in("ping", "pong", 100), in("pong", "ping", 0))
	want := spec(t, object(t, route("{ref: {name: ping}}, {ref: {name: pong}, subset: {}, weight: 100}")))
	if got := spec(t, first); got != want {
		t.Errorf("after the first release\n%s\nwant\n%s", got, want)
	}
	second := after(t, first, in("pong", "ping", 50), in("pong", "ping", 100), in("ping", "pong", 0))
	if !same(second.JSON, applied.JSON) {
		t.Errorf("after the second\n%s\nwant\n%s", asYAML(second.JSON), asYAML(applied.JSON))
	}
	if third := after(t, second, in("ping", "pong", 50), in("ping", "pong", 100), in("pong", "ping", 0)); !same(third.JSON, first.JSON) {
		t.Errorf("after the third\n%s\nwant\n%s", asYAML(third.JSON), asYAML(first.JSON))
	}
}

func TestTwoRolloutsNeverHoldTheSameDestination(t *testing.T) {
	first := after(t, object(t, route(web)), canary(10))
	other := canary(50)
	other.Owner = "apps/other"
	_, err := engine.MakePlan(gloo.RouteTables{}, first, engine.Selection{}, other)
	want := `RouteTable apps/demo: http[0] "all": Service apps/web:8080 is being moved by Rollout apps/web as well; let that one finish, or remove it from annotation rollouts.argoproj.io/traffic-weights if it is gone`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
