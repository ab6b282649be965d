package engine

import "slices"

// Where stable and canary are subsets of one Service by their pods' hash, every entry of that Service is the Rollout's: the
// one that somebody listed is stable's, whatever hash stands there, and is given the present one; those beside it, each with
// the hash of a version, are the plugin's. No mark and no memory is needed to know them.

// markByHash notes on the Rollout's entries in which label the pod hash stands.
func (p *planner) markByHash(routes []Route) {
	if !p.in.ByHash() {
		return
	}
	for i := range routes {
		routes[i].Entries = slices.Clone(routes[i].Entries) // a default destination stands in several
		for n := range routes[i].Entries {
			if e := &routes[i].Entries[n]; p.in.Stable.Matches(e.Destination) {
				e.HashLabel = p.in.Stable.HashLabel
			}
		}
	}
}

// stableByHash returns where stable's entry stands in a route: the first one without a hash or else the first one; -1 if
// there is none.
func stableByHash(r Route) int {
	if bare := slices.IndexFunc(r.Entries, func(e Entry) bool { return e.HashLabel != "" && e.Hash() == "" }); bare >= 0 {
		return bare
	}
	return slices.IndexFunc(r.Entries, func(e Entry) bool { return e.HashLabel != "" })
}

// madeByHash reports whether the plugin made one of the Rollout's entries.
func (p *planner) madeByHash(r Route, e Entry) bool {
	return e.Hash() != "" && e.String() != r.Entries[stableByHash(r)].String()
}

// takesByHash returns whether a seat is that of an entry, both by their index.
func (p *planner) takesByHash(r Route, seats []seat) func(n, i int) bool {
	stable := stableByHash(r)
	return func(n, i int) bool {
		e := r.Entries[i]
		switch {
		case e.HashLabel == "":
			return seats[n].role == roleExperiment && seats[n].destination.Matches(e.Destination)
		case seats[n].role == roleStable:
			return i == stable || e.Hash() == ""
		default:
			return seats[n].role == roleCanary && i != stable && e.Hash() == p.in.CanaryHash
		}
	}
}

// holdsByHash reports whether a route that is not selected any more still points at a version of the Rollout.
func holdsByHash(r Route) bool {
	return slices.ContainsFunc(r.Entries, func(e Entry) bool { return e.Hash() != "" })
}
