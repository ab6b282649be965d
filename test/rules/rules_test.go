// Package rules_test holds the rules of the design that go for every routing API, and one table of drivers, each of which draws
// objects of one API.
package rules_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/steps"
)

// The rules of the design hold for any object, any number of Rollouts on it and any order of calls, whatever other people
// do to it meanwhile. world is that object, with what happens to it.
type world struct {
	driver
	// live is the object in the cluster; mine the one that its owners believe they have: without what the plugin did.
	live, mine engine.Object
	rollouts   []*rolloutModel
	// added counts the routes that somebody added.
	added int
	// lost says that the annotation was deleted at some time.
	lost bool
	// broken says that somebody changed weights so that they may not sum to 100.
	broken bool
}

// rolloutModel is a Rollout on the object.
type rolloutModel struct {
	name      string
	pingPong  bool
	ping      bool // ping is stable
	selector  *config.RouteSelector
	renamed   bool // canaryService was renamed
	rested    bool
	headers   bool // it wants a header route
	lastShare int
	// label is the one by which it shows that it is under way, and shows the one that it shows on the object.
	label, shows intent.Label
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
	in := intent.Intent{
		Owner: "apps/" + ro.name, Namespace: "apps", Stable: service(ro.name), Canary: service(ro.name + "-canary"),
		CanaryShare: share, MaxShare: 100, Label: ro.label,
	}
	if ro.renamed {
		in.Canary = service(ro.name + "-canary2")
	}
	if in.Alternating = ro.pingPong; ro.pingPong && !ro.ping {
		in.Stable, in.Canary = in.Canary, in.Stable
	}
	if experimentShare > 0 {
		in.Experiments = []intent.Experiment{{Destination: service(ro.name + "-exp"), Share: experimentShare}}
	}
	if ro.headers {
		in.Managed = []intent.ManagedRoute{steps.Header("beta", steps.Exact("x-beta", ro.name))}
	}
	for _, name := range ro.last {
		in.Used = append(in.Used, service(name))
	}
	in.Services = map[string]intent.Service{ro.name + "-exp": {Ports: []intent.ServicePort{{Number: 8080}}}}
	return in
}

// drawWorld draws a valid object, with fields that no type here knows, and the Rollouts on it.
func drawWorld(t *rapid.T, d driver) *world {
	pingPong := rapid.IntRange(0, 3).Draw(t, "pingPong") == 0
	w := &world{driver: d, rollouts: []*rolloutModel{{name: "web", pingPong: pingPong, ping: true, rested: true}, {name: "api", rested: true}}}
	for _, ro := range w.rollouts {
		ro.label = drawLabel(t)
	}
	tree := map[string]any{"metadata": map[string]any{"namespace": "apps", "name": "demo"}, "spec": d.draw(t)}
	w.live, w.mine = objects.OfTree(t, tree), objects.OfTree(t, tree)
	return w
}

