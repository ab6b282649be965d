package engine

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/split"
)

// slot is one entry of a list of destinations as it is to be.
type slot struct {
	// seat is the Rollout's seat that the entry is; -1 for an entry of somebody else.
	seat int
	// index is the entry's place in the observed list; -1 for a new one.
	index int
	// weight is what the entry is to give; nil for none.
	weight *int
}

// form is a list of destinations as it is to be.
type form []slot

// weights returns those of the form as arithmetic reads them.
func (f form) weights(a Arithmetic) []int {
	weights := make([]int, len(f))
	for i, s := range f {
		weights[i] = given(a, s.weight)
	}
	return weights
}

// routePlan is what one route is to become.
type routePlan struct {
	route Route
	// selected says that the selection has the route; if not, it is held from before.
	selected bool
	seats    []seat
	// form is the list of destinations as it is to be; unlist says that the list itself goes.
	form   form
	unlist bool
	// was is what to remember of the route; nil if it is not held any more.
	was spelling
}

// serve plans a selected route: its weights as the intent wants them, or as they stand.
func (p *planner) serve(r Route) (routePlan, error) {
	if p.in.KeepWeights {
		return routePlan{route: r, form: observedForm(r, nil)}, nil
	}
	seats, err := p.seats(r)
	if err != nil {
		return routePlan{}, err
	}
	return p.divide(r, seats)
}

// release plans a route that the Rollout holds but does not select any more: all goes back to stable.
func (p *planner) release(r Route) (routePlan, error) {
	rest := *p
	rest.in.CanaryShare, rest.in.Experiments = 0, nil
	rest.bare = p.bare || p.in.StableHash == p.in.CanaryHash // while there are pods of one version only, any will do
	seats, err := rest.seats(r)
	if err != nil {
		return routePlan{}, err
	}
	if seats[0].index < 0 {
		heir := rest.heir(r, seats)
		if heir < 0 {
			return routePlan{}, fmt.Errorf("%s: still holds %s but forwards to stable no more; list stable again, or take the others out",
				r.Place, listed(seats))
		}
		seats[0] = seats[heir]
		seats[0].role, seats[0].share = roleStable, rest.in.StableShare()
		seats = slices.Delete(seats, heir, heir+1)
	}
	return rest.divide(r, seats)
}

// heir returns which seat of a route gets all where what is stable now is not listed: the destination that was stable
// when the route was changed, or, of two that alternate, the other one; -1 if there is none.
func (p *planner) heir(r Route, seats []seat) int {
	other := -1
	for n, s := range seats {
		switch {
		case s.index < 0:
		case p.memory.mine.role(r.Entries[s.index]) == roleStable:
			return n
		case p.in.Alternating && s.role == roleCanary:
			other = n
		}
	}
	return other
}

func listed(seats []seat) string {
	for _, s := range seats {
		if s.index >= 0 {
			return s.destination.String()
		}
	}
	return "nothing"
}

// divide plans the weights of a route whose seats are known.
func (p *planner) divide(r Route, seats []seat) (routePlan, error) {
	was := p.memory.mine.was(r.Key).claimed(r, seats)
	if was != nil && p.in.ByHash() && p.memory.mine.AtRest { // it stands as it is given, whoever gave it so since
		was = was.refreshed(remembered(r, seats, nil))
	}
	plan := routePlan{route: r, seats: seats, was: was}
	if p.in.AtRest() && !r.Listed && seats[0].index >= 0 && seats[0].subset == nil { // the default destination is stable, which is all that is wanted
		plan.was = nil
		return plan, nil
	}
	if err := p.fill(r, seats); err != nil {
		return plan, err
	}
	if err := p.checkHolders(r, seats); err != nil {
		return plan, err
	}
	if err := p.weigh(r, seats); err != nil {
		return plan, err
	}
	written := writtenForm(r, seats)
	if err := p.check(r, seats, written); err != nil {
		return plan, err
	}
	plan.form = written
	if p.in.AtRest() {
		p.rest(&plan)
	} else {
		plan.was = remembered(r, seats, was)
		if was == nil {
			p.noteStrangers(r, seats, plan.was)
		}
	}
	return plan, nil
}

