package gatewayapi_test

import (
	"slices"
	"testing"
)

func TestOwned(t *testing.T) {
	for maxShare, want := range map[int]int{1: 1, 100: 100, 1_000_000: 1_000_000, 1_000_001: 1_000_000, 2147483647: 1_000_000} {
		if got, err := http.Owned([]int{3, 1}, []bool{true, false}, maxShare, false); err != nil || got != want {
			t.Errorf("of shares out of %d the entries hold %d, %v; want %d", maxShare, got, err, want)
		}
	}
}

func TestEffective(t *testing.T) {
	for _, weights := range [][]int{{}, {0}, {1, 1}, {0, 1_000_000}} {
		want := make([]float64, len(weights))
		for i, weight := range weights {
			want[i] = float64(weight)
		}
		if got, err := http.Effective(weights); err != nil || !slices.Equal(got, want) {
			t.Errorf("Effective(%v) = %v, %v; want %v", weights, got, err, want)
		}
	}
	for _, weights := range [][]int{{-1, 1}, {1_000_001}} {
		if got, err := http.Effective(weights); err == nil {
			t.Errorf("Effective(%v) = %v, want an error", weights, got)
		}
	}
}
