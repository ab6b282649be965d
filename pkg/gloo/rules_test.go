package gloo_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// The rules of the design hold for any table, any number of Rollouts on it and any order of calls, whatever other people
// do to the table meanwhile. world is that table, with what happens to it.
type world struct {
	// live is the table in the cluster; mine the one that its owners believe they have: without what the plugin did.
	live, mine engine.Object
	rollouts   []*rolloutModel
	// lost says that the annotation was deleted at some time.
	lost bool
	// broken says that somebody changed weights so that they may not sum to 100.
	broken bool
}

// rolloutModel is a Rollout on the table.
type rolloutModel struct {
	name      string
	pingPong  bool
	ping      bool // ping is stable
	selector  *config.RouteSelector
	renamed   bool // canaryService was renamed
	rested    bool
	lastShare int
	// last are the destinations beside stable that the last call gave a weight, as the Rollout's status keeps them.
	last []string
}

// own are the names of every destination that the Rollout may ever call its own.
func (ro *rolloutModel) own() []string {
	return []string{ro.name, ro.name + "-canary", ro.name + "-canary2", ro.name + "-exp"}
}

// all are those of every Rollout.
func (w *world) all() []string {
	var names []string
	for _, ro := range w.rollouts {
		names = append(names, ro.own()...)
	}
	return names
}

func (ro *rolloutModel) intent(share, experimentShare int) intent.Intent {
	in := canary(share)
	in.Owner = "apps/" + ro.name
	in.Stable, in.Canary = service(ro.name), service(ro.name+"-canary")
	if ro.renamed {
		in.Canary = service(ro.name + "-canary2")
	}
	if in.Alternating = ro.pingPong; ro.pingPong && !ro.ping {
		in.Stable, in.Canary = in.Canary, in.Stable
	}
	if experimentShare > 0 {
		in.Experiments = []intent.Experiment{experiment(ro.name+"-exp", experimentShare)}
	}
	for _, name := range ro.last {
		in.Used = append(in.Used, service(name))
	}
	in.Services = map[string]intent.Service{ro.name + "-exp": {Ports: []intent.ServicePort{{Number: 8080}}}}
	return in
}

// drawWorld draws a valid table, with fields that no type here knows, and the Rollouts on it.
func drawWorld(t *rapid.T) *world {
	pingPong := rapid.IntRange(0, 3).Draw(t, "pingPong") == 0
	w := &world{rollouts: []*rolloutModel{{name: "web", pingPong: pingPong, ping: true, rested: true}, {name: "api", rested: true}}}
	spec := map[string]any{"hosts": []any{"a.example.com"}, "future": map[string]any{"id": json.Number("9007199254740993"), "nothing": nil}}
	hasDefault := rapid.Bool().Draw(t, "default")
	if hasDefault {
		spec["defaultDestination"] = map[string]any{"ref": map[string]any{"name": "web"}}
	}
	for _, section := range []string{"http", "tcp", "tls"} {
		var routes []any
		for i := range rapid.IntRange(0, 3).Draw(t, section) {
			routes = append(routes, drawRoute(t, section, i, hasDefault))
		}
		if routes != nil {
			spec[section] = routes
		}
	}
	raw, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"namespace": "apps", "name": "demo"}, "spec": spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.live, w.mine = fromJSON(t, raw), fromJSON(t, raw)
	return w
}

func drawRoute(t *rapid.T, section string, index int, hasDefault bool) map[string]any {
	route := map[string]any{"matchers": []any{map[string]any{"port": index}}}
	if section == "http" && rapid.Bool().Draw(t, "named") {
		route["name"] = fmt.Sprint("r", index)
	}
	if hasDefault && rapid.IntRange(0, 4).Draw(t, "bare") == 0 {
		route["forwardTo"] = map[string]any{"future": "/"}
		if rapid.Bool().Draw(t, "empty") {
			route["forwardTo"] = map[string]any{"destinations": []any{}}
		}
		return route
	}
	if section == "http" && rapid.IntRange(0, 5).Draw(t, "redirects") == 0 {
		route["redirect"] = map[string]any{"hostRedirect": "b.example.com"}
		return route
	}
	names := rapid.Permutation([]string{"web", "api", "web-canary", "other", "api-canary", "more"}).Draw(t, "names")
	names = names[:rapid.IntRange(1, 5).Draw(t, "destinations")]
	weights := drawWeights(t, len(names))
	var destinations []any
	for i, name := range names {
		d := map[string]any{"ref": map[string]any{"name": name}, "future": json.Number("9007199254740993")}
		if weights[i] != nil {
			d["weight"] = *weights[i]
		}
		destinations = append(destinations, d)
	}
	route["forwardTo"] = map[string]any{"destinations": destinations}
	return route
}

