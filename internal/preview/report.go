package preview

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Report says what a release does, for a person or as JSON.
type Report struct {
	// Rollout is namespace/name, and Block the name of the plugin's block in it.
	Rollout string `json:"rollout"`
	Block   string `json:"block,omitempty"`
	Steps   []Step `json:"steps"`
	// NotMoved are routes to the Rollout's destinations that stay as they are, and objects that are passed over.
	NotMoved []string `json:"notMoved,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

// Step is what is so at a moment of the release.
type Step struct {
	// Step is the step's number from 1; 0 before the first and after the last.
	Step   int     `json:"step,omitempty"`
	Name   string  `json:"name"`
	Error  string  `json:"error,omitempty"`
	Routes []Route `json:"routes,omitempty"`
}

// Route is a route that the release moves or adds.
type Route struct {
	// Object is the one that it is of, with its kind: "RouteTable gloo-mesh/default".
	Object string `json:"object"`
	Route  string `json:"route"`
	// Managed says that the plugin added the route.
	Managed      bool    `json:"managed,omitempty"`
	Destinations []Share `json:"destinations"`
	// Mirrors names the policy that mirrors the route's requests, or is "filter" where the route has one that does.
	Mirrors string `json:"mirroredBy,omitempty"`
}

// Share is what a destination gets of a route's requests.
type Share struct {
	Destination string  `json:"destination"`
	Percent     float64 `json:"percent"`
}

// Refused reports whether the plugin refused a step.
func (r Report) Refused() bool {
	return slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Error != "" })
}

// NewReport describes the moments of a release of a Rollout, whose block stands under one of the names and selects the targets.
func NewReport(moments []Moment, names []string, bounds intent.Bounds, targets []engine.Target) Report {
	ro := moments[0].Rollout
	report := Report{Rollout: ro.Namespace + "/" + ro.Name}
	block, c, err := config.Of(ro, names...)
	if err != nil { // as the first moment's error says
		c = nil
	}
	report.Block = block
	moved := movedRoutes(moments)
	for _, m := range moments {
		step := Step{Step: m.Step, Name: m.Name, Error: m.Error}
		eachRoute(m, func(o Object, r engine.Route) {
			if r.Owner != "" || moved[routeKey(o, r)] {
				step.Routes = append(step.Routes, describe(o, r))
			}
		})
		report.Steps = append(report.Steps, step)
	}
	if c == nil {
		return report
	}
	for i, m := range moments {
		if i > 0 && m.Weight != moments[i-1].Weight {
			report.Notes = append(report.Notes, roundings(m, c, bounds, moved)...)
		}
	}
	report.NotMoved = notMoved(moments[0], c, bounds, targets, moved)
	return report
}

// routeKey identifies a route among those of all objects.
func routeKey(o Object, r engine.Route) string { return o.String() + r.Key }

// eachRoute calls do with every route of every object at a moment. Objects that cannot be read have none: the plugin's error
// says why.
func eachRoute(m Moment, do func(o Object, r engine.Route)) {
	for _, o := range m.Objects {
		routes, err := engine.Routes(o.API, o.Object)
		if err != nil {
			continue
		}
		for _, r := range routes {
			do(o, r)
		}
	}
}

// movedRoutes returns the routes whose destinations change at some time, or that stand behind a managed route.
func movedRoutes(moments []Moment) map[string]bool {
	first, moved := map[string]string{}, map[string]bool{}
	for _, m := range moments {
		managed := false
		eachRoute(m, func(o Object, r engine.Route) {
			if r.Source != "" { // a managed one that says so of itself
				moved[o.String()+r.Source] = true
				return
			}
			if r.Owner != "" {
				managed = true
				return
			}
			key, now := routeKey(o, r), fmt.Sprint(shares(o.API, r))
			before, seen := first[key]
			if !seen {
				first[key] = now
			}
			moved[key] = moved[key] || managed || seen && before != now
			managed = false
		})
	}
	return moved
}

// byFilter says that a route itself mirrors its requests.
const byFilter = "filter"

func describe(o Object, r engine.Route) Route {
	mirrors := r.Labels[engine.MirrorLabel]
	if r.Mirror {
		mirrors = byFilter
	}
	return Route{Object: o.String(), Route: r.Place, Managed: r.Owner != "", Destinations: shares(o.API, r), Mirrors: mirrors}
}

func shares(a engine.Arithmetic, r engine.Route) []Share {
	all := []Share{}
	got := effective(a, r)
	for i, e := range r.Entries {
		all = append(all, Share{Destination: short(e.Destination), Percent: math.Round(got[i]*10) / 10})
	}
	return all
}

// effective returns the percent that each entry of a route gets; of weights that make no sense, what each gives.
func effective(a engine.Arithmetic, r engine.Route) []float64 {
	weights := make([]int, len(r.Entries))
	given := make([]float64, len(r.Entries))
	for i, e := range r.Entries {
		if weights[i] = a.Unset(); e.Weight != nil {
			weights[i] = *e.Weight
		}
		given[i] = float64(weights[i])
	}
	got, err := a.Effective(weights)
	if err != nil {
		return given
	}
	all := 0.0
	for _, part := range got {
		all += part
	}
	for i := range got {
		if all > 0 {
			got[i] *= 100 / all
		}
	}
	return got
}

// short names a destination as far as it differs from others on a route.
func short(d intent.Destination) string {
	text := cmp.Or(d.Name, d.Kind)
	if d.Kind != config.KindService && d.Name != "" {
		text = d.Kind + " " + text
	}
	if d.Cluster != "" {
		text += " in " + d.Cluster
	}
	var labels []string
	for _, label := range slices.Sorted(maps.Keys(d.Subset)) {
		labels = append(labels, label+"="+d.Subset[label])
	}
	if len(labels) > 0 {
		text += " (" + strings.Join(labels, ",") + ")"
	}
	return text
}

// roundings returns a note for each route on which the canary does not get exactly its part.
func roundings(m Moment, c *config.Config, bounds intent.Bounds, moved map[string]bool) []string {
	in, err := intent.Of(m.Rollout, c, bounds, int32(m.Weight), nil)
	if err != nil || m.Weight == 0 || m.Error != "" {
		return nil
	}
	in = in.WithHashes(intent.StatusHashes(m.Rollout))
	var notes []string
	eachRoute(m, func(o Object, r engine.Route) {
		if r.Owner != "" || !moved[routeKey(o, r)] {
			return
		}
		owned, canary := 0.0, 0.0
		for i, got := range effective(o.API, r) {
			d := r.Entries[i].Destination
			if isCanary(in, d) {
				canary += got
			} else if !in.Stable.Matches(d) {
				continue
			}
			owned += got
		}
		exact := owned * float64(m.Weight) / float64(m.Max)
		if math.Abs(exact-canary) > 0.01 {
			notes = append(notes, fmt.Sprintf("step %d: %s: %s: the canary gets %.4g percent, the nearest to %.4g", m.Step, o, r.Place, canary, exact))
		}
	})
	return notes
}

// isCanary reports whether a destination is the canary: by its pod hash, where that tells the two apart.
func isCanary(in intent.Intent, d intent.Destination) bool {
	if !in.ByHash() {
		return in.Canary.Matches(d)
	}
	return in.Canary.Matches(d) && d.Subset[in.Canary.HashLabel] == in.CanaryHash
}

// notMoved names what a person might expect to move: routes that forward to stable or canary, and selected objects none of
// whose routes does.
func notMoved(m Moment, c *config.Config, bounds intent.Bounds, targets []engine.Target, moved map[string]bool) []string {
	in, err := intent.Of(m.Rollout, c, bounds, 0, nil)
	if err != nil {
		return nil
	}
	var left []string
	moves := map[string]bool{}
	eachRoute(m, func(o Object, r engine.Route) {
		if r.Owner != "" {
			return
		}
		if moved[routeKey(o, r)] {
			moves[o.String()] = true
			return
		}
		for _, e := range r.Entries {
			if in.Stable.Matches(e.Destination) || in.Canary.Matches(e.Destination) {
				left = append(left, fmt.Sprintf("%s: %s forwards to %s and is not selected", o, r.Place, e.Destination))
				return
			}
		}
	})
	for _, o := range m.Objects {
		if !moves[o.String()] && o.selectedBy(targets) {
			left = append(left, fmt.Sprintf("%s is selected, but no %s of it is moved", o, o.API.Words().Route))
		}
	}
	return left
}

// selectedBy reports whether the object is one of the targets.
func (o Object) selectedBy(targets []engine.Target) bool {
	return slices.ContainsFunc(targets, func(t engine.Target) bool { return t.API == o.API && t.Selects(o.Object) })
}
