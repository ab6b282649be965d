package testbed

import (
	"context"
	"fmt"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	pollInterval = 50 * time.Millisecond
	// DefaultTimeout is how long waiting takes at most if the context sets no deadline. It is for busy machines: what is
	// waited for takes a second or two on an idle one.
	DefaultTimeout = 2 * time.Minute
)

// Patience is how often, and how long apart, a write is tried again that others were in the way of: some twenty seconds
// in all.
var Patience = wait.Backoff{Steps: 80, Duration: 20 * time.Millisecond, Factor: 1.05, Jitter: 0.5}

// poll calls done until it says true or fails, or ctx ends.
func poll(ctx context.Context, done func() (bool, error)) error {
	for {
		ok, err := done()
		if err != nil || ok {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}

// withTimeout gives ctx the default deadline if it has none.
func withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, found := ctx.Deadline(); found {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, DefaultTimeout)
}

// reportContext outlives ctx, which may have ended, for long enough to say why.
func reportContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
}

// WaitUntil waits for something other than a Rollout; what names it in the error. It gives up after DefaultTimeout unless
// ctx has a deadline. The last error of met, which does not end the waiting, is part of the error.
func (b *Bed) WaitUntil(ctx context.Context, what string, met func(context.Context) (bool, error)) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	var last error
	err := poll(ctx, func() (bool, error) {
		ok, err := met(ctx)
		if err != nil && ctx.Err() == nil {
			last = err
		}
		return ok && err == nil, nil
	})
	switch {
	case err != nil && last != nil:
		return fmt.Errorf("waited in vain for %s: %w; last seen: %w", what, err, last)
	case err != nil:
		return fmt.Errorf("waited in vain for %s: %w", what, err)
	default:
		return nil
	}
}

// WaitFor waits until one state of the Rollout meets all conditions, and returns that state. It gives up after
// DefaultTimeout unless ctx has a deadline; the error then shows the Rollout's status, its events and the end of the
// controller's log.
func (b *Bed) WaitFor(ctx context.Context, key client.ObjectKey, conditions ...Condition) (*v1alpha1.Rollout, error) {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	rollout := &v1alpha1.Rollout{}
	err := poll(ctx, func() (bool, error) {
		if err := b.Client.Get(ctx, key, rollout); err != nil {
			return false, err
		}
		return met(rollout, conditions), nil
	})
	if err != nil {
		report, cancel := reportContext(ctx)
		defer cancel()
		return nil, fmt.Errorf("Rollout %s: waited in vain for %s: %w\n%s", key, names(conditions), err, b.Describe(report, key))
	}
	return rollout, nil
}
