package testbed

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// PodsOf selects the pods of some ReplicaSets. An empty field selects all.
type PodsOf struct {
	Namespace string
	Image     string // of any container, as written in the template
	Hash      string // the value of the label rollouts-pod-template-hash
}

func (s PodsOf) selects(rs *appsv1.ReplicaSet) bool {
	return (s.Namespace == "" || s.Namespace == rs.Namespace) &&
		(s.Hash == "" || s.Hash == rs.Labels["rollouts-pod-template-hash"]) &&
		(s.Image == "" || slices.Contains(images(rs), s.Image))
}

// PodState is how pods behave. The zero value is the default: they exist and are available as soon as they are wanted.
type PodState struct {
	// Delay passes before pods that are newly wanted become ready. Those that were ready before stay so.
	Delay time.Duration
	// MaxReady is how many of a ReplicaSet's pods become ready at most. Nil: all.
	MaxReady *int32
	// Gone means that pods are never created, for want of quota for instance.
	Gone bool
}

// Unready are pods that exist and never become ready.
func Unready() PodState { return AtMost(0) }

// AtMost are pods of which n become ready.
func AtMost(n int32) PodState { return PodState{MaxReady: &n} }

// Slow are pods that take a while to become ready.
func Slow(delay time.Duration) PodState { return PodState{Delay: delay} }

// Gone are pods that never come into being.
func Gone() PodState { return PodState{Gone: true} }

// Pods stands in for the pods of a cluster: it watches ReplicaSets and writes their status as if pods ran.
type Pods struct {
	client kubernetes.Interface
	lister listers.ReplicaSetLister
	queue  workqueue.TypedRateLimitingInterface[cache.ObjectName]
	cancel context.CancelFunc
	wait   sync.WaitGroup

	mu     sync.Mutex
	rules  []*podRule // the last one that selects a ReplicaSet counts
	wanted map[types.UID]wanted
}

type podRule struct {
	of    PodsOf
	state PodState
}

// wanted is since when a ReplicaSet wants that many pods.
type wanted struct {
	replicas int32
	since    time.Time
}

func startPods(ctx context.Context, client kubernetes.Interface) (*Pods, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	replicaSets := factory.Apps().V1().ReplicaSets()
	p := &Pods{
		client: client,
		lister: replicaSets.Lister(),
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
		wanted: map[types.UID]wanted{},
	}
	enqueue := func(obj any) {
		if rs, ok := obj.(*appsv1.ReplicaSet); ok {
			p.queue.Add(cache.MetaObjectToName(rs))
		}
	}
	if _, err := replicaSets.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, obj any) { enqueue(obj) },
	}); err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel = func() { cancel(); p.queue.ShutDown(); factory.Shutdown() }
	factory.Start(running.Done())
	if !cache.WaitForCacheSync(ctx.Done(), replicaSets.Informer().HasSynced) {
		p.cancel()
		return nil, fmt.Errorf("ReplicaSets: %w", context.Cause(ctx))
	}
	p.wait.Go(func() { p.work(running) })
	return p, nil
}

func (p *Pods) stop() {
	p.cancel()
	p.wait.Wait()
}

// Set makes the selected pods, those of later ReplicaSets included, behave as state says until undo is called. It returns
// before their status shows it.
func (p *Pods) Set(of PodsOf, state PodState) (undo func()) {
	rule := &podRule{of, state}
	p.mu.Lock()
	p.rules = append(p.rules, rule)
	p.mu.Unlock()
	p.enqueueAll()
	return func() {
		p.mu.Lock()
		p.rules = slices.DeleteFunc(p.rules, func(r *podRule) bool { return r == rule })
		p.mu.Unlock()
		p.enqueueAll()
	}
}

func (p *Pods) enqueueAll() {
	all, err := p.lister.List(labels.Everything())
	if err != nil {
		panic(err) // a cache's list does not fail
	}
	for _, rs := range all {
		p.queue.Add(cache.MetaObjectToName(rs))
	}
}

func (p *Pods) work(ctx context.Context) {
	for {
		name, shutdown := p.queue.Get()
		if shutdown {
			return
		}
		again, err := p.reconcile(ctx, name)
		switch {
		case err != nil:
			p.queue.AddRateLimited(name)
		case again > 0:
			p.queue.AddAfter(name, again)
		default:
			p.queue.Forget(name)
		}
		p.queue.Done(name)
	}
}

// reconcile writes a ReplicaSet's status and returns when to look again, if at all.
func (p *Pods) reconcile(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
	rs, err := p.lister.ReplicaSets(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	state, since := p.state(rs, time.Now())
	status, again := podStatus(rs, state, time.Since(since))
	if status.Replicas == rs.Status.Replicas && status.ReadyReplicas == rs.Status.ReadyReplicas &&
		status.AvailableReplicas == rs.Status.AvailableReplicas && status.ObservedGeneration == rs.Status.ObservedGeneration {
		return again, nil
	}
	rs = rs.DeepCopy()
	rs.Status = status
	_, err = p.client.AppsV1().ReplicaSets(rs.Namespace).UpdateStatus(ctx, rs, metav1.UpdateOptions{})
	return again, err
}

// state returns how the ReplicaSet's pods behave, and since when it has wanted as many.
func (p *Pods) state(rs *appsv1.ReplicaSet, now time.Time) (PodState, time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, found := p.wanted[rs.UID]
	if !found || w.replicas != replicas(rs) {
		w = wanted{replicas(rs), now}
		p.wanted[rs.UID] = w
	}
	for _, rule := range slices.Backward(p.rules) {
		if rule.of.selects(rs) {
			return rule.state, w.since
		}
	}
	return PodState{}, w.since
}

// podStatus is the status that a ReplicaSet has once it has wanted as many pods for a while, and after which time it
// will be another one by itself, or zero.
func podStatus(rs *appsv1.ReplicaSet, state PodState, waited time.Duration) (appsv1.ReplicaSetStatus, time.Duration) {
	status := *rs.Status.DeepCopy()
	status.ObservedGeneration = rs.Generation
	status.Replicas = replicas(rs)
	if state.Gone {
		status.Replicas = 0
	}
	ready := status.Replicas
	if state.MaxReady != nil {
		ready = min(ready, *state.MaxReady)
	}
	var again time.Duration
	if waited < state.Delay {
		if kept := min(ready, rs.Status.ReadyReplicas); kept < ready {
			ready, again = kept, state.Delay-waited
		}
	}
	status.ReadyReplicas, status.AvailableReplicas, status.FullyLabeledReplicas = ready, ready, status.Replicas
	return status, again
}

func replicas(rs *appsv1.ReplicaSet) int32 {
	if rs.Spec.Replicas == nil {
		return 1
	}
	return *rs.Spec.Replicas
}

func images(rs *appsv1.ReplicaSet) []string {
	var list []string
	for _, c := range rs.Spec.Template.Spec.Containers {
		list = append(list, c.Image)
	}
	return list
}
