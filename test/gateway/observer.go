package gateway

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// observer is the control plane: it takes objects up after the delay, judges them, writes their status and says what is
// served.
type observer struct {
	gateway *Gateway
	queue   workqueue.TypedRateLimitingInterface[objectKey]

	mu      sync.Mutex
	objects map[objectKey]*observed
	forced  map[objectKey]*Verdict
}

// objectKey names an object that the control plane looks at.
type objectKey struct {
	resource resource
	cache.ObjectName
}

// observed is what the control plane knows of one object.
type observed struct {
	seen     []seen                     // not yet taken up, in order
	object   *unstructured.Unstructured // as last taken up; nil before, and once it is deleted
	accepted *Table                     // the last one without faults
	table    *Table                     // as served
	policy   *Policy                    // as served
}

// seen is a state of an object that is taken up when it is due.
type seen struct {
	object *unstructured.Unstructured // nil: deleted
	due    time.Time
}

func newObserver(g *Gateway) *observer {
	return &observer{
		gateway: g,
		queue:   workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[objectKey]()),
		objects: map[objectKey]*observed{},
		forced:  map[objectKey]*Verdict{},
	}
}

// handlerOf notes every state of an object but those that differ in their status only.
func (o *observer) handlerOf(r resource) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { o.see(r, obj.(*unstructured.Unstructured), false) },
		UpdateFunc: func(old, obj any) {
			before, now := old.(*unstructured.Unstructured), obj.(*unstructured.Unstructured)
			if before.GetGeneration() != now.GetGeneration() || before.GetUID() != now.GetUID() ||
				!maps.Equal(before.GetLabels(), now.GetLabels()) {
				o.see(r, now, false)
			}
		},
		DeleteFunc: func(obj any) {
			if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			o.see(r, obj.(*unstructured.Unstructured), true)
		},
	}
}

// serviceHandler judges everything again: a Service that came or went may turn a verdict.
func (o *observer) serviceHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { o.enqueueAll() },
		UpdateFunc: func(old, obj any) {
			if !slices.Equal(old.(*corev1.Service).Spec.Ports, obj.(*corev1.Service).Spec.Ports) {
				o.enqueueAll()
			}
		},
		DeleteFunc: func(any) { o.enqueueAll() },
	}
}

func (o *observer) enqueueAll() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key := range o.objects {
		o.queue.Add(key)
	}
}

func (o *observer) see(r resource, obj *unstructured.Unstructured, deleted bool) {
	key, delay := objectKey{r, cache.MetaObjectToName(obj)}, time.Duration(o.gateway.delay.Load())
	if deleted {
		obj = nil
	}
	o.mu.Lock()
	if o.objects[key] == nil {
		o.objects[key] = &observed{}
	}
	o.objects[key].seen = append(o.objects[key].seen, seen{obj, time.Now().Add(delay)})
	o.mu.Unlock()
	o.queue.AddAfter(key, delay)
}

// force sets a verdict until undo is called.
func (o *observer) force(key objectKey, v Verdict) (undo func()) {
	forced := &v
	o.mu.Lock()
	o.forced[key] = forced
	o.mu.Unlock()
	o.queue.Add(key)
	return func() {
		o.mu.Lock()
		if o.forced[key] == forced {
			delete(o.forced, key)
		}
		o.mu.Unlock()
		o.queue.Add(key)
	}
}

func (o *observer) run(ctx context.Context) {
	for {
		key, shutdown := o.queue.Get()
		if shutdown {
			return
		}
		again, err := o.observe(ctx, key, time.Now())
		switch {
		case err != nil:
			o.queue.AddRateLimited(key)
		default:
			o.queue.Forget(key)
			if again > 0 {
				o.queue.AddAfter(key, again)
			}
		}
		o.queue.Done(key)
	}
}

// observe takes up what is due of an object, judges it, serves what follows, and writes its status, in this order: what is
// reported as accepted is served. It returns when the next state is due, or zero.
func (o *observer) observe(ctx context.Context, key objectKey, now time.Time) (time.Duration, error) {
	o.mu.Lock()
	known := o.objects[key]
	if known == nil {
		o.mu.Unlock()
		return 0, nil
	}
	again := known.takeUp(now)
	verdict := o.judge(key, known)
	o.publish()
	object := known.object
	o.mu.Unlock()
	if object == nil || verdict.Silent {
		return again, nil
	}
	return again, o.write(ctx, key.resource, object, verdict)
}

// takeUp makes the last state that is due the current one. It returns after which time the next one is due, or zero.
func (t *observed) takeUp(now time.Time) time.Duration {
	for len(t.seen) > 0 {
		if wait := t.seen[0].due.Sub(now); wait > 0 {
			return wait
		}
		t.object, t.seen = t.seen[0].object, t.seen[1:]
	}
	return 0
}

// judge decides what an object is worth and what is served of it.
func (o *observer) judge(key objectKey, known *observed) Verdict {
	switch {
	case known.object == nil:
		*known = observed{seen: known.seen}
		return Verdict{Silent: true}
	case key.resource == mirrorPolicies:
		return o.judgePolicy(known)
	default:
		return o.judgeTable(key, known)
	}
}

// judgePolicy has no regard for verdicts that were forced.
func (o *observer) judgePolicy(known *observed) Verdict {
	policy, err := DecodePolicy(known.object)
	if err == nil {
		err = Services(o.gateway.pods.Service).verify(policy.Destination, o.gateway.options.Cluster)
	}
	if err != nil {
		known.policy = nil
		return Verdict{Approval: Invalid, Message: err.Error()}
	}
	known.policy = policy
	return Verdict{Approval: Accepted}
}

func (o *observer) judgeTable(key objectKey, t *observed) Verdict {
	verdict := Verdict{Approval: Accepted}
	table, err := Decode(t.object)
	switch {
	case err != nil:
		verdict = Verdict{Approval: Invalid, Message: err.Error()}
	default:
		table = table.Verified(o.gateway.pods.Service, o.gateway.options.Cluster)
		if faults := table.Faults(); faults != "" {
			verdict = Verdict{Approval: Invalid, Message: faults}
		}
	}
	if forced := o.forced[key]; forced != nil {
		verdict = *forced
		if table != nil && !verdict.serves() && !verdict.waits() {
			table = table.Rejected(verdict.Message)
		}
	}
	switch {
	case verdict.waits() || table == nil:
		// what was served before goes on
	case verdict.serves():
		t.accepted, t.table = table, table
	case table.Freeze && t.accepted != nil:
		t.table = t.accepted
	default:
		t.table = table
	}
	return verdict
}

// publish serves what the objects known by now say.
func (o *observer) publish() {
	now := &served{}
	for _, known := range o.objects {
		if known.table != nil {
			now.tables = append(now.tables, known.table)
		}
		if known.policy != nil {
			now.policies = append(now.policies, known.policy)
		}
	}
	slices.SortFunc(now.tables, byAge)
	o.gateway.served.Store(now)
}

// write brings the status of an object on the API server to the verdict on the state that was taken up.
func (o *observer) write(ctx context.Context, r resource, object *unstructured.Unstructured, v Verdict) error {
	client := o.gateway.dynamic.Resource(r.GroupVersionResource).Namespace(object.GetNamespace())
	now, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	now.SetGeneration(object.GetGeneration())
	patch, err := v.statusPatch(now)
	if err != nil || patch == nil {
		return err
	}
	_, err = client.Patch(ctx, object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
