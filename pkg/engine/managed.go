package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
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
	// unmanaged says why there is no managed route, if some are wanted and no source can have any.
	unmanaged error
}

// manage plans the managed routes of an object: those that the intent wants directly before each source route, in its
// order, and no others of this Rollout's. Routes are wanted as their sources stand, so that they follow later edits.
// Routes of other Rollouts may stand between; header routes are put before those, since a mirror route takes its requests
// from all that stand behind it.
func (p *planner) manage(object string, routes []Route, sources []routePlan) (managedPlan, []error) {
	plan, faults := managedPlan{}, []error(nil)
	capable := slices.DeleteFunc(slices.Clone(sources), func(rp routePlan) bool { return rp.route.Section == "" })
	if len(p.in.Managed) > 0 && len(sources) > 0 && len(capable) == 0 {
		plan.unmanaged = fmt.Errorf("%s: only routes without headers match (%s), so no header or mirror route can be added; select an http route as well",
			object, list(sources, func(rp routePlan) string { return rp.route.Place }, ", "))
	}
	mine := ownerLabelValue(p.in.Owner)
	names := namesOfOthers(routes, mine)
	before := managedBefore(routes)
	wanted := map[int][]json.RawMessage{} // by the index of the route before which they are to stand
	kept := map[int]bool{}
	for _, source := range capable {
		spelt, heads, err := p.managedRoutesOf(source, object, names, &plan)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		around := before[source.route.Place]
		run := slices.DeleteFunc(slices.Clone(around), func(r Route) bool { return r.Owner != mine })
		plan.left = plan.left || len(spelt) > 0
		if len(run) == len(spelt) {
			for i, r := range run {
				kept[r.Index] = true
				plan.change(r, spelt[i])
			}
			continue
		}
		first := source.route.Index - len(around)
		wanted[first] = append(wanted[first], spelt[:heads]...)
		wanted[source.route.Index] = append(wanted[source.route.Index], spelt[heads:]...)
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

// change makes a managed route what is spelt, if it is not already.
func (plan *managedPlan) change(r Route, spelt json.RawMessage) {
	if !equalJSON(r.JSON, spelt) {
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

// namesOfOthers returns the names of all routes but the Rollout's managed ones.
func namesOfOthers(routes []Route, mine string) takenNames {
	names := takenNames{users: map[string]bool{}, next: map[string]int{}}
	for _, r := range routes {
		if r.Name != "" && r.Owner != mine {
			names.users[r.Name] = names.users[r.Name] || r.Owner == ""
		}
	}
	return names
}

// managedRoutesOf spells the managed routes of one source, and takes their names. The first of them, as many as heads, are
// header routes.
func (p *planner) managedRoutesOf(rp routePlan, object string, names takenNames, plan *managedPlan) (spelt []json.RawMessage, heads int, err error) {
	if len(p.in.Managed) == 0 {
		return nil, 0, nil
	}
	source := rp.route
	canary, entry, err := p.canaryOf(source)
	if err != nil {
		return nil, 0, err
	}
	for _, m := range p.in.Managed {
		name, err := names.free(m.Name)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", source.Place, err)
		}
		route := ManagedRoute{
			Name: name, Labels: map[string]string{OwnerLabel: ownerLabelValue(p.in.Owner)}, Matches: m.Matches, Destinations: []json.RawMessage{entry},
		}
		policy := Policy{}
		if m.Mirror != nil {
			if policy, err = p.mirrorPolicy(object, m, entry); err == nil {
				route.Labels[MirrorLabel] = policy.Name
				route.Destinations, err = rp.spelt()
			}
			if err != nil {
				return nil, 0, fmt.Errorf("%s: managed route %q: %w", source.Place, m.Name, err)
			}
		}
		raw, err := p.api.SpellRoute(source, route)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: managed route %q: %w", source.Place, m.Name, err)
		}
		if raw == nil { // no request that reaches the source can fit
			continue
		}
		names.users[name] = false
		if m.Mirror == nil && heads == len(spelt) {
			heads++
		}
		spelt = append(spelt, raw)
		if m.Mirror != nil {
			plan.want(policy)
		}
	}
	if len(spelt) > 0 && canary.index < 0 && canary.destination.Kind == config.KindService {
		plan.newServices = append(plan.newServices, NewService{Place: source.Place, Destination: canary.destination})
	}
	return spelt, heads, nil
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
	entry, err := json.Marshal(canary.spelt)
	if err != nil {
		return seat{}, nil, fmt.Errorf("%s: %w", source.Place, err)
	}
	return canary, entry, nil
}

// free returns a name for a managed route: its own or, where another managed route of the object has that, the next
// free of name-1, name-2 and so on. A user's route of the same name is an error.
func (t takenNames) free(name string) (string, error) {
	if t.users[name] {
		return "", fmt.Errorf("managed route %q: the table has a route of that name already; rename either", name)
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

// managedBefore returns the managed routes, whosever, that stand directly before routes that are not, by the place of those.
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
			before[r.Place] = routes[first:i]
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
