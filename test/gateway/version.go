package gateway

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// version is what answers for a destination.
type version struct {
	name  string // the pod-template-hash, or the name of a destination that is no Service
	image string
}

// resolve picks one of the pods that a destination reaches now, and returns its version. Without available pods it
// returns false.
func (g *Gateway) resolve(d Destination) (version, bool) {
	if d.Kind != KindService || d.Cluster != "" && d.Cluster != g.options.Cluster {
		return version{name: d.Name}, true
	}
	service := g.service(d.Namespace, d.Name)
	if service == nil || len(service.Spec.Selector) == 0 {
		return version{}, false
	}
	all, err := g.replicaSets.ReplicaSets(d.Namespace).List(labels.Everything())
	if err != nil {
		panic(err) // a cache's list does not fail
	}
	return pickVersion(all, labels.Merge(service.Spec.Selector, d.Subset), draw)
}

// pickVersion picks a pod among those with all of the labels, all with the same chance.
func pickVersion(replicaSets []*appsv1.ReplicaSet, wanted map[string]string, draw func(int) int) (version, bool) {
	selector := labels.SelectorFromSet(wanted)
	var chosen []*appsv1.ReplicaSet
	available := 0
	for _, rs := range replicaSets {
		if rs.Status.AvailableReplicas > 0 && selector.Matches(labels.Set(rs.Spec.Template.Labels)) {
			chosen = append(chosen, rs)
			available += int(rs.Status.AvailableReplicas)
		}
	}
	if available == 0 {
		return version{}, false
	}
	slices.SortFunc(chosen, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(a.Name, b.Name) })
	pod := draw(available)
	for _, rs := range chosen {
		if pod -= int(rs.Status.AvailableReplicas); pod < 0 {
			return versionOf(rs), true
		}
	}
	panic("draw is out of range")
}

func versionOf(rs *appsv1.ReplicaSet) version {
	template := rs.Spec.Template
	v := version{name: cmp.Or(template.Labels["rollouts-pod-template-hash"], template.Labels["pod-template-hash"], rs.Name)}
	if containers := template.Spec.Containers; len(containers) > 0 {
		v.image = containers[0].Image
	}
	return v
}
