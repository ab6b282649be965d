package kube

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/util/flowcontrol"
)

// Limits are how many requests this process allows itself at each API server: a second on average, and at once.
type Limits struct {
	QPS   float32
	Burst int
}

// DefaultLimits do not hold up the writes of a cluster with a thousand Rollouts. With client-go's own, 5 and 10, fifty tables
// would take ten seconds.
var DefaultLimits = Limits{QPS: 200, Burst: 400}

// errLimit says that a request was not sent in time, for the process's own limits.
var errLimit = errors.New("too many requests of this process")

// limiter is client-go's, with an error that can be told from others.
type limiter struct{ flowcontrol.RateLimiter }

func newLimiter(limits Limits) limiter {
	return limiter{flowcontrol.NewTokenBucketRateLimiter(limits.QPS, limits.Burst)}
}

// Wait is part of flowcontrol.RateLimiter.
func (l limiter) Wait(ctx context.Context) error {
	err := l.RateLimiter.Wait(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %w", errLimit, err)
	}
	return err
}
