package gloo_test

import (
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/steps"
)

// versions returns the intent of a Rollout whose versions are subsets of Service web by pod hash.
func versions(stable, wanted string, weight int) intent.Intent {
	in := canary(weight)
	in.Stable.HashLabel = "hash"
	in.Canary = in.Stable
	return in.WithHashes(stable, wanted)
}

// put plans with a selection, and returns the object as it becomes. A second plan has nothing to do.
func put(t *testing.T, o engine.Object, selection engine.Selection, in intent.Intent) engine.Object {
	t.Helper()
	plan, err := engine.MakePlan(gloo.RouteTables{}, o, selection, in)
	if err != nil {
		t.Fatal(err)
	}
	o = apply(t, o, plan.Patch)
	if again, err := engine.MakePlan(gloo.RouteTables{}, o, selection, in); err != nil || len(again.Patch) > 0 {
		t.Fatalf("second plan %v, %v", again.Patch, err)
	}
	return o
}

// From one version to the next and the one after, with a change of mind and an abort in between: hash and weight change
// together, and at rest there is one entry, which is as it was but for the hash.
func TestVersionsByHash(t *testing.T) {
	const bare = "{ref: {name: web}, future: 1}"
	for _, tt := range []struct{ name, table, given, rest, weighed string }{
		{"without a subset", route(bare), route(bare), "{ref: {name: web}, future: 1, subset: {hash: HASH}}", "{ref: {name: web}, future: 1, subset: {hash: HASH}, weight: WEIGHT}"},
		{"with labels of its own", route("{ref: {name: web}, subset: {hash: old, zone: a}, weight: 100}"), route("{ref: {name: web}, subset: {zone: a}, weight: 100}"),
			"{ref: {name: web}, subset: {hash: HASH, zone: a}, weight: 100}", "{ref: {name: web}, subset: {hash: HASH, zone: a}, weight: WEIGHT}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := func(pattern, hash, weight string) string {
				return strings.NewReplacer("HASH", hash, "WEIGHT", weight).Replace(pattern)
			}
			moved := object(t, tt.table)
			for _, step := range []struct {
				in   intent.Intent
				want string
			}{
				{versions("", "h1", 0), ""},
				{versions("", "h1", 100), at(tt.rest, "h1", "")},
				{versions("h1", "h1", 0), at(tt.rest, "h1", "")},
				{versions("h1", "h2", 0), at(tt.rest, "h1", "")},
				{versions("h1", "h2", 10), at(tt.weighed, "h1", "90") + ", " + at(tt.weighed, "h2", "10")},
				{versions("h1", "h3", 0), at(tt.rest, "h1", "")},
				{versions("h1", "h3", 50), at(tt.weighed, "h1", "50") + ", " + at(tt.weighed, "h3", "50")},
				{versions("h1", "h4", 60), at(tt.weighed, "h1", "40") + ", " + at(tt.weighed, "h4", "60")},
				{versions("h1", "h4", 100), at(tt.weighed, "h1", "0") + ", " + at(tt.weighed, "h4", "100")},
				{versions("h4", "h4", 0), at(tt.rest, "h4", "")},
				{versions("h4", "h5", 30), at(tt.weighed, "h4", "70") + ", " + at(tt.weighed, "h5", "30")},
				{versions("h4", "h5", 0), at(tt.rest, "h4", "")},
			} {
				moved = after(t, moved, step.in)
				want := tt.table
				if step.want != "" {
					want = route(step.want)
				}
				if got, want := spec(t, moved), spec(t, object(t, want)); got != want {
					t.Fatalf("%s and %s at %d\n%s\nwant\n%s", step.in.StableHash, step.in.CanaryHash, step.in.CanaryShare, got, want)
				}
				mustBeRouteTable(t, moved)
				if again, err := engine.MakePlan(gloo.RouteTables{}, moved, engine.Selection{}, step.in); err != nil || len(again.Patch) > 0 {
					t.Fatalf("second plan %v, %v", again.Patch, err)
				}
			}
			left := put(t, moved, engine.Selection{None: true}, versions("h4", "h4", 0))
			if !same(left.JSON, object(t, tt.given).JSON) {
				t.Errorf("when it is not selected any more\n%s\nwant\n%s", asYAML(left.JSON), tt.given)
			}
		})
	}
}

