package gateway

import (
	"context"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

// Force gives a table this verdict, whatever it holds and however it changes, until undo is called. Verdicts other than
// ACCEPTED and WARNING are obeyed as the table's failureMode says: its routes answer 500, or the last accepted state is
// served. PENDING and Silent leave what is served as it is.
func (g *Gateway) Force(namespace, name string, v Verdict) (undo func()) {
	return g.observer.force(objectKey{routeTables, cache.NewObjectName(namespace, name)}, v)
}

// Reject makes a table INVALID until undo is called.
func (g *Gateway) Reject(namespace, name, message string) (undo func()) {
	return g.Force(namespace, name, Verdict{Approval: Invalid, Message: message})
}

// WaitObserved waits until the table's status speaks of the state that the table is in when it is called, or a later
// one, and returns what it says. It is then served, as far as the verdict allows. The deadline is that of ctx.
func (g *Gateway) WaitObserved(ctx context.Context, namespace, name string) (Verdict, error) {
	return g.waitVerdict(ctx, routeTables, namespace, name, func(Verdict) bool { return true })
}

// WaitApproval is WaitObserved until the status also says approval: a Service that comes or goes turns a verdict without
// a change of the table.
func (g *Gateway) WaitApproval(ctx context.Context, namespace, name, approval string) (Verdict, error) {
	return g.waitVerdict(ctx, routeTables, namespace, name, func(v Verdict) bool { return v.Approval == approval })
}

// WaitPolicy is WaitApproval for a MirrorPolicy.
func (g *Gateway) WaitPolicy(ctx context.Context, namespace, name, approval string) (Verdict, error) {
	return g.waitVerdict(ctx, mirrorPolicies, namespace, name, func(v Verdict) bool { return v.Approval == approval })
}

func (g *Gateway) waitVerdict(ctx context.Context, r resource, namespace, name string, enough func(Verdict) bool) (Verdict, error) {
	client := g.dynamic.Resource(r.GroupVersionResource).Namespace(namespace)
	obj, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return Verdict{}, err
	}
	wanted := obj.GetGeneration()
	for {
		verdict, generation, err := readState(obj)
		if err != nil || generation >= wanted && enough(verdict) {
			return verdict, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
		if obj, err = client.Get(ctx, name, metav1.GetOptions{}); ctx.Err() != nil {
			return Verdict{}, fmt.Errorf("%s %s/%s: waited in vain for generation %d; status says %d, %s %q: %w",
				r.kind, namespace, name, wanted, generation, verdict.Approval, verdict.Message, ctx.Err())
		}
		if err != nil {
			return Verdict{}, err
		}
	}
}

// readState reads the verdict and the generation it is about from an object. Without a status both are zero.
func readState(obj *unstructured.Unstructured) (Verdict, int64, error) {
	state, found, err := unstructured.NestedMap(obj.Object, "status", "common", "State")
	if err != nil || !found {
		return Verdict{}, 0, err
	}
	v := Verdict{Approval: Pending}
	if approval, ok := state["approval"].(string); ok {
		v.Approval = approval
	}
	if message, ok := state["message"].(string); ok {
		v.Message = message
	}
	switch generation := state["observedGeneration"].(type) {
	case nil:
		return v, 0, nil
	case int64:
		return v, generation, nil
	case string:
		n, err := strconv.ParseInt(generation, 10, 64)
		return v, n, err
	default:
		return v, 0, fmt.Errorf("observedGeneration is a %T", generation)
	}
}
