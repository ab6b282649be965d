package plugin

import (
	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"k8s.io/utils/lru"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// hashes remembers the pod hashes of each Rollout's two versions, which the controller tells by a call of their own before
// it sets a weight.
type hashes struct{ byUID *lru.Cache }

type versions struct{ stable, canary string }

// note remembers what the controller says of ro.
func (h *hashes) note(ro *v1alpha1.Rollout, v versions) {
	h.byUID.Add(ro.UID, v)
}

// of returns what the controller said last or, after a restart, what the Rollout's status says.
func (h *hashes) of(ro *v1alpha1.Rollout) versions {
	if v, found := h.byUID.Get(ro.UID); found {
		return v.(versions)
	}
	stable, canary := intent.StatusHashes(ro)
	return versions{stable, canary}
}
