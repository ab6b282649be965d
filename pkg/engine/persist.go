package engine

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/patience"
)

// pauses are those before an object that others change at the same time is planned on afresh.
var pauses = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 1.5, Jitter: 0.5, Steps: 20, Cap: time.Second}

// persist does something, and again as long as it ends in a conflict and ctx leaves time. It returns how often it did it.
func persist(ctx context.Context, do func() error) (times int, err error) {
	pause := pauses
	for {
		times++
		if err = do(); !apierrors.IsConflict(err) || !patience.Wait(ctx, pause.Step()) {
			return times, err
		}
	}
}