// drawWeights draws weights that Gloo accepts: they sum to 100, or to less and some are missing.
func drawWeights(t *rapid.T, n int) []*int {
	weights, left := make([]*int, n), 100
	for i := range weights {
		if rapid.IntRange(0, 2).Draw(t, "given") == 0 {
			continue
		}
		weight := rapid.IntRange(0, left).Draw(t, "weight")
		weights[i], left = &weight, left-weight
	}
	if left > 0 && !slices.Contains(weights, nil) {
		*weights[n-1] += left
	}
	return weights
}

// call lets a Rollout set a weight, and checks what comes of it. It reports whether the plan was refused.
func (w *world) call(t *rapid.T, ro *rolloutModel, share, experimentShare int) (refused bool) {
	in := ro.intent(share, experimentShare)
	selection := engine.Selection{Routes: ro.selector}
	plan, err := engine.MakePlan(gloo.RouteTables{}, w.live, selection, in)
	if errors.Is(err, engine.ErrNoRoute) { // as for a table that was found by label
		selection = engine.Selection{None: true}
		plan, err = engine.MakePlan(gloo.RouteTables{}, w.live, selection, in)
	}
	if err != nil {
		return true
	}
	after := apply(t, w.live, plan.Patch)
	mustBeRouteTable(t, after)
	w.checkSum(t, ro, after, plan)
	w.checkLocality(t, ro, after)
	if again, err := engine.MakePlan(gloo.RouteTables{}, after, selection, in); err != nil || len(again.Patch) > 0 {
		t.Fatalf("idempotence: second plan %v, %v\nfirst %v on\n%s", again.Patch, err, plan.Patch, asYAML(w.live.JSON))
	}
	w.checkShares(t, ro, after, in, selection)
	w.checkIsolation(t, ro, after)
	w.live, ro.rested, ro.lastShare, ro.last = after, in.AtRest(), share, nil
	if share > 0 {
		ro.last = append(ro.last, in.Canary.Name)
	}
	if experimentShare > 0 {
		ro.last = append(ro.last, ro.name+"-exp")
	}
	return false
}

// checkSum is rule 1.
func (w *world) checkSum(t *rapid.T, ro *rolloutModel, after engine.Object, plan engine.Plan) {
	for _, r := range routes(t, after) {
		touched := slices.ContainsFunc(plan.Patch, func(op engine.Operation) bool { return r.List != "" && strings.HasPrefix(op.Path, r.List) })
		if !touched || !r.Listed || len(r.Entries) == 1 {
			continue
		}
		sum, foreignWithout := 0, false
		for _, e := range r.Entries {
			sum += weightOf(e)
			foreignWithout = foreignWithout || weightOf(e) == 0 && !slices.Contains(ro.own(), e.Name)
		}
		restored := ro.stableGivesNone(r)
		if sum != 100 && (sum > 100 || !foreignWithout && !restored) {
			t.Fatalf("sum: %s gives %d\n%s", r.Place, sum, asYAML(after.JSON))
		}
	}
}

func (ro *rolloutModel) stableGivesNone(r engine.Route) bool {
	for _, e := range r.Entries {
		if weightOf(e) == 0 && slices.Contains(ro.own(), e.Name) {
			return true
		}
	}
	return false
}

// checkLocality is rule 2: without the Rollout's weights, the plugin's entries and its annotation, nothing changed.
func (w *world) checkLocality(t *rapid.T, ro *rolloutModel, after engine.Object) {
	before, now := foreignPart(t, w.live, ro.own()), foreignPart(t, after, ro.own())
	if !bytes.Equal(before, now) {
		t.Fatalf("locality: before\n%s\nafter\n%s", asYAML(before), asYAML(now))
	}
}

