package testbed

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// EditRollout reads a Rollout, changes it and writes its spec and metadata, again on a conflict.
func (b *Bed) EditRollout(ctx context.Context, key client.ObjectKey, edit func(*v1alpha1.Rollout)) error {
	return retry.RetryOnConflict(Patience, func() error {
		rollout := &v1alpha1.Rollout{}
		if err := b.Client.Get(ctx, key, rollout); err != nil {
			return err
		}
		edit(rollout)
		return b.Client.Update(ctx, rollout)
	})
}

// SetImage gives the first container of a Rollout another image, which begins an update or rolls it back.
func (b *Bed) SetImage(ctx context.Context, key client.ObjectKey, image string) error {
	patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":%q}]`, image)
	return b.Client.Patch(ctx, rolloutAt(key), client.RawPatch(types.JSONPatchType, []byte(patch)))
}

// Promote ends the current pause, or skips the current step if it is no pause, as `kubectl argo rollouts promote` does.
func (b *Bed) Promote(ctx context.Context, key client.ObjectKey) error {
	rollout := &v1alpha1.Rollout{}
	if err := b.Client.Get(ctx, key, rollout); err != nil {
		return err
	}
	status := map[string]any{"pauseConditions": nil}
	if len(rollout.Status.PauseConditions) == 0 {
		status["currentStepIndex"] = nextStep(rollout)
	}
	return b.steer(ctx, rollout, status)
}

// PromoteFull skips all that is left of an update, as `kubectl argo rollouts promote --full` does.
func (b *Bed) PromoteFull(ctx context.Context, key client.ObjectKey) error {
	rollout := &v1alpha1.Rollout{}
	if err := b.Client.Get(ctx, key, rollout); err != nil {
		return err
	}
	if rollout.Status.CurrentPodHash == rollout.Status.StableRS {
		return b.steer(ctx, rollout, nil)
	}
	return b.steer(ctx, rollout, map[string]any{"promoteFull": true})
}

// Abort ends an update and goes back to the stable version.
func (b *Bed) Abort(ctx context.Context, key client.ObjectKey) error {
	return b.patchStatus(ctx, key, map[string]any{"abort": true})
}

// Retry begins an aborted update again.
func (b *Bed) Retry(ctx context.Context, key client.ObjectKey) error {
	return b.patchStatus(ctx, key, map[string]any{"abort": false})
}

// steer patches the status, if there is something to say, and lifts spec.paused.
func (b *Bed) steer(ctx context.Context, rollout *v1alpha1.Rollout, status map[string]any) error {
	key := client.ObjectKeyFromObject(rollout)
	if status != nil {
		if err := b.patchStatus(ctx, key, status); err != nil {
			return err
		}
	}
	if !rollout.Spec.Paused {
		return nil
	}
	return b.Client.Patch(ctx, rolloutAt(key), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"paused":false}}`)))
}

func (b *Bed) patchStatus(ctx context.Context, key client.ObjectKey, status map[string]any) error {
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	return b.Client.Status().Patch(ctx, rolloutAt(key), client.RawPatch(types.MergePatchType, patch))
}

func rolloutAt(key client.ObjectKey) *v1alpha1.Rollout {
	rollout := &v1alpha1.Rollout{}
	rollout.Namespace, rollout.Name = key.Namespace, key.Name
	return rollout
}

// nextStep is the index after the current step's, or the end.
func nextStep(rollout *v1alpha1.Rollout) int32 {
	var index int32
	if current := rollout.Status.CurrentStepIndex; current != nil {
		index = *current
	}
	if rollout.Spec.Strategy.Canary == nil {
		return index
	}
	return min(index+1, int32(len(rollout.Spec.Strategy.Canary.Steps)))
}
