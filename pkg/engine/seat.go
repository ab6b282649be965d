package engine

import (
	"fmt"
	"slices"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// role is what a destination is to a Rollout.
type role string

const (
	roleStable     role = "stable"
	roleCanary     role = "canary"
	roleExperiment role = "experiment"
	roleFormer     role = "former" // named before, not any more
	roleForeign    role = ""       // somebody else's
)

// seat is an entry of the route that belongs to the Rollout, or one that is about to be made.
type seat struct {
	destination intent.Destination
	role        role
	// index is where the entry stands in the route's list; -1 if it is not listed yet.
	index int
	// made says that the plugin made the entry, so that it goes when it gets nothing.
	made bool
	// spelt is the new entry, for one that is not listed yet.
	spelt *speltEntry
	// subset is what the entry's subset is to be, if it is to be another.
	subset map[string]string
	// share is what the destination gets, in proportion to the others; weight what that makes of the weight that they hold together.
	share, weight int
}

// seats finds the Rollout's own entries in a route, in the order stable, canary, experiments, former. An entry that two
// descriptions fit, or a description that two entries fit, is an error.
func (p *planner) seats(r Route) ([]seat, error) {
	seats := []seat{
		{destination: p.in.Stable, role: roleStable, index: -1, share: p.in.StableShare()},
		{destination: p.in.Canary, role: roleCanary, index: -1, share: p.in.CanaryShare},
	}
	for _, e := range p.in.Experiments {
		seats = append(seats, seat{destination: e.Destination, role: roleExperiment, index: -1, share: e.Share})
	}
	named := len(seats)
	takes := func(n, i int) bool { return p.fits(seats[n], r.Entries[i]) }
	if stable := stableByHash(r); stable >= 0 {
		takes = p.takesByHash(r, seats, stable)
	}
	for i, e := range r.Entries {
		taken := false
		for n := range seats[:named] {
			if !takes(n, i) {
				continue
			}
			if seats[n].index >= 0 {
				other := r.Entries[seats[n].index]
				if other.Key() == e.Key() {
					return nil, fmt.Errorf("%s: lists %s twice; make one of the two", r.Place, e.Destination)
				}
				return nil, fmt.Errorf("%s: lists %s and %s, and either could be %s; set its port, subset or cluster in the config block",
					r.Place, other.Destination, e.Destination, seats[n].role)
			}
			seats[n].index, taken = i, true
		}
		if !taken && p.wasMine(r, e) {
			seats = append(seats, seat{role: roleFormer, index: i})
		}
	}
	was := p.memory.mine.was(r.Key)
	for n := range seats {
		if i := seats[n].index; i >= 0 {
			e := r.Entries[i]
			seats[n].destination = e.Destination
			seats[n].made = !r.Listed || p.made(r, e, was)
		}
	}
	p.renewHash(&seats[0])
	return seats, nil
}

// fits reports whether an entry is one that a seat describes. Those of a Rollout that is gone describe nothing: there the
// record says what an entry was to it.
func (p *planner) fits(s seat, e Entry) bool {
	if p.in.Gone {
		return p.memory.mine.role(e) == s.role
	}
	return s.destination.Matches(e.Destination)
}

// made reports whether the plugin added the entry to its route, which its owners then listed as was says. An entry that
// somebody lists himself is his, whatever was there before, so it takes both: the mark that Spell leaves, and the memory. Of
// an entry without room for a mark, the memory has to say that it was the Rollout's. Where that is lost, the mark has to be
// beyond doubt.
func (p *planner) made(r Route, e Entry, was spelling) bool {
	if madeByHash(r, e) {
		return true
	}
	if was != nil {
		_, listed := was[e.Key()]
		return !listed && (e.Marked || e.Unmarkable && p.memory.mine.role(e) != roleForeign)
	}
	mine := p.memory.mine
	known := mine == nil || mine.role(e) != roleForeign || p.wasUsed(e) ||
		p.in.Alternating && (p.in.Stable.Matches(e.Destination) || p.in.Canary.Matches(e.Destination))
	return e.Marked && known && p.credible(r, e)
}

// credible reports whether a marked entry of a route must be the plugin's. Somebody else may spell what is the mark on
// every entry, as a template would. The plugin has marked entries beside an unmarked one, or in a list that it wrote in
// place of an unmarked default destination; and none that gets nothing, but for that one's copy and for what is stable now
// and was canary when it was made.
func (p *planner) credible(r Route, e Entry) bool {
	if slices.ContainsFunc(r.Entries, func(e Entry) bool { return !e.Marked }) {
		return p.mayStay(e)
	}
	if r.Default == nil || r.Default.Marked {
		return false
	}
	others := 0
	for _, e := range r.Entries {
		if r.Default.Key() == e.Key() {
			continue
		}
		if !p.mayStay(e) {
			return false
		}
		others++
	}
	return others > 0
}

// mayStay reports whether the plugin leaves an entry that it made in a list: one that gets something, or of two that
// alternate the stable one, which was canary when the entry was made.
func (p *planner) mayStay(e Entry) bool {
	return given(p.api, e.Weight) > 0 || p.in.Alternating && p.in.Stable.Matches(e.Destination)
}

// wasMine reports whether the entry got its weight from the Rollout at an earlier call: the object remembers it, or, where
// that was lost, the plugin made it and the Rollout's status names it.
func (p *planner) wasMine(r Route, e Entry) bool {
	if madeByHash(r, e) {
		return true
	}
	mine := p.memory.mine
	if mine == nil {
		return p.made(r, e, nil) && p.wasUsed(e)
	}
	was := mine.was(r.Key)
	weight, listed := was[e.Key()]
	return mine.role(e) != roleForeign && !isStranger(weight) && (listed || p.made(r, e, was))
}

// wasUsed reports whether the Rollout's status says that the entry's destination got traffic beside stable.
func (p *planner) wasUsed(e Entry) bool {
	return slices.ContainsFunc(p.in.Used, func(d intent.Destination) bool { return d.Matches(e.Destination) })
}

// fill makes the entries that are wanted and not listed, each from one that is. A route without a list has none.
func (p *planner) fill(r Route, seats []seat) error {
	source := seats[0].index
	if source < 0 {
		source = seats[1].index
	}
	for n, s := range seats {
		if s.index >= 0 && r.Listed || s.share == 0 && s.role != roleStable {
			continue
		}
		if err := p.spell(r, r.Entries[source], &seats[n]); err != nil {
			return err
		}
	}
	return nil
}

// spell makes the new entry of a seat from a source entry.
func (p *planner) spell(r Route, source Entry, s *seat) error {
	to := s.destination
	if s.index < 0 {
		var err error
		if to, err = p.derive(r, source, *s); err != nil {
			return err
		}
	}
	spelt, err := p.speltLike(source, to)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Place, err)
	}
	s.destination, s.spelt, s.made = to, spelt, true
	return nil
}

