package testbed

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
)

// Condition is something to wait for.
type Condition struct {
	Name string // completes "waited in vain for"
	Met  func(*v1alpha1.Rollout) bool
}

// observed reports whether the controller has seen the latest spec.
func observed(ro *v1alpha1.Rollout) bool {
	return ro.Status.ObservedGeneration == strconv.FormatInt(ro.Generation, 10)
}

func phase(want v1alpha1.RolloutPhase) Condition {
	return Condition{"phase " + string(want), func(ro *v1alpha1.Rollout) bool {
		return observed(ro) && ro.Status.Phase == want
	}}
}

var (
	// Healthy is met when the latest spec is fully promoted and available.
	Healthy = phase(v1alpha1.RolloutPhaseHealthy)
	// Degraded is met when the latest spec was aborted, makes no progress or is invalid.
	Degraded = phase(v1alpha1.RolloutPhaseDegraded)
	// Progressing is met while the latest spec is being rolled out.
	Progressing = phase(v1alpha1.RolloutPhaseProgressing)
	// Paused is met at any pause.
	Paused = phase(v1alpha1.RolloutPhasePaused)
	// Aborted is met once the update is marked as aborted, whatever the pods do.
	Aborted = Condition{"abort", func(ro *v1alpha1.Rollout) bool { return observed(ro) && ro.Status.Abort }}
	// Updating is met when the latest spec makes a revision other than the stable one.
	Updating = Condition{"an update", func(ro *v1alpha1.Rollout) bool {
		return observed(ro) && ro.Status.CurrentPodHash != "" && ro.Status.CurrentPodHash != ro.Status.StableRS
	}}
)

// AtStep is met when the step with this index, from 0, is the current one. The number of steps is the index of the end.
func AtStep(index int32) Condition {
	return Condition{fmt.Sprintf("step %d", index), func(ro *v1alpha1.Rollout) bool {
		return observed(ro) && ro.Status.CurrentStepIndex != nil && *ro.Status.CurrentStepIndex == index
	}}
}

// PausedAt is met when the Rollout rests at the pause step with this index, from 0. Steps before it have been verified.
func PausedAt(index int32) Condition {
	at := AtStep(index)
	return Condition{fmt.Sprintf("a pause at step %d", index), func(ro *v1alpha1.Rollout) bool {
		return at.Met(ro) && ro.Status.Phase == v1alpha1.RolloutPhasePaused && len(ro.Status.PauseConditions) > 0
	}}
}

// CanaryWeight is met when the controller has asked for this weight of the canary.
func CanaryWeight(weight int32) Condition {
	return Condition{fmt.Sprintf("canary weight %d", weight), func(ro *v1alpha1.Rollout) bool {
		w := ro.Status.Canary.Weights
		return observed(ro) && w != nil && w.Canary.Weight == weight
	}}
}

// MessageContains is met when the Rollout's message holds text.
func MessageContains(text string) Condition {
	return Condition{fmt.Sprintf("a message with %q", text), func(ro *v1alpha1.Rollout) bool {
		return strings.Contains(ro.Status.Message, text)
	}}
}

func met(ro *v1alpha1.Rollout, conditions []Condition) bool {
	for _, c := range conditions {
		if !c.Met(ro) {
			return false
		}
	}
	return true
}

func names(conditions []Condition) string {
	var list []string
	for _, c := range conditions {
		list = append(list, c.Name)
	}
	return strings.Join(list, " and ")
}