// call lets a Rollout set a weight, and checks what comes of it. It reports whether the plan was refused.
func (w *world) call(t *rapid.T, ro *rolloutModel, share, experimentShare int) (refused bool) {
	in := ro.intent(share, experimentShare)
	selection := engine.Selection{Routes: ro.selector}
	plan, err := engine.MakePlan(w.api, w.live, selection, in)
	if errors.Is(err, engine.ErrNoRoute) { // as for one that was found by label
		selection = engine.Selection{None: true}
		plan, err = engine.MakePlan(w.api, w.live, selection, in)
	}
	if err != nil {
		return true
	}
	after := objects.Patched(t, w.live, plan.Patch)
	w.check(t, after)
	w.checkSum(t, ro, after)
	w.checkLocality(t, ro, after)
	if again, err := engine.MakePlan(w.api, after, selection, in); err != nil || len(again.Patch) > 0 {
		t.Fatalf("idempotence: second plan %v, %v\nfirst %v on\n%s", again.Patch, err, plan.Patch, objects.YAML(w.live.JSON))
	}
	w.checkShares(t, ro, after, in, selection)
	w.checkIsolation(t, ro, after)
	w.checkLabels(t, ro, after, in, !selection.None)
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
func (w *world) checkSum(t *rapid.T, ro *rolloutModel, after engine.Object) {
	before := w.routes(t, w.live)
	for n, r := range w.routes(t, after) {
		if objects.Same(before[n].JSON, r.JSON) || !r.Listed || len(r.Entries) == 1 {
			continue
		}
		if !w.percent {
			continue // any sum will do
		}
		sum, foreignWithout := 0, false
		for _, e := range r.Entries {
			sum += w.weightOf(e)
			foreignWithout = foreignWithout || w.weightOf(e) == 0 && !slices.Contains(ro.own(), e.Name)
		}
		restored := w.stableGivesNone(ro, r)
		if sum != 100 && (sum > 100 || !foreignWithout && !restored) {
			t.Fatalf("sum: %s gives %d\n%s", r.Place, sum, objects.YAML(after.JSON))
		}
	}
}

func (w *world) stableGivesNone(ro *rolloutModel, r engine.Route) bool {
	for _, e := range r.Entries {
		if w.weightOf(e) == 0 && slices.Contains(ro.own(), e.Name) {
			return true
		}
	}
	return false
}

// checkLocality is rule 2: without the Rollout's weights, the plugin's entries and its annotation, nothing changed.
func (w *world) checkLocality(t *rapid.T, ro *rolloutModel, after engine.Object) {
	before, now := w.foreignPart(t, w.live, ro.own()), w.foreignPart(t, after, ro.own())
	if !bytes.Equal(before, now) {
		t.Fatalf("locality: before\n%s\nafter\n%s", objects.YAML(before), objects.YAML(now))
	}
}

// checkShares is rule 7, and that each gets its part.
func (w *world) checkShares(t *rapid.T, ro *rolloutModel, after engine.Object, in intent.Intent, selection engine.Selection) {
	if selection.None {
		return
	}
	for _, r := range w.routes(t, after) {
		if selection.Routes != nil && selection.Routes.Name != r.Name {
			continue
		}
		want := map[string]int{in.Stable.Name: in.StableShare(), in.Canary.Name: in.CanaryShare}
		for _, e := range in.Experiments {
			want[e.Destination.Name] = e.Share
		}
		got, owned, ours := map[string]float64{}, 0.0, false
		effective, err := w.effective(r)
		if err != nil {
			continue
		}
		for i, e := range r.Entries {
			if _, named := want[e.Name]; named {
				got[e.Name] = effective[i]
				owned += effective[i]
			} else if e.Marked && slices.Contains(ro.own(), e.Name) {
				t.Fatalf("change of mind: in %s %s is left\n%s", r.Place, e.Destination, objects.YAML(after.JSON))
			}
			ours = ours || e.Name == in.Stable.Name || in.Alternating && e.Name == in.Canary.Name
		}
		for name := range want {
			exact := owned * float64(want[name]) / 100
			if ours && (owned > 0.5 && (got[name] > 0) != (want[name] > 0) || math.Abs(got[name]-exact) > 2) {
				t.Fatalf("shares: in %s %s gets %.1f of %.1f, wants %d of 100\n%s", r.Place, name, got[name], owned, want[name], objects.YAML(after.JSON))
			}
		}
	}
}

// checkIsolation is rule 6: what everybody else's destinations get stays the same, but for a rounding.
func (w *world) checkIsolation(t *rapid.T, ro *rolloutModel, after engine.Object) {
	before := w.routes(t, w.live)
	for n, r := range w.routes(t, after) {
		was, errWas := w.effective(before[n])
		is, errIs := w.effective(r)
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
				t.Fatalf("isolation: in %s %s had %.1f and gets %.1f\nbefore\n%s\nafter\n%s", r.Place, e.Destination, was, is[i], objects.YAML(w.live.JSON), objects.YAML(after.JSON))
			}
		}
	}
}

// edit changes both objects, as a person would.
func (w *world) edit(t *rapid.T, change func(spec map[string]any)) {
	for _, o := range []*engine.Object{&w.live, &w.mine} {
		tree := objects.Tree(t, o.JSON)
		change(tree["spec"].(map[string]any))
		*o = objects.OfTree(t, tree)
	}
}

// loseAnnotation deletes the annotation in the cluster.
func (w *world) loseAnnotation(t *rapid.T) {
	if !w.marks {
		return // what is lost then is more than a spelling
	}
	tree := objects.Tree(t, w.live.JSON)
	meta := tree["metadata"].(map[string]any)
	managed := func(r engine.Route) bool { return r.Owner != "" }
	if _, found := meta["annotations"]; !found || w.api.Unlabelled() && slices.ContainsFunc(w.allRoutes(t, w.live), managed) {
		return // of managed routes without labels nothing else tells
	}
	delete(meta, "annotations")
	w.live, w.lost = objects.OfTree(t, tree), true
}