// A default destination has no hash, so there the list stays, for as long as the route is selected.
func TestVersionsByHashOfADefaultDestination(t *testing.T) {
	applied := object(t, table("  defaultDestination: {ref: {name: web}}\n  http: [{forwardTo: {pathRewrite: /}}]\n"))
	moved := applied
	for _, step := range []struct {
		in   intent.Intent
		want string
	}{
		{versions("", "h1", 0), ""},
		{versions("h1", "h1", 0), ", destinations: [{ref: {name: web}, subset: {hash: h1}, weight: 100}]"},
		{versions("h1", "h2", 10), ", destinations: [{ref: {name: web}, subset: {hash: h1}, weight: 90}, {ref: {name: web}, subset: {hash: h2}, weight: 10}]"},
		{versions("h2", "h2", 0), ", destinations: [{ref: {name: web}, subset: {hash: h2}, weight: 100}]"},
	} {
		moved = put(t, moved, engine.Selection{}, step.in)
		want := table("  defaultDestination: {ref: {name: web}}\n  http: [{forwardTo: {pathRewrite: /" + step.want + "}}]\n")
		if got, want := spec(t, moved), spec(t, object(t, want)); got != want {
			t.Errorf("%s and %s at %d\n%s\nwant\n%s", step.in.StableHash, step.in.CanaryHash, step.in.CanaryShare, asYAML(moved.JSON), want)
		}
	}
	if left := put(t, moved, engine.Selection{None: true}, versions("h2", "h2", 0)); !same(left.JSON, applied.JSON) {
		t.Errorf("when it is not selected any more\n%s", asYAML(left.JSON))
	}
	for _, weight := range []int{0, 10, 100} { // an empty list is remembered as that
		empty := object(t, table("  defaultDestination: {ref: {name: web}}\n  http: [{forwardTo: {destinations: []}}]\n"))
		moved := put(t, empty, engine.Selection{}, versions("h1", "h2", weight))
		moved = put(t, moved, engine.Selection{}, versions("h2", "h2", 0))
		if left := put(t, moved, engine.Selection{None: true}, versions("h2", "h2", 0)); !same(left.JSON, empty.JSON) {
			t.Errorf("from %d\n%s", weight, asYAML(left.JSON))
		}
	}
	// In the middle of a release too, as when the table is applied again.
	put(t, applied, engine.Selection{}, versions("h1", "h2", 50))
	put(t, object(t, table("  defaultDestination: {ref: {name: web}, subset: {hash: h1}}\n  http: [{forwardTo: {pathRewrite: /}}]\n")), engine.Selection{}, versions("h1", "h2", 50))
}

