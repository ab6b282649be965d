package engine

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Selection says which routes of an object a Rollout moves.
type Selection struct {
	// Routes narrows them; nil: every route that forwards to stable.
	Routes *config.RouteSelector
	// NoHeaders says that no header routes are to be added.
	NoHeaders bool
	// None says that the object is not selected: what the Rollout holds there is put at rest.
	None bool
}

func (s Selection) matches(r Route) bool {
	if s.None {
		return false
	}
	if s.Routes == nil {
		return true
	}
	for key, value := range s.Routes.Labels {
		if found, ok := r.Labels[key]; !ok || found != value {
			return false
		}
	}
	return s.Routes.Name == "" || s.Routes.Name == r.Name
}

// Plan is what brings one object to an intent.
type Plan struct {
	// Patch is empty if the object already is as it should be.
	Patch []Operation
	// Changes says what Patch does to whom, in the object's order.
	Changes []Change
	// Policies are those that the Rollout wants beside the object, in a fixed order.
	Policies []Policy
	// Unmanaged says why none of the managed routes that are wanted can be added: the object has routes without headers only.
	// Another object may have others.
	Unmanaged error
	// Added are the places of the sources of managed routes that Patch adds, and Changed and Removed those of managed routes that
	// it changes and removes, all as they are counted before it.
	Added, Changed, Removed []string
	// Rehearsed says that Patch is to be rehearsed: the API server may not know all that it says.
	Rehearsed bool
	// NewServices are the Services that get traffic by Patch and were not listed before, each with the place of a route.
	NewServices []NewService
}

// Change is what one destination gets of a route's traffic before and after, in whole percent.
type Change struct {
	Place       string
	Destination intent.Destination
	From, To    int
}

// NewService is a Service that a patch gives traffic to for the first time.
type NewService struct {
	Place       string
	Destination intent.Destination
}

type planner struct {
	api    API
	in     intent.Intent
	memory memory
	// bare says that stable's entries are to name no pod hash.
	bare bool
	// spelt are the entries spelt so far, by the JSON of those that they were made like.
	spelt map[string][]*speltEntry
}

// speltEntry is a new entry for a destination, without a weight and with each that was asked for. Nobody changes the entries.
type speltEntry struct {
	to       intent.Destination
	entry    map[string]any
	weighted map[int]map[string]any
	// told says that the plan's new Services have the destination.
	told bool
}

// withWeight returns the entry with a weight.
func (s *speltEntry) withWeight(weight int) map[string]any {
	known, found := s.weighted[weight]
	if !found {
		known = maps.Clone(s.entry)
		known["weight"] = weight
		s.weighted[weight] = known
	}
	return known
}

// MakePlan returns what brings observed to in: weights on the selected routes, and at rest what the Rollout holds on
// others. It is a function of its arguments alone. Its errors name the object and, for each route that cannot be served,
// the place; if there is any, there is no plan. [ErrNoRoute] is among them if no selected route forwards to stable.
func MakePlan(api API, observed Object, selection Selection, in intent.Intent) (Plan, error) {
	name := objectName(api, observed)
	routes, err := Routes(api, observed)
	if err != nil {
		return Plan{}, fmt.Errorf("%s: %w", name, err)
	}
	p := &planner{api: api, in: in, memory: recall(observed.Annotations, in.Owner), bare: !in.ByHash(), spelt: map[string][]*speltEntry{}}
	unwanted := p.leaveOut(selection)
	p.markByHash(routes)
	plans, faults := p.routes(routes, selection)
	managed, more := p.manage(name, routes, plans)
	if faults = append(faults, more...); len(faults) > 0 {
		return Plan{}, named(name, faults)
	}
	plan := Plan{Changes: make([]Change, 0, 2*len(plans)), Patch: make([]Operation, 0, 2*len(plans)+2)} // and a label and the annotation
	for i := range plans {
		plan.describe(api, &plans[i])
		plan.add(&plans[i])
	}
	follow, err := p.followSources(routes, plans)
	if err != nil {
		return Plan{}, fmt.Errorf("%s: %w", name, err)
	}
	plan.Patch = append(append(plan.Patch, follow...), managed.patch...)
	if plan.Unmanaged = managed.unmanaged; unwanted && slices.ContainsFunc(plans, isSelected) {
		plan.Unmanaged = fmt.Errorf("%s: header routes are added only where useHeaderRoutes is true, which it is not; set it", name)
	}
	plan.Policies, plan.Added, plan.Changed, plan.Removed = managed.policies, managed.added, managed.changed, managed.removed
	plan.Rehearsed, plan.NewServices = managed.partly && len(managed.patch) > 0, append(plan.NewServices, managed.newServices...)
	mine := remember(plans)
	if mine.HashLabel = in.Stable.HashLabel; len(mine.Held) == 0 {
		mine.HashLabel = ""
	}
	mine.AtRest = in.AtRest() && len(mine.Held) > 0
	if in.KeepWeights && p.memory.mine != nil {
		mine = *p.memory.mine
	} else if in.Gone {
		mine = record{}
	}
	mine.Managed, mine.Rules = managed.left, managed.rules
	mine.Mirrored = len(managed.policies) > 0 || len(observed.Policies) > 0 || p.memory.mirrored && !observed.PoliciesKnown
	underWay := !selection.None && in.UnderWay() || in.KeepWeights && mine.isUnderWay()
	label, labels := p.label(observed.Labels, underWay, p.isLost(routes, plans))
	mine.Label, plan.Patch = label, append(plan.Patch, labels...)
	remembered, err := p.memory.patch(observed.Annotations, in.Owner, mine)
	if err != nil {
		return Plan{}, fmt.Errorf("%s: %w", name, err)
	}
	plan.Patch = append(plan.Patch, remembered...)
	if n := len(plan.Patch); n >= maxOperations {
		return Plan{}, fmt.Errorf("%s: %d changes are more than one patch may hold (%d); narrow routeSelector or split the table", name, n, maxOperations)
	}
	return plan, nil
}