// checkShares is rule 7, and that each gets its part.
func (w *world) checkShares(t *rapid.T, ro *rolloutModel, after engine.Object, in intent.Intent, selection engine.Selection) {
	if selection.None {
		return
	}
	for _, r := range routes(t, after) {
		if selection.Routes != nil && selection.Routes.Name != r.Name {
			continue
		}
		want := map[string]int{in.Stable.Name: in.StableShare(), in.Canary.Name: in.CanaryShare}
		for _, e := range in.Experiments {
			want[e.Destination.Name] = e.Share
		}
		got, owned, ours := map[string]float64{}, 0.0, false
		effective, err := gloo.RouteTables{}.Effective(weightsOf(r))
		if err != nil {
			continue
		}
		for i, e := range r.Entries {
			if _, named := want[e.Name]; named {
				got[e.Name] = effective[i]
				owned += effective[i]
			} else if e.Marked && slices.Contains(ro.own(), e.Name) {
				t.Fatalf("change of mind: in %s %s is left\n%s", r.Place, e.Destination, asYAML(after.JSON))
			}
			ours = ours || e.Name == in.Stable.Name || in.Alternating && e.Name == in.Canary.Name
		}
		for name := range want {
			exact := owned * float64(want[name]) / 100
			if ours && (owned > 0.5 && (got[name] > 0) != (want[name] > 0) || math.Abs(got[name]-exact) > 2) {
				t.Fatalf("shares: in %s %s gets %.1f of %.1f, wants %d of 100\n%s", r.Place, name, got[name], owned, want[name], asYAML(after.JSON))
			}
		}
	}
}

// checkIsolation is rule 6: what everybody else's destinations get stays the same, but for a rounding.
func (w *world) checkIsolation(t *rapid.T, ro *rolloutModel, after engine.Object) {
	before := routes(t, w.live)
	for n, r := range routes(t, after) {
		was, errWas := gloo.RouteTables{}.Effective(weightsOf(before[n]))
		is, errIs := gloo.RouteTables{}.Effective(weightsOf(r))
		if errWas != nil || errIs != nil || !before[n].Listed || !r.Listed {
			continue
		}
		at := map[string]float64{}
		for i, e := range before[n].Entries {
			at[e.Key()] = was[i]
		}
		for i, e := range r.Entries {
			was, moved := at[e.Key()], math.Abs(is[i]-at[e.Key()]) >= 1
			if w.broken { // what was even before somebody moved weights is made even again
				moved = (was == 0) != (is[i] == 0)
			}
			if !slices.Contains(ro.own(), e.Name) && moved {
				t.Fatalf("isolation: in %s %s had %.1f and gets %.1f\nbefore\n%s\nafter\n%s", r.Place, e.Destination, was, is[i], asYAML(w.live.JSON), asYAML(after.JSON))
			}
		}
	}
}

// edit changes both tables, as a person would.
func (w *world) edit(t *rapid.T, change func(spec map[string]any)) {
	for _, o := range []*engine.Object{&w.live, &w.mine} {
		tree := tree(t, o.JSON)
		change(tree["spec"].(map[string]any))
		raw, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		*o = fromJSON(t, raw)
	}
}

// loseAnnotation deletes the annotation in the cluster.
func (w *world) loseAnnotation(t *rapid.T) {
	tree := tree(t, w.live.JSON)
	meta := tree["metadata"].(map[string]any)
	if _, found := meta["annotations"]; !found {
		return
	}
	delete(meta, "annotations")
	raw, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	w.live, w.lost = fromJSON(t, raw), true
}

