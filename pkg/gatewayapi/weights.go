package gatewayapi

import "fmt"

// maxWeight is the largest weight that a backendRef may have (Gateway API reference, BackendRef.weight).
const maxWeight = 1_000_000

// relative is the arithmetic of backendRefs (Gateway API reference, BackendRef.weight): a backend gets its weight's part of
// the sum of all weights in its rule; one that gives none counts as 1, and 0 gets nothing.
type relative struct{}

// Unset returns 1.
func (relative) Unset() int { return 1 }

// Owned returns maxShare, so that weights are what the Rollout's steps say, or as much of it as a weight may be. What others
// hold does not matter: their weights stay, and so does what they are to each other.
func (relative) Owned(_ []int, _ []bool, maxShare int, _ bool) (int, error) {
	return min(maxShare, maxWeight), nil
}

// Effective returns the weights themselves. It fails if one is outside of what a weight may be.
func (relative) Effective(weights []int) ([]float64, error) {
	got := make([]float64, len(weights))
	for i, weight := range weights {
		if err := checkWeight(weight); err != nil {
			return nil, err
		}
		got[i] = float64(weight)
	}
	return got, nil
}

func checkWeight(weight int) error {
	if weight < 0 || weight > maxWeight {
		return fmt.Errorf("weight is %d, want 0 to %d", weight, maxWeight)
	}
	return nil
}