// speltLike spells a destination like a source entry, once for all routes that list the same entry.
func (p *planner) speltLike(source Entry, to intent.Destination) (*speltEntry, error) {
	for _, known := range p.spelt[string(source.JSON)] {
		if known.to.Equal(to) {
			return known, nil
		}
	}
	entry, err := p.api.Spell(source, to)
	if err != nil {
		return nil, err
	}
	spelt := &speltEntry{to: to, entry: entry, weighted: map[int]map[string]any{}}
	p.spelt[string(source.JSON)] = append(p.spelt[string(source.JSON)], spelt)
	return spelt, nil
}

// derive completes the description of a destination that is not listed by what the source entry says.
func (p *planner) derive(r Route, source Entry, s seat) (intent.Destination, error) {
	to := s.destination
	if source.HashLabel != "" && !p.in.ByHash() {
		source.Destination = source.WithoutHash()
	}
	if to.Cluster == "" {
		to.Cluster = source.Cluster
	}
	if s.role == roleExperiment {
		if source.Cluster != "" && p.in.Cluster != "" && source.Cluster != p.in.Cluster {
			return to, fmt.Errorf("%s: experiment Service %s runs in cluster %s and stable in %s; an experiment cannot have a weight there",
				r.Place, to.Name, p.in.Cluster, source.Cluster)
		}
		port, err := p.in.ExperimentPort(source.Destination, to.Name)
		if err != nil {
			return to, fmt.Errorf("%s: %w", r.Place, err)
		}
		to.Port, to.Subset = port, nil
		return to, nil
	}
	if to.Port == nil {
		to.Port = source.Port
	}
	if p.in.ByHash() && p.in.CanaryHash == "" {
		return to, fmt.Errorf("%s: the pod hash of the canary is not known yet", r.Place)
	}
	if p.in.ByHash() {
		return source.Destination.WithHash(p.in.CanaryHash), nil // stable is listed: it is what the source is known by
	}
	if to.Subset == nil && len(source.Subset) > 0 {
		other := roleStable
		if s.role == roleStable {
			other = roleCanary
		}
		return to, fmt.Errorf("%s: %s has a subset and no %s is listed; list it or set %s.subset", r.Place, other, s.role, s.role)
	}
	return to, nil
}

// checkHolders fails if another Rollout holds one of the seats.
func (p *planner) checkHolders(r Route, seats []seat) error {
	if len(p.memory.holders) == 0 {
		return nil
	}
	for _, s := range seats {
		if holder := p.memory.holders[seatKey{r.Key, s.destination.Key()}]; holder != "" && (s.index >= 0 || s.share > 0) {
			return fmt.Errorf("%s: %s is being moved by Rollout %s as well; let that one finish, or remove it from annotation %s if it is gone",
				r.Place, s.destination, holder, Annotation)
		}
	}
	return nil
}
