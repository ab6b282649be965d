package plugin

import (
	"sync"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// hashes remembers the pod hashes of each Rollout's two versions, which the controller tells by a call of their own before
// it sets a weight.
type hashes struct {
	mu    sync.Mutex
	byUID map[types.UID]versions
}

type versions struct{ stable, canary string }

// note remembers what the controller says of ro.
func (h *hashes) note(ro *v1alpha1.Rollout, v versions) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byUID == nil {
		h.byUID = map[types.UID]versions{}
	}
	h.byUID[ro.UID] = v
}

// of returns what the controller said last or, after a restart, what the Rollout's status says.
func (h *hashes) of(ro *v1alpha1.Rollout) versions {
	h.mu.Lock()
	defer h.mu.Unlock()
	if v, found := h.byUID[ro.UID]; found {
		return v
	}
	stable, canary := intent.StatusHashes(ro)
	return versions{stable, canary}
}
