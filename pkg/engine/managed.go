package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// OwnerLabel is the label of managed routes: whose they are.
const OwnerLabel = "rollouts.argoproj.io/managed-by"

// ownerLabelValue returns the value of OwnerLabel for a Rollout: its name, as far as a label has room for it, and a hash.
func ownerLabelValue(owner string) string {
	name := []byte(owner[bytes.LastIndexByte([]byte(owner), '/')+1:])
	for i, c := range name {
		if c == '.' {
			name[i] = '-'
		}
	}
	return fmt.Sprintf("%s-%.4x", name[:min(len(name), 54)], sha256.Sum256([]byte(owner)))
}

// managedPlan is what becomes of the managed routes of an object.
type managedPlan struct {
	patch []Operation
	// added, changed and removed are the places of routes, or of those before which routes are added.
	added, changed, removed []string
	// left says that there are managed routes of the Rollout afterwards.
	left bool
	// newServices are Services that managed routes send to and that their source routes do not list.
	newServices []NewService
	// policies are what the mirrors among the managed routes need, each once, in the order of its first route.
	policies []Policy
	// partly says that a route mirrors a part of its requests by itself.
	partly bool
	// rules are what to remember of them, if they have no labels.
	rules []managedRule
	// unmanaged says why there is no managed route, if some are wanted and no source can have any.
	unmanaged error
}

// manage plans the managed routes of an object: those that the intent wants directly before each source route, in its
// order, and no others of this Rollout's. Routes are wanted as their sources stand, so that they follow later edits.
// Routes of other Rollouts may stand between; header routes are put before those, since a mirror route takes its requests
// from all that stand behind it.
func (p *planner) manage(object string, routes []Route, plans []routePlan) (managedPlan, []error) {
	plan, faults := managedPlan{}, []error(nil)
	sources := p.sources(plans)
	capable := slices.DeleteFunc(slices.Clone(sources), func(rp routePlan) bool { return rp.route.Section == "" })
	if len(sources) > 0 && len(capable) == 0 {
		words := p.api.Words()
		plan.unmanaged = fmt.Errorf("%s: only %ss without headers match (%s), so no header or mirror route can be added; select %s as well",
			object, words.Route, list(sources, func(rp routePlan) string { return rp.route.Place }, ", "), words.Headed)
	}
	if p.api.Unlabelled() {
		return p.manageUnlabelled(object, routes, capable, plan)
	}
	mine := ownerLabelValue(p.in.Owner)
	names := p.namesOfOthers(routes)
	before := managedBefore(routes)
	wanted := map[int][]json.RawMessage{} // by the index of the route before which they are to stand
	kept := map[int]bool{}
	for _, source := range capable {
		spelt, err := p.managedRoutesOf(source, object, names, &plan)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		around := before[source.route.Key]
		run := slices.DeleteFunc(slices.Clone(around), func(r Route) bool { return r.Owner != mine })
		plan.left = plan.left || len(spelt) > 0
		if len(run) == len(spelt) {
			for i, r := range run {
				kept[r.Index] = true
				plan.change(r, spelt[i].raw)
			}
			continue
		}
		before, headed := source.route.Index-len(around), true
		for _, m := range spelt {
			place := source.route.Index
			if headed = headed && !m.mirror; headed {
				place = before
			}
			wanted[place] = append(wanted[place], m.raw)
		}
	}
	for _, r := range slices.Backward(routes) {
		if r.Section == "" {
			continue
		}
		if r.Owner == mine && !kept[r.Index] {
			plan.patch = append(plan.patch, Operation{Op: "remove", Path: at(r.Section, r.Index)})
			plan.removed = append(plan.removed, r.Place)
		}
		for _, raw := range slices.Backward(wanted[r.Index]) {
			plan.patch = append(plan.patch, Operation{Op: "add", Path: at(r.Section, r.Index), Value: raw})
			plan.added = append(plan.added, r.Place)
		}
	}
	return plan, faults
}

// sources returns the routes that managed ones are made from, the selected ones; none while none are wanted.
func (p *planner) sources(plans []routePlan) []routePlan {
	if len(p.in.Managed) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(plans), func(rp routePlan) bool { return !rp.selected })
}

// change makes a managed route what is spelt, if it is not already. One without a name is where the API server keeps none.
func (plan *managedPlan) change(r Route, spelt json.RawMessage) {
	compared := spelt
	if r.Name == "" {
		compared, _ = edited(spelt, map[string]any{"name": nil}) // it was spelt by this process
	}
	if !equalJSON(r.JSON, compared) {
		plan.patch = append(plan.patch, Operation{Op: "replace", Path: at(r.Section, r.Index), Value: spelt})
		plan.changed = append(plan.changed, r.Place)
	}
}

// takenNames are the names of an object's routes.
type takenNames struct {
	// users says of each name whether a user's route has it.
	users map[string]bool
	// next is the number to try first for a name that is taken.
	next map[string]int
}

// namesOfOthers returns the names of all routes but the Rollout's managed ones; none while no managed routes are wanted.
func (p *planner) namesOfOthers(routes []Route) takenNames {
	names := takenNames{users: map[string]bool{}, next: map[string]int{}}
	if len(p.in.Managed) == 0 {
		return names
	}
	mine := ownerLabelValue(p.in.Owner)
	for _, r := range routes {
		if r.Name != "" && r.Owner != mine {
			names.users[r.Name] = names.users[r.Name] || r.Owner == ""
		}
	}
	return names
}

