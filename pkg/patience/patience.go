// Package patience waits between tries.
package patience

import (
	"context"
	"time"
)

// Wait waits for d, and reports whether ctx lasted. If its deadline comes before that, Wait does not wait at all: nothing could
// be done afterwards.
func Wait(ctx context.Context, d time.Duration) bool {
	if deadline, bound := ctx.Deadline(); bound && time.Until(deadline) <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
