package engine

import (
	"maps"
	"slices"
)

// Where stable and canary are subsets of one Service by their pods' hash, the entry that somebody listed is stable's, whatever
// hash stands there, and is given the present one. Those beside it that are the same but for the hash are the plugin's. The
// record of a route whose entry carries a hash stays at rest too: a hash that nobody renews sends traffic to pods that are
// gone, so it is taken out when the route is selected no more, or the Rollout tells its versions apart otherwise.

// markByHash notes on the Rollout's entries in which label a pod hash stands: those that are stable or canary by hash, and
// those of which the record says that they were.
func (p *planner) markByHash(routes []Route) {
	label := p.in.Stable.HashLabel
	if label == "" && p.memory.mine != nil {
		label = p.memory.mine.HashLabel
	}
	if label == "" {
		return
	}
	for i := range routes {
		routes[i].Entries = slices.Clone(routes[i].Entries) // a default destination stands in several
		for n := range routes[i].Entries {
			e := &routes[i].Entries[n]
			marked := *e
			marked.HashLabel = label
			if p.in.ByHash() && p.in.Stable.Matches(e.Destination) || marked.Hash() != "" && p.memory.mine.role(marked) == roleStable {
				e.HashLabel = label
			}
		}
	}
}

// stableByHash returns where stable's entry stands in a route, among those that may carry a hash: the first one without a
// hash or else the first one; -1 if there is none.
func stableByHash(r Route) int {
	if bare := slices.IndexFunc(r.Entries, func(e Entry) bool { return e.HashLabel != "" && e.Hash() == "" }); bare >= 0 {
		return bare
	}
	return slices.IndexFunc(r.Entries, func(e Entry) bool { return e.HashLabel != "" })
}

// madeByHash reports whether the plugin made an entry of a route for a version beside stable's: it is the same but for the
// hash.
func madeByHash(r Route, e Entry) bool {
	if e.Hash() == "" {
		return false
	}
	stable := r.Entries[stableByHash(r)]
	return e.Key() == stable.Key() && !e.Destination.Equal(stable.Destination)
}

// takesByHash returns whether a seat is that of an entry, both by their index, where stable's entry is known. Entries that
// might be stable's as well, such as one of another port, are to be told apart by a person.
func (p *planner) takesByHash(r Route, seats []seat, stable int) func(n, i int) bool {
	return func(n, i int) bool {
		e, s := r.Entries[i], seats[n]
		switch {
		case e.HashLabel == "": // nothing of the Rollout's that carries a hash
			return (s.role == roleExperiment || !p.in.ByHash()) && p.fits(s, e)
		case !p.in.ByHash(): // the hash goes, and the entries of other versions
			return i == stable && p.fits(s, e)
		case s.role == roleStable:
			return !madeByHash(r, e)
		default:
			return s.role == roleCanary && madeByHash(r, e) && e.Hash() == p.in.CanaryHash
		}
	}
}

// renewHash lets stable's seat name the present version or, where it is not to name any, none.
func (p *planner) renewHash(stable *seat) {
	d := stable.destination
	if stable.index < 0 || d.HashLabel == "" {
		return
	}
	if p.bare {
		d = d.WithoutHash()
	} else {
		d = d.WithHash(p.in.StableHash)
	}
	if !maps.Equal(d.Subset, stable.destination.Subset) {
		stable.destination, stable.subset = d, d.Subset
	}
}

// keepsHash reports whether stable's entry goes on naming a pod hash, so that the route's record has to stay.
func (p *planner) keepsHash(seats []seat) bool { return !p.bare && seats[0].destination.Hash() != "" }
