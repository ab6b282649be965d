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

// observer is the control plane: it takes tables up after the delay, judges them, writes their status and says what is
// served.
type observer struct {
	gateway *Gateway
	queue   workqueue.TypedRateLimitingInterface[cache.ObjectName]

	mu     sync.Mutex
	tables map[cache.ObjectName]*observed
	forced map[cache.ObjectName]*Verdict
}

// observed is what the control plane knows of one table.
type observed struct {
	seen     []seen                     // not yet taken up, in order
	object   *unstructured.Unstructured // as last taken up; nil before, and once it is deleted
	accepted *Table                     // the last one without faults
	served   *Table
}

// seen is a state of a table that is taken up when it is due.
type seen struct {
	object *unstructured.Unstructured // nil: deleted
	due    time.Time
}

func newObserver(g *Gateway) *observer {
	return &observer{
		gateway: g,
		queue:   workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
		tables:  map[cache.ObjectName]*observed{},
		forced:  map[cache.ObjectName]*Verdict{},
	}
}

// tableHandler notes every state of a table but those that differ in their status only.
func (o *observer) tableHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { o.see(obj.(*unstructured.Unstructured), false) },
		UpdateFunc: func(old, obj any) {
			before, now := old.(*unstructured.Unstructured), obj.(*unstructured.Unstructured)
			if before.GetGeneration() != now.GetGeneration() || before.GetUID() != now.GetUID() ||
				!maps.Equal(before.GetLabels(), now.GetLabels()) {
				o.see(now, false)
			}
		},
		DeleteFunc: func(obj any) {
			if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			o.see(obj.(*unstructured.Unstructured), true)
		},
	}
}

// serviceHandler judges all tables again: a Service that came or went may turn their verdict.
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
	for name := range o.tables {
		o.queue.Add(name)
	}
}

func (o *observer) see(obj *unstructured.Unstructured, deleted bool) {
	name, delay := cache.MetaObjectToName(obj), time.Duration(o.gateway.delay.Load())
	if deleted {
		obj = nil
	}
	o.mu.Lock()
	if o.tables[name] == nil {
		o.tables[name] = &observed{}
	}
	o.tables[name].seen = append(o.tables[name].seen, seen{obj, time.Now().Add(delay)})
	o.mu.Unlock()
	o.queue.AddAfter(name, delay)
}

// force sets a verdict until undo is called.
func (o *observer) force(name cache.ObjectName, v Verdict) (undo func()) {
	forced := &v
	o.mu.Lock()
	o.forced[name] = forced
	o.mu.Unlock()
	o.queue.Add(name)
	return func() {
		o.mu.Lock()
		if o.forced[name] == forced {
			delete(o.forced, name)
		}
		o.mu.Unlock()
		o.queue.Add(name)
	}
}

func (o *observer) run(ctx context.Context) {
	for {
		name, shutdown := o.queue.Get()
		if shutdown {
			return
		}
		again, err := o.observe(ctx, name, time.Now())
		switch {
		case err != nil:
			o.queue.AddRateLimited(name)
		default:
			o.queue.Forget(name)
			if again > 0 {
				o.queue.AddAfter(name, again)
			}
		}
		o.queue.Done(name)
	}
}

// observe takes up what is due of a table, judges it, serves what follows, and writes its status, in this order: what is
// reported as accepted is served. It returns when the next state is due, or zero.
func (o *observer) observe(ctx context.Context, name cache.ObjectName, now time.Time) (time.Duration, error) {
	o.mu.Lock()
	table := o.tables[name]
	if table == nil {
		o.mu.Unlock()
		return 0, nil
	}
	again := table.takeUp(now)
	verdict := o.judge(name, table)
	o.publish()
	object := table.object
	o.mu.Unlock()
	if object == nil || verdict.Silent {
		return again, nil
	}
	return again, o.write(ctx, object, verdict)
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

// judge decides what a table is worth and what is served of it.
func (o *observer) judge(name cache.ObjectName, t *observed) Verdict {
	if t.object == nil {
		if t.served != nil {
			*t = observed{seen: t.seen}
		}
		return Verdict{Silent: true}
	}
	verdict := Verdict{Approval: Accepted}
	table, err := Decode(t.object)
	switch {
	case err != nil:
		verdict = Verdict{Approval: Invalid, Message: err.Error()}
	default:
		table = table.Verified(o.gateway.service, o.gateway.options.Cluster)
		if faults := table.Faults(); faults != "" {
			verdict = Verdict{Approval: Invalid, Message: faults}
		}
	}
	if forced := o.forced[name]; forced != nil {
		verdict = *forced
		if table != nil && !verdict.serves() && !verdict.waits() {
			table = table.Rejected(verdict.Message)
		}
	}
	switch {
	case verdict.waits() || table == nil:
		// what was served before goes on
	case verdict.serves():
		t.accepted, t.served = table, table
	case table.Freeze && t.accepted != nil:
		t.served = t.accepted
	default:
		t.served = table
	}
	return verdict
}

// publish serves what the tables known by now say.
func (o *observer) publish() {
	served := []*Table{}
	for _, t := range o.tables {
		if t.served != nil {
			served = append(served, t.served)
		}
	}
	slices.SortFunc(served, byAge)
	o.gateway.tables.Store(&served)
}

// write brings the status of the table on the API server to the verdict on the state that was taken up.
func (o *observer) write(ctx context.Context, object *unstructured.Unstructured, v Verdict) error {
	client := o.gateway.dynamic.Resource(routeTables).Namespace(object.GetNamespace())
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
