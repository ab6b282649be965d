package gateway

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// Version is what answers for a destination.
type Version struct {
	Name  string // the pod-template-hash, or the name of a destination that is no Service
	Image string
}

// resolve picks one of the pods that a destination reaches now, and returns its version. Without available pods it
// returns false.
func (g *Gateway) resolve(d Destination) (Version, bool) {
	if d.Kind != KindService || d.Cluster != "" && d.Cluster != g.options.Cluster {
		return Version{Name: d.Name}, true
	}
	return g.pods.Reach(d.Namespace, d.Name, d.Subset)
}

// Pods know the pods of a cluster by its Services and ReplicaSets.
type Pods struct {
	Services    corelisters.ServiceLister
	ReplicaSets appslisters.ReplicaSetLister
}

// Service is a Service. Nil stands for not found; a cache knows no other error.
func (p Pods) Service(namespace, name string) *corev1.Service {
	service, err := p.Services.Services(namespace).Get(name)
	if err != nil {
		return nil
	}
	return service
}

// Reach picks one of the available pods that a Service selects, and that carry the labels of a subset, and returns its
// version. Without any it returns false.
func (p Pods) Reach(namespace, service string, subset map[string]string) (Version, bool) {
	s := p.Service(namespace, service)
	if s == nil || len(s.Spec.Selector) == 0 {
		return Version{}, false
	}
	all, err := p.ReplicaSets.ReplicaSets(namespace).List(labels.Everything())
	if err != nil {
		panic(err) // a cache's list does not fail
	}
	return pickVersion(all, labels.Merge(s.Spec.Selector, subset), draw)
}

// pickVersion picks a pod among those with all of the labels, all with the same chance.
func pickVersion(replicaSets []*appsv1.ReplicaSet, wanted map[string]string, draw func(int) int) (Version, bool) {
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
		return Version{}, false
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

func versionOf(rs *appsv1.ReplicaSet) Version {
	template := rs.Spec.Template
	v := Version{Name: cmp.Or(template.Labels["rollouts-pod-template-hash"], template.Labels["pod-template-hash"], rs.Name)}
	if containers := template.Spec.Containers; len(containers) > 0 {
		v.Image = containers[0].Image
	}
	return v
}
