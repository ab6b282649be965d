package gloo

import "fmt"

// Percent is the arithmetic of a forwardTo (RouteTable API reference, ForwardToAction.destinations): weights are percent
// and sum to 100; destinations that give none share what is left; 0 is the same as none; with one destination the weight
// does not matter.
type percent struct{}

// Unset returns 0, which is the same as none.
func (percent) Unset() int { return 0 }

// Owned returns the percent of the route that the entries that are mine hold: the weights they give and their equal part
// of what all given weights leave over. Weights that cannot sum to 100 are an error. With mend they are not, if every
// entry of others gives one: then mine own what those leave. Percent are percent, whatever a Rollout's shares are out of.
func (percent) Owned(weights []int, mine []bool, _ int, mend bool) (int, error) {
	if len(weights) == 1 && mine[0] {
		return 100, nil
	}
	givenByMine, withoutMine := 0, 0
	for i, weight := range weights {
		switch {
		case !mine[i]:
		case weight == 0:
			withoutMine++
		default:
			givenByMine += weight
		}
	}
	given, without, err := sums(weights)
	others := given - givenByMine
	switch {
	case err == nil && without == 0:
		return givenByMine, nil
	case err == nil:
		return givenByMine + (100-given)*withoutMine/without, nil
	case mend && without == withoutMine && others <= 100:
		return 100 - others, nil
	default:
		return 0, err
	}
}

// Effective returns the percent of the route's traffic that each entry gets.
func (percent) Effective(weights []int) ([]float64, error) {
	if len(weights) == 1 {
		return []float64{100}, nil
	}
	given, without, err := sums(weights)
	if err != nil {
		return nil, err
	}
	got := make([]float64, len(weights))
	for i, weight := range weights {
		if got[i] = float64(weight); weight == 0 {
			got[i] = float64(100-given) / float64(without)
		}
	}
	return got, nil
}

// sums returns what weights sum to and how many give none. It fails if they make no sense to Gloo.
func sums(weights []int) (given, without int, err error) {
	for _, weight := range weights {
		given += weight
		if weight == 0 {
			without++
		}
	}
	if given > 100 || given < 100 && without == 0 && len(weights) > 0 {
		err = fmt.Errorf("the weights of its %d destinations sum to %d; they must sum to 100", len(weights), given)
	}
	return given, without, err
}
