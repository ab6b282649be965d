// Package restore puts the tables of a Rollout at rest when a person asks for it.
package restore

import (
	"fmt"
	"slices"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/utils/weightutil"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Plugin is what has to be known of the plugin to understand a Rollout as it does.
type Plugin struct {
	// Names are those under which its block may stand.
	Names  []string
	Bounds intent.Bounds
	// Targets returns the objects that a Rollout's block selects.
	Targets func(*v1alpha1.Rollout, *config.Config) ([]engine.Target, error)
}

// Understand decodes a Rollout's block, and returns it with what it and the Rollout at rest want, and the objects that it
// selects. With an error, which begins with the block's name, there is as much as could be understood.
func (p Plugin) Understand(ro *v1alpha1.Rollout) (block *config.Config, in intent.Intent, targets []engine.Target, err error) {
	name, block, err := config.Of(ro, p.Names...)
	if err != nil {
		return block, in, nil, err
	}
	if in, err = intent.Of(ro, block, p.Bounds, 0, nil); err == nil {
		targets, err = p.Targets(ro, block)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return block, in, targets, err
}

// Wanted returns what a Rollout at rest wants, and the objects that it selects. One whose block makes no sense to the plugin
// is one that is gone: what is left of it is all that is wanted away, and misfit says why.
func (p Plugin) Wanted(ro *v1alpha1.Rollout) (in intent.Intent, targets []engine.Target, misfit error) {
	_, in, targets, err := p.Understand(ro)
	if err != nil {
		return intent.OfGone(ro.Namespace, ro.Name, p.Bounds.Cluster), nil, err
	}
	return in.WithHashes(intent.StatusHashes(ro)), targets, nil
}

// UnderWay returns what a Rollout does that makes its controller move weight, such as "releasing a new version"; empty: nothing.
func UnderWay(ro *v1alpha1.Rollout) string {
	weights := ro.Status.Canary.Weights
	switch status := ro.Status; {
	case ro.Spec.Strategy.Canary == nil: // whose controller calls no traffic router
		return ""
	case weights != nil && weights.Canary.Weight > 0:
		return fmt.Sprintf("sending %d parts of %d of its traffic to the canary", weights.Canary.Weight, weightutil.MaxTrafficWeight(ro))
	case weights != nil && slices.ContainsFunc(weights.Additional, func(w v1alpha1.WeightDestination) bool { return w.Weight > 0 }):
		return "sending traffic to an experiment"
	case status.StableRS != "" && status.StableRS != status.CurrentPodHash && !status.Abort:
		return "releasing a new version"
	default:
		return ""
	}
}