// spelt is a managed route in the API's JSON; before says that it has to stand before its source.
type spelt struct {
	name           string
	raw            json.RawMessage
	mirror, before bool
	// to is the key of one of its destinations.
	to string
}

// managedRoutesOf spells the managed routes of one source, and takes their names.
func (p *planner) managedRoutesOf(rp routePlan, object string, names takenNames, plan *managedPlan) ([]spelt, error) {
	source := rp.route
	canary, entry, err := p.canaryOf(source)
	if err != nil {
		return nil, err
	}
	var all []spelt
	for _, m := range p.in.Managed {
		name, err := names.free(m.Name, p.api.Words())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source.Place, err)
		}
		route, policy, err := p.managedRoute(rp, object, m, entry)
		if err != nil {
			return nil, fmt.Errorf("%s: managed route %q: %w", source.Place, m.Name, err)
		}
		route.Name = name
		raw, before, err := p.api.SpellRoute(source, route)
		if err != nil {
			return nil, fmt.Errorf("%s: managed route %q: %w", source.Place, m.Name, err)
		}
		if raw == nil { // no request that reaches the source can fit
			continue
		}
		names.users[name] = false
		plan.partly = plan.partly || route.Mirror != nil && *route.Mirror < 100
		to := canary.destination.Key()
		if m.Mirror != nil {
			to = source.Entries[0].Key()
		}
		all = append(all, spelt{name, raw, m.Mirror != nil, before, to})
		if policy.Name != "" {
			plan.want(policy)
		}
	}
	if len(all) > 0 && canary.index < 0 && canary.destination.Kind == config.KindService {
		plan.newServices = append(plan.newServices, NewService{Place: source.Place, Destination: canary.destination})
	}
	return all, nil
}

// managedRoute returns what a managed route says but for its name, with the policy that mirrors its requests; there may be none.
func (p *planner) managedRoute(rp routePlan, object string, m intent.ManagedRoute, canary json.RawMessage) (ManagedRoute, Policy, error) {
	route := ManagedRoute{Labels: map[string]string{OwnerLabel: ownerLabelValue(p.in.Owner)}, Matches: m.Matches}
	if m.Mirror == nil {
		route.Destinations, route.Over = []json.RawMessage{canary}, intent.Mirrored(p.in.Managed)
		return route, Policy{}, nil
	}
	var err error
	if route.Destinations, err = rp.spelt(); err != nil {
		return route, Policy{}, err
	}
	if p.api.Policies().Kind == "" {
		route.Mirror, route.Canary = m.Mirror, canary
		return route, Policy{}, nil
	}
	policy, err := p.mirrorPolicy(object, m, canary)
	route.Labels[MirrorLabel] = policy.Name
	return route, policy, err
}

// canaryOf returns the canary's seat in a source, and its entry without a weight: the one that is listed or, if none is, the
// one that would be made. A default destination is spelt as it would be in a list, which the route may get or lose.
func (p *planner) canaryOf(source Route) (seat, json.RawMessage, error) {
	seats, err := p.seats(source)
	if err != nil {
		return seat{}, nil, err
	}
	canary := seats[1]
	if canary.index >= 0 && source.Listed {
		entry, err := edited(source.Entries[canary.index].JSON, map[string]any{"weight": nil})
		return canary, entry, err
	}
	like := canary.index
	if like < 0 { // so it is stable by which the route is a source
		like = seats[0].index
	}
	if err := p.spell(source, source.Entries[like], &canary); err != nil {
		return seat{}, nil, err
	}
	entry, err := json.Marshal(canary.spelt.entry)
	if err != nil {
		return seat{}, nil, fmt.Errorf("%s: %w", source.Place, err)
	}
	return canary, entry, nil
}

// free returns a name for a managed route: its own or, where another managed route of the object has that, the next
// free of name-1, name-2 and so on. A user's route of the same name is an error.
func (t takenNames) free(name string, words Words) (string, error) {
	if t.users[name] {
		return "", fmt.Errorf("managed route %q: the %s has a %s of that name already; rename either", name, words.Object, words.Route)
	}
	free := name
	for n := t.next[name]; ; n++ {
		if n > 0 {
			free = fmt.Sprintf("%s-%d", name, n)
		}
		if _, taken := t.users[free]; !taken {
			t.next[name] = n
			return free, nil
		}
	}
}

// managedBefore returns the managed routes, whosever, that stand directly before routes that are not, by the keys of those.
func managedBefore(routes []Route) map[string][]Route {
	before := map[string][]Route{}
	first := 0 // of the managed routes before the present one
	for i, r := range routes {
		if i > 0 && routes[i-1].Section != r.Section {
			first = i
		}
		if r.Owner != "" {
			continue
		}
		if first < i && r.Section != "" {
			before[r.Key] = routes[first:i]
		}
		first = i + 1
	}
	return before
}

// equalJSON reports whether two JSON texts hold equal values.
func equalJSON(a, b json.RawMessage) bool {
	x, errX := jsonTree(a)
	y, errY := jsonTree(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// jsonTree decodes JSON, keeping numbers as they are written.
func jsonTree(raw json.RawMessage) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var tree any
	err := decoder.Decode(&tree)
	return tree, err
}
