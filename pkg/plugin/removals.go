package plugin

import (
	"sync"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
)

// removals remembers at which version of each Rollout its managed routes were last removed. Calls with the same version
// belong to the same reconcile of the controller.
type removals struct {
	mu        sync.Mutex
	versionOf map[types.UID]string
}

// note remembers that the managed routes of ro are being removed.
func (r *removals) note(ro *v1alpha1.Rollout) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.versionOf == nil {
		r.versionOf = map[types.UID]string{}
	}
	r.versionOf[ro.UID] = ro.ResourceVersion
}

// justNow reports whether the managed routes of ro were removed in the present reconcile. If that was an earlier one, it
// is forgotten.
func (r *removals) justNow(ro *v1alpha1.Rollout) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	version, found := r.versionOf[ro.UID]
	if found && version != ro.ResourceVersion {
		delete(r.versionOf, ro.UID)
	}
	return found && version == ro.ResourceVersion
}
