package gloo_test

import (
	"slices"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
)

func TestOwned(t *testing.T) {
	for _, tt := range []struct {
		name    string
		weights []int
		mine    []bool
		mend    bool
		want    int
	}{
		{"alone, whatever it gives", []int{30}, []bool{true}, false, 100},
		{"alone, giving none", []int{0}, []bool{true}, false, 100},
		{"what it gives", []int{60, 40}, []bool{true, false}, false, 60},
		{"what others leave", []int{0, 40}, []bool{true, false}, false, 60},
		{"its part of what is left", []int{20, 0, 0}, []bool{false, true, false}, false, 40},
		{"an odd part is rounded down", []int{0, 0, 0}, []bool{true, false, false}, false, 33},
		{"both parts", []int{0, 0, 50}, []bool{true, true, false}, false, 50},
		{"nothing is left", []int{0, 100}, []bool{true, false}, false, 0},
		{"in the middle of a release others took less", []int{35, 35, 20}, []bool{true, true, false}, true, 80},
		{"in the middle of a release others took more", []int{35, 35, 50}, []bool{true, true, false}, true, 50},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := gloo.RouteTables{}.Owned(tt.weights, tt.mine, 100, tt.mend)
			if err != nil || got != tt.want {
				t.Errorf("Owned(%v, %v, %v) = %d, %v; want %d", tt.weights, tt.mine, tt.mend, got, err, tt.want)
			}
		})
	}
}

func TestOwnedRefuses(t *testing.T) {
	for _, tt := range []struct {
		name    string
		weights []int
		mine    []bool
		mend    bool
		want    string
	}{
		{"30", []int{20, 10}, []bool{true, false}, false, "the weights of its 2 destinations sum to 30; they must sum to 100"},
		{"250", []int{200, 50}, []bool{true, false}, false, "the weights of its 2 destinations sum to 250; they must sum to 100"},
		{"others alone hold more than all", []int{35, 35, 120}, []bool{true, true, false}, true, "the weights of its 3 destinations sum to 190; they must sum to 100"},
		{"others give none", []int{60, 60, 0}, []bool{true, true, false}, true, "the weights of its 3 destinations sum to 120; they must sum to 100"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := gloo.RouteTables{}.Owned(tt.weights, tt.mine, 100, tt.mend)
			if err == nil || err.Error() != tt.want {
				t.Errorf("Owned(%v, %v, %v) = %d, %v; want %s", tt.weights, tt.mine, tt.mend, got, err, tt.want)
			}
		})
	}
}

func TestEffective(t *testing.T) {
	for _, tt := range []struct {
		name    string
		weights []int
		want    []float64
	}{
		{"alone", []int{7}, []float64{100}},
		{"as given", []int{50, 25, 25}, []float64{50, 25, 25}},
		{"the rest to the one without", []int{50, 25, 0}, []float64{50, 25, 25}},
		{"the rest in equal parts", []int{40, 0, 0}, []float64{40, 30, 30}},
		{"all to the first", []int{100, 0}, []float64{100, 0}},
		{"none given", []int{0, 0, 0, 0}, []float64{25, 25, 25, 25}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := gloo.RouteTables{}.Effective(tt.weights)
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("Effective(%v) = %v, %v; want %v", tt.weights, got, err, tt.want)
			}
		})
	}
	for _, weights := range [][]int{{20, 10}, {200, 50}, {}} {
		if got, err := (gloo.RouteTables{}).Effective(weights); err == nil && len(got) > 0 {
			t.Errorf("Effective(%v) = %v, want an error", weights, got)
		}
	}
}
