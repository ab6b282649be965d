package gloo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
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

// Of two that alternate, an entry that the plugin made stays in the list at 0. It is known again without the annotation.
func TestPingPongAnnotationLost(t *testing.T) {
	in := func(stable, other string, share int) intent.Intent {
		in := canary(share)
		in.Stable, in.Canary, in.Alternating = service(stable), service(other), true
		return in
	}
	lose := func(o engine.Object) engine.Object {
		return fromJSON(t, []byte(strings.Replace(string(o.JSON), engine.Annotation, "somebody/else", 1)))
	}
	for _, tt := range []struct{ name, table string }{
		{"listed", route("{ref: {name: ping}, weight: 100}")},
		{"the default destination", table("  defaultDestination: {ref: {name: ping}}\n  http: [{forwardTo: {pathRewrite: /}}]\n")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			switched := after(t, object(t, tt.table), in("ping", "pong", 100), in("pong", "ping", 0))
			full := after(t, switched, in("pong", "ping", 100))
			for _, next := range []intent.Intent{in("pong", "ping", 0), in("pong", "ping", 100), in("ping", "pong", 0), in("ping", "pong", 10)} {
				next.Used = []intent.Destination{next.Canary}
				once := after(t, lose(full), next)
				if twice := after(t, once, next); !same(once.JSON, twice.JSON) {
					t.Errorf("the first call makes it\n%s\nand the second\n%s", asYAML(once.JSON), asYAML(twice.JSON))
				}
			}
		})
	}
}

