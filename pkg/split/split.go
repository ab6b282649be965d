// Package split divides whole units of traffic among shares. It is arithmetic only: it knows neither routes nor Rollouts.
package split

import (
	"errors"
	"fmt"
	"math"
)

// ErrTooSmall says that there is less to divide than there are shares above zero, so that one of them would get nothing.
var ErrTooSmall = errors.New("too little to divide")

// Divide splits owned, the weight on one route that belongs to the rollout, such as percent, in proportion to shares. The
// result has one whole number per share and sums to owned; what rounding leaves goes to the largest remainders, ties to the
// earlier share. A share above zero gets at least 1 and a share of zero gets 0.
//
// Divide fails if owned is outside 0..2147483647, a share is negative or no share is above zero: any answer would then be
// a guess. It fails with [ErrTooSmall] if owned has not enough to give each share above zero its 1.
func Divide(owned int, shares []int) ([]int, error) {
	total, positive, err := sum(shares)
	switch {
	case err != nil:
		return nil, err
	case owned < 0 || owned > math.MaxInt32:
		return nil, fmt.Errorf("%d to divide: want 0 to %d", owned, math.MaxInt32)
	case total == 0:
		return nil, fmt.Errorf("shares %v: none is above zero", shares)
	case owned < positive:
		return nil, fmt.Errorf("%w: %d among %d shares", ErrTooSmall, owned, positive)
	}

	parts := make([]int, len(shares))
	remainders := make([]int64, len(shares))
	left := owned
	for i, share := range shares {
		exact := int64(owned) * int64(share)
		parts[i] = int(exact / total)
		remainders[i] = exact % total
		if parts[i] == 0 && share > 0 { // rounded up already, so it has no claim on what is left
			parts[i], remainders[i] = 1, -1
		}
		left -= parts[i]
	}
	for ; left > 0; left-- {
		i := largest(remainders)
		parts[i]++
		remainders[i] = -1
	}
	for ; left < 0; left++ { // the ones that were rounded up are paid for by the largest parts
		parts[largest(parts)]--
	}
	return parts, nil
}

// sum returns the sum of shares and how many of them are above zero.
func sum(shares []int) (total int64, positive int, err error) {
	for _, share := range shares {
		if share < 0 || share > math.MaxInt32 {
			return 0, 0, fmt.Errorf("share %d: want 0 to %d", share, math.MaxInt32)
		}
		if share > 0 {
			positive++
		}
		total += int64(share)
	}
	return total, positive, nil
}

// largest returns the index of the largest value, the first one on a tie.
func largest[T int | int64](values []T) int {
	best := 0
	for i, v := range values {
		if v > values[best] {
			best = i
		}
	}
	return best
}