// Header and mirror routes name the canary's version, whatever its weight.
func TestManagedRoutesByHash(t *testing.T) {
	in := versions("h1", "h2", 10)
	in.Managed = []intent.ManagedRoute{steps.Header("beta", steps.Exact("x-beta", "yes")), steps.Mirror(35, steps.Gets())}
	plan, err := engine.MakePlan(gloo.RouteTables{}, object(t, route("{ref: {name: web}}")), engine.Selection{}, in)
	if err != nil {
		t.Fatal(err)
	}
	text := string(apply(t, object(t, route("{ref: {name: web}}")), plan.Patch).JSON)
	for _, want := range []string{
		`{"destinations":[{"ref":{"name":"web"},"subset":{"hash":"h2"}}]}`, // of beta
		`{"destinations":[{"ref":{"name":"web"},"subset":{"hash":"h1"},"weight":90},{"ref":{"name":"web"},"subset":{"hash":"h2"},"weight":10}]}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if want := `"destination":{"ref":{"name":"web"},"subset":{"hash":"h2"}}`; len(plan.Policies) != 1 || !strings.Contains(string(plan.Policies[0].Spec), want) {
		t.Errorf("policies %v, want one with %s", plan.Policies, want)
	}
}

// What the table has of other versions goes, whether the annotation is there or not, and what is of others stays.
func TestStaleVersions(t *testing.T) {
	for _, tt := range []struct {
		name, destinations string
		in                 intent.Intent
		want               string
	}{
		{"an old version, as a table that is applied again has", "{ref: {name: web}, subset: {hash: h0}, weight: 100}", versions("h1", "h1", 0),
			"{ref: {name: web}, subset: {hash: h1}, weight: 100}"},
		{"versions of which nothing is remembered", "{ref: {name: web}, subset: {hash: h1}, weight: 50}, {ref: {name: web}, subset: {hash: h2}, weight: 30}, {ref: {name: web}, subset: {hash: h3}, weight: 20}",
			versions("h1", "h3", 10), "{ref: {name: web}, subset: {hash: h1}, weight: 90}, {ref: {name: web}, subset: {hash: h3}, weight: 10}"},
		{"another subset of the Service, and another Service", "{ref: {name: web}, subset: {legacy: 'yes'}, weight: 20}, {ref: {name: web}, weight: 50}, {ref: {name: other}, subset: {hash: h9}, weight: 30}",
			versions("h1", "h2", 50), "{ref: {name: web}, subset: {legacy: 'yes'}, weight: 20}, {ref: {name: web}, subset: {hash: h1}, weight: 25}, {ref: {name: other}, subset: {hash: h9}, weight: 30}, {ref: {name: web}, subset: {hash: h2}, weight: 25}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, want := spec(t, after(t, object(t, route(tt.destinations)), tt.in)), spec(t, object(t, route(tt.want))); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// A route that is not selected any more follows the stable version while there are pods of others, and then names none. One
// that was never selected is left alone, whatever it names.
func TestUnselectedRouteFollowsTheStableVersion(t *testing.T) {
	moved := object(t, table("  http: [{name: one, forwardTo: {destinations: [{ref: {name: web}}]}}, {name: two, labels: {a: b}, forwardTo: {destinations: [{ref: {name: web}}]}}, "+
		"{name: pinned, forwardTo: {destinations: [{ref: {name: web}, subset: {hash: h0}}]}}]\n"))
	named := func(name string) engine.Selection { return engine.Selection{Routes: &config.RouteSelector{Name: name}} }
	moved = put(t, moved, named("two"), versions("h1", "h1", 0))
	for _, step := range []struct {
		in   intent.Intent
		want string
	}{
		{versions("h1", "h2", 10), `{"destinations":[{"ref":{"name":"web"},"subset":{"hash":"h1"}}]}`},
		{versions("h2", "h3", 10), `{"destinations":[{"ref":{"name":"web"},"subset":{"hash":"h2"}}]}`},
		{versions("h3", "h3", 0), `{"destinations":[{"ref":{"name":"web"}}]}`},
	} {
		moved = put(t, moved, named("one"), step.in)
		if want := step.want + `,"labels":{"a":"b"},"name":"two"`; !strings.Contains(string(moved.JSON), want) || !strings.Contains(string(moved.JSON), `"subset":{"hash":"h0"}`) {
			t.Errorf("no %s in\n%s", want, moved.JSON)
		}
	}
}

// A Rollout may go from two Services to subsets and back, in the middle of a release too: weights are as they were given, and
// no hash is left.
func TestFromServicesToHashesAndBack(t *testing.T) {
	for _, destinations := range []string{"{ref: {name: web}, weight: 100}", "{ref: {name: web}}", "{ref: {name: web}}, {ref: {name: other}}"} {
		applied := object(t, route(destinations))
		for _, middle := range []int{0, 10} {
			moved := applied
			for _, in := range []intent.Intent{canary(middle), versions("h1", "h2", middle), versions("h1", "h2", 50), canary(30), versions("h1", "h2", 0), versions("h2", "h2", 0)} {
				moved = put(t, moved, engine.Selection{}, in)
			}
			if want := strings.Replace(destinations, "{name: web}", "{name: web}, subset: {hash: h2}", 1); spec(t, moved) != spec(t, object(t, route(want))) {
				t.Errorf("%s: by hash, at rest\n%s", destinations, asYAML(moved.JSON))
			}
			if back := put(t, moved, engine.Selection{}, canary(0)); !same(back.JSON, applied.JSON) {
				t.Errorf("%s: back at two Services\n%s", destinations, asYAML(back.JSON))
			}
		}
	}
}

// Rollouts behind one Service leave each other's routes alone.
func TestTwoRolloutsBehindOneService(t *testing.T) {
	moved := object(t, table("  http: [{name: one, forwardTo: {destinations: [{ref: {name: web}}]}}, {name: two, forwardTo: {destinations: [{ref: {name: web}}]}}]\n"))
	set := func(name, stable, wanted string, weight int) {
		in := versions(stable, wanted, weight)
		in.Owner = "apps/" + name
		moved = put(t, moved, engine.Selection{Routes: &config.RouteSelector{Name: name}}, in)
	}
	set("one", "a1", "a1", 0)
	set("two", "b1", "b1", 0)
	set("one", "a1", "a2", 10)
	set("two", "b1", "b2", 20)
	set("one", "a1", "a2", 0)
	want := spec(t, object(t, table("  http: [{name: one, forwardTo: {destinations: [{ref: {name: web}, subset: {hash: a1}}]}}, "+
		"{name: two, forwardTo: {destinations: [{ref: {name: web}, subset: {hash: b1}, weight: 80}, {ref: {name: web}, subset: {hash: b2}, weight: 20}]}}]\n")))
	if got := spec(t, moved); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestVersionsByHashRefuse(t *testing.T) {
	for _, tt := range []struct {
		name, destinations string
		in                 intent.Intent
		want               string
	}{
		{"the Service twice", "{ref: {name: web}, weight: 50}, {ref: {name: web}, weight: 50}", versions("h1", "h2", 10),
			`http[0] "all": lists Service apps/web twice; make one of the two`},
		{"two ports of it", "{ref: {name: web}, port: {number: 80}, subset: {hash: h1}, weight: 50}, {ref: {name: web}, port: {number: 81}, subset: {hash: h1}, weight: 50}", versions("h1", "h1", 0),
			`http[0] "all": lists Service apps/web:80 (hash=h1) and Service apps/web:81 (hash=h1), and either could be stable; set its port, subset or cluster in the config block`},
		{"other labels beside the hash", "{ref: {name: web}, subset: {hash: h1, zone: a}, weight: 50}, {ref: {name: web}, subset: {hash: h1, zone: b}, weight: 50}", versions("h1", "h2", 10),
			`and either could be stable`},
		{"a version twice", "{ref: {name: web}, subset: {hash: h1}, weight: 50}, {ref: {name: web}, subset: {hash: h1}, weight: 50}", versions("h1", "h2", 10),
			`http[0] "all": lists Service apps/web (hash=h1) twice; make one of the two`},
		{"other subsets alone", "{ref: {name: web}, subset: {legacy: 'yes'}}", versions("h1", "h2", 10), ""},
		{"a canary without a hash", "{ref: {name: web}}", versions("h1", "", 10), `http[0] "all": the pod hash of the canary is not known yet`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := engine.MakePlan(gloo.RouteTables{}, object(t, route(tt.destinations)), engine.Selection{}, tt.in)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v, patch %v\nwant %s", err, plan.Patch, tt.want)
			}
		})
	}
}