// A record that was written after the annotation was lost tells of some routes only; the others are known without it.
func TestPingPongAnnotationLostInPart(t *testing.T) {
	in := canary(0)
	in.Alternating, in.Used = true, []intent.Destination{in.Canary, in.Stable}
	observed := object(t, `
metadata: {namespace: apps, name: demo, annotations: {rollouts.argoproj.io/traffic-weights: '{"apps/web":{"roles":{"apps/web-canary":"stable"},"held":[{"was":{},"routes":["http/1/one"]}],"atRest":true}}'}}
spec:
  defaultDestination: {ref: {name: web}}
  http: [{name: one, forwardTo: {destinations: [{ref: {name: web-canary}, subset: {}, weight: 100}]}}]
  tls: [{forwardTo: {destinations: [{ref: {name: web-canary}}, {ref: {name: web}, subset: {}, weight: 100}]}}]
`)
	selection := engine.Selection{Routes: &config.RouteSelector{Name: "one"}}
	for range 2 {
		plan, err := engine.MakePlan(gloo.RouteTables{}, observed, selection, in)
		if err != nil {
			t.Fatal(err)
		}
		moved := apply(t, observed, plan.Patch)
		again, err := engine.MakePlan(gloo.RouteTables{}, moved, selection, in)
		if err != nil || len(again.Patch) > 0 {
			t.Fatalf("second plan %v, %v\nafter %v", again.Patch, err, plan.Patch)
		}
		observed = moved
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

// The controller asks for weight 0 twice where the canary's pods are gone, and its status says until the end that the canary
// has traffic. What belongs to others stays theirs, whatever it is called.
func TestRestTwiceWithAnOldStatus(t *testing.T) {
	const emptySubsets = "{ref: {name: web}, weight: 100, subset: {}}, {ref: {name: web-canary}, weight: 0, subset: {}}"
	inCluster := func(in *intent.Intent) { in.Stable.Cluster, in.Canary.Cluster = "east", "east" }
	for _, tt := range []struct {
		name, table string
		describe    func(*intent.Intent)
	}{
		{"the same names in another cluster", route("{ref: {name: web, cluster: east}, weight: 50}, {ref: {name: web, cluster: west}, weight: 30}, {ref: {name: web-canary, cluster: west}, weight: 20}"), inCluster},
		{"the canary's name on another port", route("{ref: {name: web}, port: {number: 8080}, weight: 70}, {ref: {name: web-canary}, port: {number: 9090}, weight: 30}"),
			func(in *intent.Intent) { in.Canary.Port = &config.Port{Number: 8080} }},
		{"another subset of the same Service", route("{ref: {name: web}, subset: {v: '1'}, weight: 80}, {ref: {name: web}, subset: {v: legacy}, weight: 20}"),
			func(in *intent.Intent) {
				in.Canary = service("web")
				in.Stable.Subset, in.Canary.Subset = map[string]string{"v": "1"}, map[string]string{"v": "2"}
			}},
		{"empty subsets spelt out everywhere", route(emptySubsets), func(*intent.Intent) {}},
		{"empty subsets beside a default destination", table("  defaultDestination: {ref: {name: web}}\n  http: [{forwardTo: {destinations: [{ref: {name: web}, subset: {}}]}}]\n"), func(*intent.Intent) {}},
		{"an empty subset of somebody else's", route("{ref: {name: web}}, {ref: {name: other}, weight: 20, subset: {}}"), func(*intent.Intent) {}},
		{"two that alternate, with empty subsets", route(emptySubsets), func(in *intent.Intent) { in.Alternating = true }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			applied := object(t, tt.table)
			in := func(share int) intent.Intent {
				in := canary(share)
				tt.describe(&in)
				return in
			}
			aborted := in(0)
			aborted.Used = []intent.Destination{aborted.Canary}
			if got := after(t, applied, in(10), aborted, aborted, in(0), in(10), aborted, aborted); !same(got.JSON, applied.JSON) {
				t.Errorf("the table is\n%s\nwhere it was\n%s", asYAML(got.JSON), asYAML(applied.JSON))
			}
		})
	}
}

// A canary that was renamed keeps nothing; but what somebody lists under its old name on a route that the Rollout never
// changed is his.
func TestOldNamesOnNewRoutes(t *testing.T) {
	in := canary(10)
	in.Used = []intent.Destination{service("web-old")}
	observed := object(t, route("{ref: {name: web}, weight: 60}, {ref: {name: web-old}, weight: 40}"))
	want := spec(t, object(t, route("{ref: {name: web}, weight: 54}, {ref: {name: web-old}, weight: 40}, {ref: {name: web-canary}, subset: {}, weight: 6}")))
	if got := spec(t, after(t, observed, in)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestUnselectedRoutesAreLeftAlone(t *testing.T) {
	observed := object(t, table("  http: [{name: one, forwardTo: {destinations: [{ref: {name: web}}]}}, {name: two, forwardTo: {destinations: [{ref: {name: web}, subset: {}, weight: 50}, {ref: {name: web-canary}, subset: {}, weight: 50}]}}]\n"))
	plan, err := engine.MakePlan(gloo.RouteTables{}, observed, engine.Selection{Routes: &config.RouteSelector{Name: "one"}}, canary(10))
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range plan.Changes {
		if change.Place != `http[0] "one"` {
			t.Errorf("%v", change)
		}
	}
}

func TestPingTakenOutMeanwhile(t *testing.T) {
	in := canary(50)
	in.Alternating = true
	moved := after(t, object(t, route("{ref: {name: web}}")), in)
	cut := fromJSON(t, []byte(strings.Replace(string(moved.JSON), `{"ref":{"name":"web"},"weight":50},`, "", 1)))
	in.CanaryShare = 0
	want := spec(t, object(t, route("{ref: {name: web}, subset: {}, weight: 100}")))
	if got := spec(t, after(t, cut, in)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRoutesOfTheSameNameAreToldApart(t *testing.T) {
	applied := object(t, table("  http:\n  - {name: a, forwardTo: {destinations: [{ref: {name: web}}]}}\n  - {name: a, forwardTo: {destinations: [{ref: {name: web}, weight: 60}, {ref: {name: other}, weight: 40}]}}\n"+
		"  - {name: 'a#2', forwardTo: {destinations: [{ref: {name: web}, weight: 100}, {ref: {name: web-canary}, weight: 0}]}}\n"))
	if got := after(t, applied, canary(10), canary(0)); !same(got.JSON, applied.JSON) {
		t.Errorf("the table is\n%s\nwhere it was\n%s", asYAML(got.JSON), asYAML(applied.JSON))
	}
}

// While a route cannot be read, it is not known whether it is one that was changed: nothing is forgotten.
func TestChangedRouteThatCannotBeRead(t *testing.T) {
	moved := after(t, object(t, table("  http: [{name: one, forwardTo: {destinations: [{ref: {name: web}}]}}, {name: two, forwardTo: {destinations: [{ref: {name: web}}]}}]\n")), canary(10))
	broken := fromJSON(t, []byte(strings.Replace(string(moved.JSON), `"name":"two"`, `"name":"two","labels":{"a":5}`, 1)))
	_, err := engine.MakePlan(gloo.RouteTables{}, broken, engine.Selection{Routes: &config.RouteSelector{Name: "one"}}, canary(0))
	want := `RouteTable apps/demo: http[1]: labels: found a number, want a string; mend it, since it may be a route that the Rollout has changed`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestAnnotationThatSaysNonsense(t *testing.T) {
	moved := after(t, object(t, route("{ref: {name: web}}")), canary(10))
	for _, nonsense := range []string{`-5`, `4294967297`} {
		edited := fromJSON(t, []byte(strings.Replace(string(moved.JSON), `\"apps/web\":null`, `\"apps/web\":`+nonsense, 1)))
		want := spec(t, object(t, route("{ref: {name: web}, weight: 100}")))
		if got := spec(t, after(t, edited, canary(0))); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// A weight that was not given may only be taken away again when nobody else's 0 would share in what is left.
func TestRestWaitsForOthers(t *testing.T) {
	api := func(share int) intent.Intent {
		in := canary(share)
		in.Owner, in.Stable, in.Canary = "apps/api", service("api"), service("api-canary")
		return in
	}
	applied := object(t, route("{ref: {name: web}, weight: 50}, {ref: {name: api}}"))
	waiting := after(t, applied, api(50), canary(100), api(0))
	want := spec(t, object(t, route("{ref: {name: web}, weight: 0}, {ref: {name: api}, weight: 50}, {ref: {name: web-canary}, subset: {}, weight: 50}")))
	if got := spec(t, waiting); got != want {
		t.Errorf("while the other is at full weight\n%s\nwant\n%s", got, want)
	}
	if rested := after(t, waiting, canary(0), api(0)); !same(rested.JSON, applied.JSON) {
		t.Errorf("at rest\n%s\nwant\n%s", asYAML(rested.JSON), asYAML(applied.JSON))
	}
}

// Where the owners' own table keeps a 0 of somebody else's beside it, there is nothing to wait for.
func TestRestDoesNotWaitForEver(t *testing.T) {
	applied := object(t, route("{ref: {name: web}}, {ref: {name: other}, weight: 40}"))
	moved := after(t, applied, canary(10))
	edited := fromJSON(t, []byte(strings.Replace(string(moved.JSON), `{"ref":{"name":"other"},"weight":40}`, `{"ref":{"name":"other"},"weight":40},{"ref":{"name":"more"},"weight":0}`, 1)))
	want := object(t, route("{ref: {name: web}, weight: 60}, {ref: {name: other}, weight: 40}, {ref: {name: more}, weight: 0}"))
	got := after(t, edited, canary(0))
	if spec(t, got) != spec(t, want) || got.Annotations[engine.Annotation] != "" {
		t.Errorf("got\n%s\nwant\n%s", asYAML(got.JSON), asYAML(want.JSON))
	}
}

// While weights of others make no sense of a spelling, it is remembered for as long as they may be given back.
func TestSpellingWaitsForOthers(t *testing.T) {
	api := func(share int) intent.Intent {
		in := canary(share)
		in.Owner, in.Stable, in.Canary = "apps/api", service("api"), service("api-canary")
		return in
	}
	const owners = "{ref: {name: api}, weight: 2}, {ref: {name: web}}, {ref: {name: other}, weight: %d}"
	moved := after(t, object(t, route(fmt.Sprintf(owners, 3))), canary(10), api(50))
	edited := fromJSON(t, []byte(strings.Replace(string(moved.JSON), `"weight":3`, `"weight":1`, 1)))
	if same(moved.JSON, edited.JSON) {
		t.Fatal("nothing was edited")
	}
	got := after(t, edited, api(0), canary(0), api(0))
	if want := object(t, route(fmt.Sprintf(owners, 1))); !same(got.JSON, want.JSON) {
		t.Errorf("got\n%s\nwant\n%s", asYAML(got.JSON), asYAML(want.JSON))
	}
}

// Of two that alternate, an entry that the plugin made is known as such, also where the record is of another route alone: what
// one call leaves, the next leaves as well.
func TestPingPongWithRecordOfAnotherRouteAlone(t *testing.T) {
	in := canary(0)
	in.Alternating = true
	o := object(t, `
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata:
  name: demo
  namespace: apps
  annotations:
    rollouts.argoproj.io/traffic-weights: '{"apps/web":{"roles":{"apps/web-canary":"stable"},"held":[{"was":{},"routes":["http/0/r"]}],"atRest":true}}'
spec:
  defaultDestination: {ref: {name: web}}
  http: [{name: r, matchers: [{uri: {prefix: /r}}], forwardTo: {destinations: [{ref: {name: web-canary}, subset: {}, weight: 100}]}}]
  tls: [{forwardTo: {destinations: [{ref: {name: api}, weight: 1}, {ref: {name: web-canary}}, {ref: {name: web}, subset: {}, weight: 99}]}}]
`)
	once := after(t, o, in)
	if twice := after(t, once, in); !same(once.JSON, twice.JSON) {
		t.Errorf("a second call makes\n%s\nof\n%s", asYAML(twice.JSON), asYAML(once.JSON))
	}
}
