package gateway

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func replicaSet(name string, available int32, labels map[string]string) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{}
	rs.Name = name
	rs.Status.AvailableReplicas = available
	rs.Spec.Template.Labels = labels
	rs.Spec.Template.Spec.Containers = []corev1.Container{{Image: "image-of-" + name}}
	return rs
}

func TestPickVersionGoesByAvailablePods(t *testing.T) {
	all := []*appsv1.ReplicaSet{
		replicaSet("b", 3, map[string]string{"app": "web", "rollouts-pod-template-hash": "new"}),
		replicaSet("a", 1, map[string]string{"app": "web", "rollouts-pod-template-hash": "old"}),
		replicaSet("c", 0, map[string]string{"app": "web", "rollouts-pod-template-hash": "none"}),
		replicaSet("d", 9, map[string]string{"app": "other"}),
	}
	count := func(wanted map[string]string) map[Version]int {
		counts := map[Version]int{}
		total := 1
		for n := 0; n < total; n++ {
			v, found := pickVersion(all, wanted, func(of int) int { total = of; return n })
			if !found {
				return nil
			}
			counts[v]++
		}
		return counts
	}
	got := count(map[string]string{"app": "web"})
	if len(got) != 2 || got[Version{"new", "image-of-b"}] != 3 || got[Version{"old", "image-of-a"}] != 1 {
		t.Errorf("picked %v, want new 3 times and old once", got)
	}
	if got := count(map[string]string{"app": "other"}); got[Version{"d", "image-of-d"}] != 9 {
		t.Errorf("without a hash picked %v, want d", got)
	}
	if got := count(map[string]string{"app": "web", "rollouts-pod-template-hash": "none"}); got != nil {
		t.Errorf("without available pods picked %v", got)
	}
}