// routes plans every route that is selected or held: its weights, but for an intent that keeps those as they are.
func (p *planner) routes(routes []Route, selection Selection) (plans []routePlan, faults []error) {
	plans = make([]routePlan, 0, len(routes))
	for _, r := range routes {
		if r.Owner != "" { // a managed route, which its source decides on
			continue
		}
		var plan func(Route) (routePlan, error)
		selected := selection.matches(r)
		switch {
		case selected && r.Fault != nil:
			faults = append(faults, fmt.Errorf("%s: %w", r.Place, r.Fault))
			continue
		case selected && p.forwardsToUs(r):
			plan = p.serve
		case p.in.KeepWeights:
			continue
		case r.Fault == nil && p.holds(r):
			selected, plan = false, p.release
		default:
			continue
		}
		rp, err := plan(r)
		if err != nil {
			faults = append(faults, err)
		}
		rp.selected = selected
		plans = append(plans, rp)
	}
	faults = append(faults, p.unreadable(routes)...)
	if !slices.ContainsFunc(plans, isSelected) && !selection.None && len(faults) == 0 {
		faults = append(faults, p.noRoute(routes, selection))
	}
	return plans, faults
}

func isSelected(rp routePlan) bool { return rp.selected }

// unreadable returns the faults of routes that cannot be read, while one that the Rollout holds is not to be found: it may
// be among them.
func (p *planner) unreadable(routes []Route) []error {
	if p.memory.mine == nil {
		return nil
	}
	readable := map[string]bool{}
	for _, r := range routes {
		readable[r.Key] = r.Fault == nil
	}
	missing := slices.ContainsFunc(p.memory.mine.Held, func(h held) bool {
		return slices.ContainsFunc(h.Routes, func(key string) bool { return !readable[key] })
	})
	if !missing {
		return nil
	}
	var faults []error
	for _, r := range routes {
		if r.Fault != nil {
			faults = append(faults, fmt.Errorf("%s: %w; mend it, since it may be a route that the Rollout has changed", r.Place, r.Fault))
		}
	}
	return faults
}

// forwardsToUs reports whether a route forwards to stable, or, where the two alternate, to either.
func (p *planner) forwardsToUs(r Route) bool {
	for _, e := range r.Entries {
		if p.in.Stable.Matches(e.Destination) || p.in.Alternating && p.in.Canary.Matches(e.Destination) {
			return true
		}
	}
	return false
}

// holds reports whether the Rollout has changed a route before: its memory says so, or, where that was lost or the route
// got another name, an entry that the plugin made for a destination that the Rollout used.
func (p *planner) holds(r Route) bool {
	return r.Listed && slices.ContainsFunc(r.Entries, func(e Entry) bool {
		if p.memory.mine.was(r.Key) != nil {
			return p.wasMine(r, e)
		}
		return p.made(r, e, nil) && (p.wasUsed(e) || p.in.Gone && p.memory.mine.role(e) != roleForeign)
	})
}

// mayHoldManaged reports whether an object may hold managed routes of the Rollout, or have policies of it beside.
func mayHoldManaged(o Object, in intent.Intent) bool {
	memory := recall(o.Annotations, in.Owner)
	return bytes.Contains(o.JSON, []byte(ownerLabelValue(in.Owner))) || memory.managed || memory.mirrored
}