// weigh gives each seat its weight: its part of what the seats own together.
func (p *planner) weigh(r Route, seats []seat) error {
	mine := make([]bool, len(r.Entries))
	shares := make([]int, len(seats))
	for n, s := range seats {
		shares[n] = s.share
		if s.index >= 0 {
			mine[s.index] = true
		}
	}
	owned, err := p.api.Owned(r.weights(p.api), mine, p.in.MaxShare, p.memory.mine != nil)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Place, err)
	}
	if p.in.AtRest() && owned == 0 { // nothing to give, and nobody but stable to get it
		return nil
	}
	parts, err := split.Divide(owned, shares)
	if errors.Is(err, split.ErrTooSmall) {
		return fmt.Errorf("%s: the Rollout's destinations hold %d percent of the route, too little to divide; give them more", r.Place, owned)
	} else if err != nil {
		return fmt.Errorf("%s: %w", r.Place, err)
	}
	for n := range seats {
		seats[n].weight = parts[n]
	}
	return nil
}

// writtenForm spells every weight of the Rollout's own out. Entries that the plugin made and that get nothing are left
// out, but for stable's, by which the route is known.
func writtenForm(r Route, seats []seat) form {
	f := observedForm(r, seats)
	kept := f[:0]
	for _, s := range f {
		if s.seat >= 0 {
			own := &seats[s.seat]
			if own.made && own.weight == 0 && own.role != roleStable {
				continue
			}
			s.weight = &own.weight
		}
		kept = append(kept, s)
	}
	for n := range seats {
		if own := &seats[n]; own.spelt != nil && (own.weight > 0 || own.role == roleStable) {
			kept = append(kept, slot{seat: n, index: -1, weight: &own.weight})
		}
	}
	return kept
}

// observedForm is the list as it stands; that of a route without one is empty.
func observedForm(r Route, seats []seat) form {
	if !r.Listed {
		return form{}
	}
	f := make(form, 0, len(r.Entries)+1) // the canary may come to them
	for i, e := range r.Entries {
		s := slot{seat: -1, index: i, weight: e.Weight}
		for n, own := range seats {
			if own.index == i {
				s.seat = n
			}
		}
		f = append(f, s)
	}
	return f
}

// check fails unless the form gives the Rollout's destinations exactly their weights. A weight of 0 is the
// same as none: beside a destination that gives none, it would share in what is left.
func (p *planner) check(r Route, seats []seat, f form) error {
	got, err := p.api.Effective(f.weights(p.api))
	if err != nil {
		return fmt.Errorf("%s: %w", r.Place, err)
	}
	for i, s := range f {
		if s.seat >= 0 && math.Abs(got[i]-float64(seats[s.seat].weight)) > 0.01 && len(f) > 1 {
			return fmt.Errorf("%s: %s cannot be brought to %d percent beside destinations that give no weight; give those a weight",
				r.Place, seats[s.seat].destination, seats[s.seat].weight)
		}
	}
	return nil
}

// rest chooses how a route at rest is spelt: as it was given before the first change; or, where nothing is remembered, as
// it stands; or else with every weight written out. A spelling that sends anything to another than stable will not do. One
// that would only wake somebody else's stays remembered while other Rollouts are at work on the object.
func (p *planner) rest(plan *routePlan) {
	r, seats, written := plan.route, plan.seats, plan.form
	switch {
	case p.isDefaulted(r, seats, plan.was):
		_, empty := plan.was[emptyList]
		plan.form, plan.was, plan.unlist = form{}, nil, !empty
	case plan.was != nil:
		p.restore(plan)
	case seats[0].made: // so the other one, which the table lists, was stable before
		plan.was = remembered(r, seats, nil)
		p.restore(plan)
	default:
		observed := observedForm(r, seats)
		if len(observed) == len(written) && p.onlyStable(observed) {
			plan.form = observed
		}
	}
	if p.keepsHash(seats) {
		plan.was = plan.spelling()
	}
}

// spelling returns how the plan gives the weights of those entries of the Rollout's that it did not make.
func (rp *routePlan) spelling() spelling {
	given := spelling{}
	if rp.route.Empty {
		given[emptyList] = nil
	}
	given = rp.was.refreshed(given)
	for _, s := range rp.form {
		if s.seat >= 0 && s.index >= 0 && !rp.seats[s.seat].made {
			given[rp.seats[s.seat].destination.Key()] = s.weight
		}
	}
	return given
}