// finish lets every Rollout come to rest and checks rule 4: the object is as its owners have it.
func (w *world) finish(t *rapid.T) {
	for _, ro := range w.rollouts {
		ro.selector, ro.ping, ro.headers = nil, true, false
	}
	for range 2 { // the first to rest may have to wait for the others
		for _, ro := range w.rollouts {
			if w.call(t, ro, 0, 0) {
				if !w.broken && !w.refusesOwners(ro) {
					_, err := engine.MakePlan(w.api, w.live, engine.Selection{}, ro.intent(0, 0))
					t.Fatalf("rest is refused: %v\n%s\nwhere the owners have\n%s", err, objects.YAML(w.live.JSON), objects.YAML(w.mine.JSON))
				}
				t.Skip("the owners' own object is refused")
			}
		}
	}
	if w.rollouts[0].pingPong { // which of its two services holds the weight is not restored, on purpose
		if live, mine := w.foreignPart(t, w.live, w.all()), w.foreignPart(t, w.mine, w.all()); !w.lost && !bytes.Equal(live, mine) {
			t.Fatalf("reversibility, but for ping and pong: is\n%s\nwhere the owners have\n%s", objects.YAML(live), objects.YAML(mine))
		}
		return
	}
	if left := w.ownersLabels(w.live); !maps.Equal(left, w.ownersLabels(w.mine)) {
		t.Fatalf("reversibility: labels are %v where the owners have %v\n%s", left, w.mine.Labels, objects.YAML(w.live.JSON))
	}
	live, mine := w.routes(t, w.live), w.routes(t, w.mine)
	if all, err := w.api.Routes(w.live.JSON); err != nil || len(all) != len(mine) {
		t.Fatalf("reversibility: %d routes where the owners have %d (%v)\n%s", len(all), len(mine), err, objects.YAML(w.live.JSON))
	}
	for n, r := range live {
		w.checkRestored(t, r, mine[n])
	}
	if _, left := w.live.Annotations[engine.Annotation]; left {
		t.Fatalf("reversibility: the annotation is left\n%s\nwhere the owners have\n%s", objects.YAML(w.live.JSON), objects.YAML(w.mine.JSON))
	}
}

// refusesOwners reports whether the object as its owners have it cannot be at rest, under one of the canary's names.
func (w *world) refusesOwners(ro *rolloutModel) bool {
	for _, renamed := range []bool{false, true} {
		fresh := *ro
		fresh.renamed = renamed
		if _, err := engine.MakePlan(w.api, w.mine, engine.Selection{}, fresh.intent(0, 0)); err != nil {
			return true
		}
	}
	return false
}

// checkRestored compares a route at rest with the one its owners have.
func (w *world) checkRestored(t *rapid.T, live, mine engine.Route) {
	if len(live.Entries) != len(mine.Entries) || live.Listed != mine.Listed || live.Empty != mine.Empty && !w.lost {
		t.Fatalf("reversibility: %s is\n%s\nwhere the owners have\n%s", live.Place, objects.YAML(w.live.JSON), objects.YAML(w.mine.JSON))
	}
	effective, err := w.effective(mine)
	for i, e := range live.Entries {
		if e.Destination.Key() != mine.Entries[i].Destination.Key() {
			t.Fatalf("reversibility: %s lists %s where the owners have %s", live.Place, e.Destination, mine.Entries[i].Destination)
		}
		moved := slices.ContainsFunc(w.rollouts, func(ro *rolloutModel) bool { return slices.Contains(ro.own(), e.Name) })
		exact := !moved || err == nil && !w.lost && w.restful(mine, effective)
		if exact && !objects.Same(e.JSON, mine.Entries[i].JSON) {
			t.Fatalf("reversibility: in %s %s where the owners have %s\n%s\nowners\n%s", live.Place, e.JSON, mine.Entries[i].JSON, objects.YAML(w.live.JSON), objects.YAML(w.mine.JSON))
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
	for _, d := range drivers {
		t.Run(d.api.Kind(), rapid.MakeCheck(func(t *rapid.T) {
			w := drawWorld(t, d)
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
				"a header step begins or ends": func(t *rapid.T) {
					ro := pick(t)
					ro.headers = !ro.headers
					w.call(t, ro, ro.lastShare, 0)
				},
				"rename the canary": func(t *rapid.T) {
					ro := w.rollouts[1]
					ro.renamed = !ro.renamed
					w.call(t, ro, ro.lastShare, 0)
				},
				"somebody adds a route": func(t *rapid.T) {
					if w.added++; w.added > 4 {
						return
					}
					id := rapid.IntRange(100, 10_000).Draw(t, "port")
					w.edit(t, func(spec map[string]any) { w.addRoute(spec, id) })
				},
				"somebody edits fields": func(t *rapid.T) {
					value := rapid.IntRange(0, 9).Draw(t, "value")
					w.edit(t, func(spec map[string]any) {
						spec["hosts"] = []any{fmt.Sprintf("h%d.example.com", value)}
					})
				},
				"somebody moves other weights": func(t *rapid.T) {
					by := rapid.IntRange(-20, 20).Draw(t, "by")
					w.broken = true
					w.edit(t, func(spec map[string]any) { w.addToWeight(spec, "other", by) })
				},
				"another label is to show a release": func(t *rapid.T) { pick(t).label = drawLabel(t) },
				"somebody sets or removes a label": func(t *rapid.T) {
					w.setLabel(t, rapid.SampledFrom([]string{labelKey, otherLabelKey, "app"}).Draw(t, "key"), rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "value"))
				},
				"the annotation is lost": func(t *rapid.T) { w.loseAnnotation(t) },
			})
			w.finish(t)
		}))
	}
}

