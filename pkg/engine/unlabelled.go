package engine

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// managedRule is what is remembered of a managed route that has no labels.
type managedRule struct {
	// Name is the route's. Where the API server keeps no names of routes, Hash identifies it by the rest of it. A route of that
	// name that says something else is still the one if it forwards to the destination with key To: somebody has edited it.
	Name string `json:"name"`
	Hash string `json:"hash"`
	To   string `json:"to"`
	// Source is the key of the route that it was made from, and Mirror says that it mirrors that one's requests.
	Source string `json:"source"`
	Mirror bool   `json:"mirror,omitempty"`
}

// is reports whether a route is the one that is remembered.
func (m managedRule) is(r Route) bool {
	if r.Name != "" && r.Name != m.Name {
		return false
	}
	edited := r.Name != "" && slices.ContainsFunc(r.Entries, func(e Entry) bool { return e.Key() == m.To })
	return edited || hashOf(r.JSON, m.Mirror) == m.Hash
}

// hashOf identifies a route by all that it says but its name and, of a mirror, its destinations, which follow the source's.
func hashOf(route json.RawMessage, mirror bool) string {
	tree, err := jsonTree(route)
	fields, isObject := tree.(map[string]any)
	if err != nil || !isObject {
		return ""
	}
	if delete(fields, "name"); mirror {
		delete(fields, "backendRefs")
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%.8x", sha256.Sum256(text))
}

// Routes views an object as routes, as its API does, and tells whose the managed ones are where only the object's annotation
// does. Those do not count among routes that are alike.
func Routes(api API, o Object) ([]Route, error) {
	routes, err := api.Routes(o.JSON)
	if err != nil || !api.Unlabelled() {
		return routes, err
	}
	memory := recall(o.Annotations, "")
	for _, owner := range slices.Sorted(maps.Keys(memory.rules)) {
		for _, rule := range memory.rules[owner] {
			if i := slices.IndexFunc(routes, func(r Route) bool { return r.Owner == "" && rule.is(r) }); i >= 0 {
				routes[i].Owner, routes[i].Source, routes[i].Mirror = owner, rule.Source, rule.Mirror
			}
		}
	}
	alike := map[string]int{}
	for i, r := range routes {
		if key := strings.TrimLeft(r.Key, "0123456789"); r.Owner == "" && key != "" {
			alike[key]++
			routes[i].Key = strconv.Itoa(alike[key]) + key
		}
	}
	return routes, nil
}

// unlabelled is a managed route that is to be there, with what is remembered of it.
type unlabelled struct {
	managedRule
	spelt
	source Route
}

// manageUnlabelled plans the managed routes of an object where the annotation alone tells which they are. Those that have to stand
// before their sources do; the others stand after all routes, header routes first, since of two that match alike the first counts.
func (p *planner) manageUnlabelled(object string, routes []Route, sources []routePlan, plan managedPlan) (managedPlan, []error) {
	names := p.rememberedByOthers(p.namesOfOthers(routes))
	var before, headers, mirrors []unlabelled
	var faults []error
	for _, source := range sources {
		spelt, err := p.managedRoutesOf(source, object, names, &plan)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		slices.SortStableFunc(spelt, headersFirst)
		for _, m := range spelt {
			u := unlabelled{newManagedRule(m, source.route), m, source.route}
			switch {
			case m.before:
				before = append(before, u)
			case m.mirror:
				mirrors = append(mirrors, u)
			default:
				headers = append(headers, u)
			}
		}
	}
	wanted := slices.Concat(before, headers, mirrors)
	for _, u := range wanted {
		plan.rules = append(plan.rules, u.managedRule)
	}
	if plan.left = len(wanted) > 0; plan.left && len(faults) == 0 {
		if err := p.api.CheckManaged(p.arranged(routes, wanted)); err != nil {
			faults = append(faults, err)
		}
	}
	plan.arrange(p.own(routes), routes, wanted)
	return plan, faults
}

// rememberedByOthers adds the names of the managed routes of other Rollouts, even of those that somebody has deleted: a route of
// such a name would be taken for theirs.
func (p *planner) rememberedByOthers(names takenNames) takenNames {
	mine := ownerLabelValue(p.in.Owner)
	for owner, rules := range p.memory.rules {
		for _, rule := range rules {
			if _, stands := names.users[rule.Name]; !stands && owner != mine {
				names.users[rule.Name] = false
			}
		}
	}
	return names
}

func headersFirst(a, b spelt) int {
	switch {
	case a.mirror == b.mirror:
		return 0
	case b.mirror:
		return -1
	default:
		return 1
	}
}

func newManagedRule(m spelt, source Route) managedRule {
	return managedRule{Name: m.name, Hash: hashOf(m.raw, m.mirror), To: m.to, Source: source.Key, Mirror: m.mirror}
}

// own returns the Rollout's managed routes.
func (p *planner) own(routes []Route) []Route {
	mine := ownerLabelValue(p.in.Owner)
	return slices.DeleteFunc(slices.Clone(routes), func(r Route) bool { return r.Owner != mine })
}

// arranged returns an object's routes as they stand once the wanted ones are among them, without those of other Rollouts.
func (p *planner) arranged(routes []Route, wanted []unlabelled) []Arranged {
	var all []Arranged
	for _, r := range routes {
		if r.Owner != "" {
			continue
		}
		for _, u := range wanted {
			if u.before && u.source.Key == r.Key {
				all = append(all, Arranged{JSON: u.raw, Place: r.Place, Managed: u.Name, Source: r.Key})
			}
		}
		all = append(all, Arranged{JSON: r.JSON, Place: r.Place, Source: r.Key})
	}
	for _, u := range wanted {
		if !u.before {
			all = append(all, Arranged{JSON: u.raw, Place: u.source.Place, Managed: u.Name, Source: u.source.Key})
		}
	}
	return all
}

// arrange makes the Rollout's own routes the wanted ones: in their places, if those will do, else by others.
func (plan *managedPlan) arrange(own, routes []Route, wanted []unlabelled) {
	inPlace := slices.EqualFunc(own, wanted, func(r Route, u unlabelled) bool {
		place := ""
		if u.before {
			place = u.source.Key
		}
		return r.Source == u.source.Key && r.standsBefore(routes) == place
	})
	if inPlace {
		for i, r := range own {
			plan.change(r, wanted[i].raw)
		}
		return
	}
	for _, r := range slices.Backward(own) {
		plan.patch = append(plan.patch, Operation{Op: "remove", Path: at(r.Section, r.Index)})
		plan.removed = append(plan.removed, r.Place)
	}
	for _, u := range slices.Backward(wanted) {
		if u.before {
			gone := slices.DeleteFunc(slices.Clone(own), func(r Route) bool { return r.Index > u.source.Index })
			plan.patch = append(plan.patch, Operation{Op: "add", Path: at(u.source.Section, u.source.Index-len(gone)), Value: u.raw})
		}
	}
	for _, u := range wanted {
		if plan.added = append(plan.added, u.source.Place); !u.before {
			plan.patch = append(plan.patch, Operation{Op: "add", Path: u.source.Section + "/-", Value: u.raw})
		}
	}
}

// standsBefore returns the key of the route before which a managed one stands, with nothing but managed ones between; empty: it
// stands after all others.
func (r Route) standsBefore(routes []Route) string {
	for _, next := range routes {
		if next.Index > r.Index && next.Owner == "" {
			return next.Key
		}
	}
	return ""
}

// leaveOut takes those managed routes from the intent that the selection wants none of, and reports whether there were some.
func (p *planner) leaveOut(selection Selection) (some bool) {
	if !selection.NoHeaders {
		return false
	}
	mirrors := slices.DeleteFunc(slices.Clone(p.in.Managed), func(m intent.ManagedRoute) bool { return m.Mirror == nil })
	some = len(mirrors) < len(p.in.Managed)
	p.in.Managed = mirrors
	return some
}