// restore gives a route at rest the spelling that is remembered, where that will do.
func (p *planner) restore(plan *routePlan) {
	restored := make(form, len(plan.form))
	keep := false // the plugin's own entries stay: of two services that alternate, the one that was not listed is stable
	for i, s := range plan.form {
		restored[i] = s
		if s.seat < 0 {
			continue
		}
		own := plan.seats[s.seat]
		keep = keep || own.made
		if s.index < 0 { // somebody took it out of the list
			continue
		}
		if weight, listed := plan.was[own.destination.Key()]; listed && (weight == nil || *weight != unknown) {
			restored[i].weight = weight
		}
	}
	switch {
	case !p.onlyStable(restored):
		_, senseless := p.api.Effective(restored.weights(p.api)) // by what others hold now, and may give back
		keep = keep || p.in.Alternating || p.memory.busy && senseless != nil
	case p.wakesNobody(plan.form, restored):
		plan.form = restored
	default:
		keep = keep || p.memory.busy
	}
	if !keep {
		plan.was = nil
	}
}

// isDefaulted reports whether the plugin wrote the route's list in place of the table's default destination, and may take
// it away again.
func (p *planner) isDefaulted(r Route, seats []seat, was spelling) bool {
	if p.keepsHash(seats) {
		return false
	}
	for _, e := range r.Entries {
		if !p.made(r, e, was) {
			return false
		}
	}
	return r.Listed && r.Default != nil && (was != nil && !p.in.Alternating || seats[0].destination.Key() == r.Default.Key())
}

// onlyStable reports whether a form makes sense and gives nothing to any of the Rollout's destinations but stable.
func (p *planner) onlyStable(f form) bool {
	got, err := p.api.Effective(f.weights(p.api))
	if err != nil {
		return false
	}
	for i, s := range f {
		if s.seat > 0 && got[i] > 0 {
			return false
		}
	}
	return true
}

// wakesNobody reports whether the second of two forms of the same entries gives nothing to anybody who has nothing by the
// first: a 0 of somebody else's would share in what a missing weight leaves over.
func (p *planner) wakesNobody(a, b form) bool {
	before, errA := p.api.Effective(a.weights(p.api))
	after, errB := p.api.Effective(b.weights(p.api))
	if errA != nil || errB != nil {
		return false
	}
	for i, s := range a {
		if s.seat < 0 && before[i] == 0 && after[i] > 0 {
			return false
		}
	}
	return true
}

// unknown is a spelling's weight for a destination that is listed, and whose weight is the plugin's own already.
const unknown = -1

// stranger is a spelling's weight for an entry that is somebody else's, though the record names its destination, and that has no
// room for a mark by which to tell.
const stranger = -2

func isStranger(weight *int) bool { return weight != nil && *weight == stranger }

// noteStrangers adds those of a route that is changed for the first time to what is remembered of it.
func (p *planner) noteStrangers(r Route, seats []seat, was spelling) {
	for i, e := range r.Entries {
		own := slices.ContainsFunc(seats, func(s seat) bool { return s.index == i })
		if r.Listed && !own && e.Unmarkable && p.memory.mine.role(e) != roleForeign {
			was[e.Key()] = new(stranger)
		}
	}
}

// remembered returns how the route's own listed destinations give their weights, where was is what is remembered already: what
// is not, they give now. Beside an entry that the plugin made, nothing remembered means that the annotation was lost, and
// that what stands there is the plugin's.
func remembered(r Route, seats []seat, was spelling) spelling {
	spelt := spelling{}
	if r.Empty {
		spelt[emptyList] = nil
	}
	lost := was == nil && slices.ContainsFunc(seats, func(s seat) bool { return r.Listed && s.index >= 0 && s.made })
	for _, s := range seats {
		if s.index < 0 || !r.Listed || s.made {
			continue
		}
		weight := r.Entries[s.index].Weight
		if lost {
			weight = new(int)
			*weight = unknown
		}
		spelt[s.destination.Key()] = weight
	}
	maps.Copy(spelt, was)
	return spelt
}