// addToWeight changes the given weights of a destination by that much, within 1..100.
func (w *world) addToWeight(spec map[string]any, name string, by int) {
	w.eachList(spec, func(holder map[string]any, field string) {
		list, _ := holder[field].([]any)
		for _, d := range list {
			d := d.(map[string]any)
			weight, given := d["weight"].(json.Number)
			if w.name(d) != name || !given || weight == "0" {
				continue
			}
			n, _ := weight.Int64()
			d["weight"] = min(max(n+int64(by), 1), 100)
		}
	})
}

// foreignPart returns an object without the weights of own destinations, the entries that the plugin made for them, and
// the plugin's annotation. Where entries have no mark, it is without all own destinations.
func (w *world) foreignPart(t *rapid.T, o engine.Object, own []string) []byte {
	tree := objects.Tree(t, o.JSON)
	meta := tree["metadata"].(map[string]any)
	if annotations, found := meta["annotations"].(map[string]any); found {
		if delete(annotations, engine.Annotation); len(annotations) == 0 {
			delete(meta, "annotations")
		}
	}
	dropProgress(meta)
	w.dropManaged(t, o, tree["spec"].(map[string]any))
	w.eachList(tree["spec"].(map[string]any), func(holder map[string]any, field string) {
		list, _ := holder[field].([]any)
		kept := []any{}
		for _, d := range list {
			d := d.(map[string]any)
			if slices.Contains(own, w.name(d)) {
				if !w.marks || w.marked(d) {
					continue
				}
				delete(d, "weight")
			}
			kept = append(kept, d)
		}
		if holder[field] = kept; len(kept) == 0 {
			delete(holder, field)
		}
	})
	raw, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// routes returns those of an object but for managed ones.
func (w *world) routes(t *rapid.T, o engine.Object) []engine.Route {
	return slices.DeleteFunc(w.allRoutes(t, o), func(r engine.Route) bool { return r.Owner != "" })
}

func (w *world) allRoutes(t *rapid.T, o engine.Object) []engine.Route {
	routes, err := engine.Routes(w.api, o)
	if err != nil {
		t.Fatal(err)
	}
	return routes
}

// dropManaged takes the managed routes out of a spec.
func (w *world) dropManaged(t *rapid.T, o engine.Object, spec map[string]any) {
	for _, r := range slices.Backward(w.allRoutes(t, o)) {
		if section := strings.TrimPrefix(r.Section, "/spec/"); r.Owner != "" {
			spec[section] = slices.Delete(spec[section].([]any), r.Index, r.Index+1)
		}
	}
}

func (w *world) weightOf(e engine.Entry) int {
	if e.Weight == nil {
		return w.api.Unset()
	}
	return *e.Weight
}

// effective returns the weight by which each entry of a route gets traffic.
func (w *world) effective(r engine.Route) ([]float64, error) {
	weights := make([]int, len(r.Entries))
	for i, e := range r.Entries {
		weights[i] = w.weightOf(e)
	}
	return w.api.Effective(weights)
}

func service(name string) intent.Destination {
	return intent.Destination{Kind: config.KindService, Namespace: "apps", Name: name}
}
