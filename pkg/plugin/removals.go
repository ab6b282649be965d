package plugin

import (
	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"k8s.io/utils/lru"
)

// removals remembers at which version of each Rollout its managed routes were last removed. Calls with the same version
// belong to the same reconcile of the controller.
type removals struct{ versionOf *lru.Cache }

// note remembers that the managed routes of ro are being removed.
func (r *removals) note(ro *v1alpha1.Rollout) { r.versionOf.Add(ro.UID, ro.ResourceVersion) }

// justNow reports whether the managed routes of ro were removed in the present reconcile. If that was an earlier one, it
// is forgotten.
func (r *removals) justNow(ro *v1alpha1.Rollout) bool {
	version, found := r.versionOf.Get(ro.UID)
	if found && version != ro.ResourceVersion {
		r.versionOf.Remove(ro.UID)
	}
	return found && version == ro.ResourceVersion
}
