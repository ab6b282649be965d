package split_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/split"
)

func TestDivide(t *testing.T) {
	for _, tt := range []struct {
		name         string
		owned        int
		shares, want []int // stable, canary, experiments
	}{
		{"all to stable", 100, []int{100, 0}, []int{100, 0}},
		{"all to canary", 100, []int{0, 100}, []int{0, 100}},
		{"others hold 40", 60, []int{90, 10}, []int{54, 6}},
		{"out of a thousand", 100, []int{995, 5}, []int{99, 1}},
		{"one in a thousand gets one", 20, []int{999, 1}, []int{19, 1}},
		{"one in a thousand is left to stable", 100, []int{1, 999}, []int{1, 99}},
		{"a tie goes to the earlier share", 3, []int{1, 1}, []int{2, 1}},
		{"largest remainder", 10, []int{34, 33, 33}, []int{4, 3, 3}},
		{"small shares are paid for by the largest", 4, []int{9997, 1, 1, 1}, []int{1, 1, 1, 1}},
		{"one percent, one share", 1, []int{7, 0}, []int{1, 0}},
		{"shares as large as an int32", 100, []int{2147483647, 2147483647}, []int{50, 50}},
		{"finer than percent", 1_000_000, []int{999_999, 1}, []int{999_999, 1}},
		{"as much as an int32 of shares as large", 2147483647, []int{2147483647, 2147483647}, []int{1073741824, 1073741823}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := split.Divide(tt.owned, tt.shares)
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("Divide(%d, %v) = %v, %v; want %v", tt.owned, tt.shares, got, err, tt.want)
			}
		})
	}
}

func TestDivideRefuses(t *testing.T) {
	for _, tt := range []struct {
		name     string
		owned    int
		shares   []int
		tooSmall bool
	}{
		{"more than an int32", 2147483648, []int{1}, false},
		{"less than nothing", -1, []int{1}, false},
		{"a negative share", 100, []int{101, -1}, false},
		{"no share above zero", 100, []int{0, 0}, false},
		{"no shares", 100, nil, false},
		{"one percent for two", 1, []int{90, 10}, true},
		{"nothing for one", 0, []int{0, 100}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := split.Divide(tt.owned, tt.shares)
			if err == nil || errors.Is(err, split.ErrTooSmall) != tt.tooSmall {
				t.Errorf("Divide(%d, %v) = %v, %v; want an error, ErrTooSmall: %v", tt.owned, tt.shares, got, err, tt.tooSmall)
			}
		})
	}
}

func TestDivideIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := rapid.SliceOfN(rapid.IntRange(0, 1000), 1, 5).Draw(t, "shares")
		owned := rapid.IntRange(len(shares), 100).Draw(t, "owned")
		total := 0
		for _, share := range shares {
			total += share
		}
		if total == 0 {
			t.Skip("no share above zero")
		}
		parts, err := split.Divide(owned, shares)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for i, part := range parts {
			sum += part
			exact := float64(owned) * float64(shares[i]) / float64(total)
			if (part > 0) != (shares[i] > 0) {
				t.Errorf("share %d of %d gets %d of %d", shares[i], total, part, owned)
			}
			if len(shares) == 2 && (float64(part) < exact-1 || float64(part) > exact+1) {
				t.Errorf("share %d of %d gets %d of %d, not within one of %.2f", shares[i], total, part, owned, exact)
			}
		}
		if sum != owned {
			t.Errorf("Divide(%d, %v) = %v, sums to %d", owned, shares, parts, sum)
		}
	})
}