// finish lets every Rollout come to rest and checks rule 4: the table is as its owners have it.
func (w *world) finish(t *rapid.T) {
	for _, ro := range w.rollouts {
		ro.selector, ro.ping = nil, true
	}
	for range 2 { // the first to rest may have to wait for the others
		for _, ro := range w.rollouts {
			if w.call(t, ro, 0, 0) {
				if !w.broken && !w.refusesOwners(ro) {
					_, err := engine.MakePlan(gloo.RouteTables{}, w.live, engine.Selection{}, ro.intent(0, 0))
					t.Fatalf("rest is refused: %v\n%s\nwhere the owners have\n%s", err, asYAML(w.live.JSON), asYAML(w.mine.JSON))
				}
				t.Skip("the owners' own table is refused")
			}
		}
	}
	if w.rollouts[0].pingPong { // which of its two services holds the weight is not restored, on purpose
		if live, mine := foreignPart(t, w.live, w.all()), foreignPart(t, w.mine, w.all()); !w.lost && !bytes.Equal(live, mine) {
			t.Fatalf("reversibility, but for ping and pong: is\n%s\nwhere the owners have\n%s", asYAML(live), asYAML(mine))
		}
		return
	}
	live, mine := routes(t, w.live), routes(t, w.mine)
	for n, r := range live {
		w.checkRestored(t, r, mine[n])
	}
	if _, left := w.live.Annotations[engine.Annotation]; left {
		t.Fatalf("reversibility: the annotation is left\n%s\nwhere the owners have\n%s", asYAML(w.live.JSON), asYAML(w.mine.JSON))
	}
}

// refusesOwners reports whether the table as its owners have it cannot be at rest, under one of the canary's names.
func (w *world) refusesOwners(ro *rolloutModel) bool {
	for _, renamed := range []bool{false, true} {
		fresh := *ro
		fresh.renamed = renamed
		if _, err := engine.MakePlan(gloo.RouteTables{}, w.mine, engine.Selection{}, fresh.intent(0, 0)); err != nil {
			return true
		}
	}
	return false
}

// checkRestored compares a route at rest with the one its owners have.
func (w *world) checkRestored(t *rapid.T, live, mine engine.Route) {
	if len(live.Entries) != len(mine.Entries) || live.Listed != mine.Listed || live.Empty != mine.Empty && !w.lost {
		t.Fatalf("reversibility: %s is\n%s\nwhere the owners have\n%s", live.Place, asYAML(w.live.JSON), asYAML(w.mine.JSON))
	}
	effective, err := gloo.RouteTables{}.Effective(weightsOf(mine))
	for i, e := range live.Entries {
		if e.Destination.Key() != mine.Entries[i].Destination.Key() {
			t.Fatalf("reversibility: %s lists %s where the owners have %s", live.Place, e.Destination, mine.Entries[i].Destination)
		}
		moved := slices.ContainsFunc(w.rollouts, func(ro *rolloutModel) bool { return slices.Contains(ro.own(), e.Name) })
		exact := !moved || err == nil && !w.lost && w.restful(mine, effective)
		if exact && !same(e.JSON, mine.Entries[i].JSON) {
			t.Fatalf("reversibility: in %s %s where the owners have %s\n%s\nowners\n%s", live.Place, e.JSON, mine.Entries[i].JSON, asYAML(w.live.JSON), asYAML(w.mine.JSON))
		}
	}
}

// restful reports whether a route as its owners have it sends nothing to any canary of a Rollout that it serves.
func (w *world) restful(r engine.Route, effective []float64) bool {
	for _, ro := range w.rollouts {
		serves, canary := false, 0.0
		for i, e := range r.Entries {
			serves = serves || e.Name == ro.name || ro.pingPong && e.Name == ro.name+"-canary"
			if e.Name != ro.name && slices.Contains(ro.own(), e.Name) {
				canary += effective[i]
			}
		}
		if serves && canary > 0 {
			return false
		}
	}
	return true
}

func TestRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		pick := func(t *rapid.T) *rolloutModel { return rapid.SampledFrom(w.rollouts).Draw(t, "rollout") }
		t.Repeat(map[string]func(*rapid.T){
			"set weight": func(t *rapid.T) {
				ro := pick(t)
				share := rapid.SampledFrom([]int{0, 1, 10, 50, 99, 100}).Draw(t, "share")
				w.call(t, ro, share, 0)
			},
			"set weight beside an experiment": func(t *rapid.T) {
				ro := pick(t)
				w.call(t, ro, rapid.IntRange(0, 50).Draw(t, "share"), rapid.IntRange(1, 50).Draw(t, "experiment"))
			},
			"finish a release": func(t *rapid.T) {
				ro := pick(t)
				if w.call(t, ro, 100, 0) {
					return
				}
				if ro.pingPong {
					ro.ping = !ro.ping
				}
				w.call(t, ro, 0, 0)
			},
			"narrow the selection": func(t *rapid.T) {
				ro := pick(t)
				ro.selector = nil
				if rapid.Bool().Draw(t, "narrow") {
					ro.selector = &config.RouteSelector{Name: rapid.SampledFrom([]string{"r0", "r1"}).Draw(t, "name")}
				}
				w.call(t, ro, ro.lastShare, 0)
			},
			"rename the canary": func(t *rapid.T) {
				ro := w.rollouts[1]
				ro.renamed = !ro.renamed
				w.call(t, ro, ro.lastShare, 0)
			},
			"somebody adds a route": func(t *rapid.T) {
				id := rapid.IntRange(100, 10_000).Draw(t, "port")
				w.edit(t, func(spec map[string]any) {
					http, _ := spec["http"].([]any)
					if len(http) > 6 {
						return
					}
					added := map[string]any{"matchers": []any{map[string]any{"port": id}}, "directResponse": map[string]any{"status": 404}}
					spec["http"] = append([]any{added}, http...)
				})
			},
			"somebody edits fields": func(t *rapid.T) {
				value := rapid.IntRange(0, 9).Draw(t, "value")
				w.edit(t, func(spec map[string]any) {
					spec["virtualServiceAnnotations"] = map[string]any{"a/b": fmt.Sprint(value)}
				})
			},
			"somebody moves other weights": func(t *rapid.T) {
				by := rapid.IntRange(-20, 20).Draw(t, "by")
				w.broken = true
				w.edit(t, func(spec map[string]any) { addToWeight(spec, "other", by) })
			},
			"the annotation is lost": func(t *rapid.T) { w.loseAnnotation(t) },
		})
		w.finish(t)
	})
}

// addToWeight changes the given weights of a destination by that much, within 1..100.
func addToWeight(spec map[string]any, name string, by int) {
	for _, section := range []string{"http", "tcp", "tls"} {
		list, _ := spec[section].([]any)
		for _, r := range list {
			forward, _ := r.(map[string]any)["forwardTo"].(map[string]any)
			destinations, _ := forward["destinations"].([]any)
			for _, d := range destinations {
				d := d.(map[string]any)
				weight, given := d["weight"].(json.Number)
				if d["ref"].(map[string]any)["name"] != name || !given || weight == "0" {
					continue
				}
				n, _ := weight.Int64()
				d["weight"] = min(max(n+int64(by), 1), 100)
			}
		}
	}
}

// foreignPart returns an object without the weights of own destinations, the entries that the plugin made for them, and
// the plugin's annotation.
func foreignPart(t *rapid.T, o engine.Object, own []string) []byte {
	tree := tree(t, o.JSON)
	meta := tree["metadata"].(map[string]any)
	if annotations, found := meta["annotations"].(map[string]any); found {
		if delete(annotations, engine.Annotation); len(annotations) == 0 {
			delete(meta, "annotations")
		}
	}
	for _, section := range []string{"http", "tcp", "tls"} {
		list, _ := tree["spec"].(map[string]any)[section].([]any)
		for _, r := range list {
			forward, _ := r.(map[string]any)["forwardTo"].(map[string]any)
			destinations, _ := forward["destinations"].([]any)
			kept := []any{}
			for _, d := range destinations {
				d := d.(map[string]any)
				name, _ := d["ref"].(map[string]any)["name"].(string)
				if slices.Contains(own, name) {
					if subset, marked := d["subset"].(map[string]any); marked && len(subset) == 0 {
						continue
					}
					delete(d, "weight")
				}
				kept = append(kept, d)
			}
			if forward != nil {
				if forward["destinations"] = kept; len(kept) == 0 {
					delete(forward, "destinations")
				}
			}
		}
	}
	raw, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func routes(t *rapid.T, o engine.Object) []engine.Route {
	routes, err := gloo.RouteTables{}.Routes(o.JSON)
	if err != nil {
		t.Fatal(err)
	}
	return routes
}

func weightOf(e engine.Entry) int {
	if e.Weight == nil {
		return 0
	}
	return *e.Weight
}

func weightsOf(r engine.Route) []int {
	weights := make([]int, len(r.Entries))
	for i, e := range r.Entries {
		weights[i] = weightOf(e)
	}
	return weights
}
