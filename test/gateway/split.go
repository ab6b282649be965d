package gateway

import "fmt"

// split is a list of destinations with the parts of the traffic that they get.
type split struct {
	destinations []Destination
	parts        []int // out of their sum, one for each destination
	total        int
}

// newSplit shares traffic out by weight. With one destination the weight does not matter. Weights of several sum to 100;
// those that give none, which is the same as 0, share what is left, or get nothing if nothing is left.
func newSplit(destinations []Destination) (split, error) {
	s := split{destinations: destinations, parts: make([]int, len(destinations))}
	if len(destinations) == 1 {
		s.parts[0], s.total = 1, 1
		return s, nil
	}
	given, without := 0, 0
	for _, d := range destinations {
		given += int(d.Weight)
		if d.Weight == 0 {
			without++
		}
	}
	switch {
	case len(destinations) == 0:
		return split{}, fmt.Errorf("no destination, and the table has no defaultDestination")
	case given > 100:
		return split{}, fmt.Errorf("weights sum to %d, more than 100", given)
	case given < 100 && without == 0:
		return split{}, fmt.Errorf("weights sum to %d, not 100", given)
	}
	scale := max(without, 1) // so that a part of what is left is a whole number
	for i, d := range destinations {
		s.parts[i] = int(d.Weight) * scale
		if d.Weight == 0 && given < 100 {
			s.parts[i] = max(100-given, without) // at least one percent for each
		}
		s.total += s.parts[i]
	}
	return s, nil
}

// pick chooses a destination; draw(n) returns a number from 0 to n-1.
func (s split) pick(draw func(int) int) Destination {
	at := draw(s.total)
	for i, part := range s.parts {
		if at < part {
			return s.destinations[i]
		}
		at -= part
	}
	panic(fmt.Sprintf("draw(%d) is out of range", s.total))
}

// Spread is the percent of the route's traffic that each destination gets, by its version; nil if the route does not forward.
func (r *Route) Spread() map[string]float64 {
	if r.forward == nil {
		return nil
	}
	spread := map[string]float64{}
	for i, d := range r.forward.destinations {
		spread[d.Version()] += 100 * float64(r.forward.parts[i]) / float64(r.forward.total)
	}
	return spread
}