// remember returns the record of what the Rollout holds after the plans.
func remember(plans []routePlan) record {
	r := record{Roles: map[string]role{}}
	for i := range plans {
		plan := &plans[i]
		if plan.was == nil {
			continue
		}
		r.hold(plan.route.Key, plan.was)
		for _, s := range plan.form {
			if s.seat >= 0 {
				own := plan.seats[s.seat]
				if key := own.destination.Key(); r.Roles[key] != roleStable { // two versions of one Service are one there
					r.Roles[key] = own.role
				}
			}
		}
	}
	r.sort()
	return r
}

// add appends what turns the route's observed list into its form. Operations apply one after another, so entries are
// changed first, taken out from the back next and added last.
func (plan *Plan) add(rp *routePlan) {
	r := rp.route
	if rp.unlist {
		plan.Patch = append(plan.Patch, Operation{Op: "remove", Path: r.List})
		return
	}
	if !r.Listed {
		if len(rp.form) > 0 {
			plan.Patch = append(plan.Patch, Operation{Op: "add", Path: r.List, Value: rp.newEntries()})
		}
		return
	}
	kept := map[int]bool{}
	for _, s := range rp.form {
		if s.index < 0 {
			continue
		}
		kept[s.index] = true
		if s.seat >= 0 && rp.seats[s.seat].subset != nil {
			plan.setSubset(at(r.List, s.index)+"/subset", rp.seats[s.seat].subset)
		}
		before := r.Entries[s.index].Weight
		if equalWeight(before, s.weight) {
			continue
		}
		path := r.List + "/" + strconv.Itoa(s.index) + "/weight"
		switch {
		case s.weight == nil:
			plan.Patch = append(plan.Patch, Operation{Op: "remove", Path: path})
		case before == nil:
			plan.Patch = append(plan.Patch, Operation{Op: "add", Path: path, Value: *s.weight})
		default:
			plan.Patch = append(plan.Patch, Operation{Op: "replace", Path: path, Value: *s.weight})
		}
	}
	for i := range slices.Backward(r.Entries) {
		if !kept[i] {
			plan.Patch = append(plan.Patch, Operation{Op: "remove", Path: at(r.List, i)})
		}
	}
	for _, entry := range rp.newEntries() {
		plan.Patch = append(plan.Patch, Operation{Op: "add", Path: r.List + "/-", Value: entry})
	}
}

// setSubset appends what gives an entry another subset, or none if it is empty.
func (plan *Plan) setSubset(path string, subset map[string]string) {
	if len(subset) == 0 {
		plan.Patch = append(plan.Patch, Operation{Op: "remove", Path: path})
		return
	}
	plan.Patch = append(plan.Patch, Operation{Op: "add", Path: path, Value: subset})
}

// newEntries returns the form's new entries, with their weights.
func (rp *routePlan) newEntries() []map[string]any {
	var entries []map[string]any
	for _, s := range rp.form {
		if s.index < 0 {
			entries = append(entries, rp.newEntry(s))
		}
	}
	return entries
}

func (rp *routePlan) newEntry(s slot) map[string]any {
	return rp.seats[s.seat].spelt.withWeight(*s.weight)
}

// describe notes what changes for the Rollout's destinations.
func (plan *Plan) describe(api API, rp *routePlan) {
	from, to := percents(api, rp.route.weights(api)), percents(api, rp.form.weights(api))
	for n := range rp.seats {
		own := &rp.seats[n]
		change := Change{Place: rp.route.Place, Destination: own.destination}
		for i := range rp.route.Entries {
			if rp.route.Entries[i].Destination.Equal(own.destination) {
				change.From = from[i]
			}
		}
		for i, s := range rp.form {
			if s.seat == n {
				change.To = to[i]
			}
		}
		if own.role == roleStable && len(rp.form) == 0 { // the default destination has it all
			change.To = 100
		}
		if change.From != change.To {
			plan.Changes = append(plan.Changes, change)
		}
		if own.index < 0 && change.To > 0 && own.destination.Kind == config.KindService && !own.spelt.told {
			own.spelt.told = true
			plan.NewServices = append(plan.NewServices, NewService{Place: rp.route.Place, Destination: own.destination})
		}
	}
}

// percents makes of weights what each entry gets of all traffic, rounded; of those that make no sense, what each gives.
func percents(a Arithmetic, weights []int) []int {
	got, err := a.Effective(weights)
	if err != nil {
		return weights
	}
	all := 0.0
	for _, part := range got {
		all += part
	}
	for i := range got {
		if weights[i] = 0; got[i] > 0 {
			weights[i] = int(math.Round(100 * got[i] / all))
		}
	}
	return weights
}
