package gloo_test

import (
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

var nowhere = engine.Selection{None: true}

// gone is what is wanted for Rollout apps/web when it does not exist any more.
var gone = intent.OfGone("apps", "web", "")

// A Rollout that was deleted in the middle of a release leaves the table as it was before.
func TestGoneLeavesTheTableAsItWas(t *testing.T) {
	pingPong := canary(50)
	pingPong.Alternating = true
	onPort := canary(30)
	onPort.Stable.Port = &config.Port{Number: 8080}
	for _, tt := range []struct {
		name, table string
		calls       []intent.Intent
	}{
		{"only stable", route(web), []intent.Intent{canary(10)}},
		{"canary listed at 0", route("{ref: {name: web}, weight: 100}, {ref: {name: web-canary}, weight: 0}"), []intent.Intent{canary(10)}},
		{"all on the canary", route("{ref: {name: web}, weight: 30}, {ref: {name: other}, weight: 70}"), []intent.Intent{canary(10), canary(100)}},
		{"in an experiment", route(web), []intent.Intent{canary(10, experiment("exp-a", 20))}},
		{"two that alternate", route("{ref: {name: web}}"), []intent.Intent{pingPong}},
		{"with a port", route("{ref: {name: web}, port: {number: 8080}}, {ref: {name: web}, port: {number: 9090}, weight: 5}"), []intent.Intent{onPort}},
		{"by hash", route("{ref: {name: web}, weight: 100}"), []intent.Intent{versions("h1", "h2", 30)}},
		{"by hash, at rest", route("{ref: {name: web}, future: 1}"), []intent.Intent{versions("h1", "h2", 30), versions("h2", "h2", 0)}},
		{"the default destination", table("  defaultDestination: {ref: {name: web}}\n  http: [{forwardTo: {pathRewrite: /}}, {forwardTo: {destinations: []}}]\n"), []intent.Intent{canary(50)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			applied := object(t, tt.table)
			left := put(t, after(t, applied, tt.calls...), nowhere, gone)
			if !same(left.JSON, applied.JSON) {
				t.Errorf("the table is\n%s\nwhere it was\n%s", asYAML(left.JSON), asYAML(applied.JSON))
			}
		})
	}
}

// The name of a route is not what it is known by alone.
func TestGoneFromRouteThatWasRenamed(t *testing.T) {
	moved := after(t, object(t, route(web)), canary(10))
	renamed := fromJSON(t, []byte(strings.Replace(string(moved.JSON), `"name":"all"`, `"name":"everything"`, 1)))
	want := spec(t, object(t, strings.Replace(route("{ref: {name: web}, port: {number: 8080}, weight: 100}"), "name: all", "name: everything", 1)))
	left := put(t, renamed, nowhere, gone)
	if got := spec(t, left); got != want || left.Annotations[engine.Annotation] != "" {
		t.Errorf("got\n%s\nwant\n%s", asYAML(left.JSON), want)
	}
}

// What is left of two that alternate is the one that was stable, though the table did not list it: nobody's requests move.
func TestGoneWithPongStable(t *testing.T) {
	in := canary(0)
	in.Stable, in.Canary, in.Alternating = in.Canary, in.Stable, true
	left := put(t, after(t, object(t, route("{ref: {name: web}}")), in), nowhere, gone)
	want := spec(t, object(t, route("{ref: {name: web}}, {ref: {name: web-canary}, subset: {}, weight: 100}")))
	if got := spec(t, left); got != want || left.Annotations[engine.Annotation] != "" {
		t.Errorf("got\n%s\nwant\n%s", asYAML(left.JSON), want)
	}
}

func TestGoneWithStableTakenOut(t *testing.T) {
	moved := after(t, object(t, route("{ref: {name: web}, weight: 100}, {ref: {name: web-canary}}")), canary(10))
	cut := fromJSON(t, []byte(strings.Replace(string(moved.JSON), `"name":"web"`, `"name":"new"`, 1)))
	_, err := engine.MakePlan(gloo.RouteTables{}, cut, nowhere, gone)
	want := `RouteTable apps/demo: http[0] "all": still holds Service apps/web-canary but forwards to stable no more; list stable again, or take the others out`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
