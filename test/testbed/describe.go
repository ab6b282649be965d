package testbed

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const describedLogLines = 40

// Describe tells what is known of a Rollout, for a person: status, ReplicaSets, events, and the end of the controller's
// log. What cannot be read shows as an error in its place.
func (b *Bed) Describe(ctx context.Context, key client.ObjectKey) string {
	var text strings.Builder
	section := func(title, body string, err error) {
		if err != nil {
			body = err.Error()
		}
		fmt.Fprintf(&text, "--- %s\n%s\n", title, strings.TrimRight(body, "\n"))
	}
	status, err := b.describeStatus(ctx, key)
	section("status", status, err)
	replicaSets, err := b.describeReplicaSets(ctx, key)
	section("ReplicaSets", replicaSets, err)
	events, err := b.Events(ctx, key)
	section("events", describeEvents(events), err)
	if b.Controller != nil {
		section("controller log", b.Controller.Log().Tail(describedLogLines), nil)
	}
	return text.String()
}

func (b *Bed) describeStatus(ctx context.Context, key client.ObjectKey) (string, error) {
	rollout := &v1alpha1.Rollout{}
	if err := b.Client.Get(ctx, key, rollout); err != nil {
		return "", err
	}
	text, err := yaml.Marshal(rollout.Status)
	return fmt.Sprintf("generation: %d\n%s", rollout.Generation, text), err
}

func (b *Bed) describeReplicaSets(ctx context.Context, key client.ObjectKey) (string, error) {
	list := &appsv1.ReplicaSetList{}
	if err := b.Client.List(ctx, list, client.InNamespace(key.Namespace)); err != nil {
		return "", err
	}
	var text strings.Builder
	for _, rs := range list.Items {
		fmt.Fprintf(&text, "%s: wants %d, available %d, images %v\n", rs.Name, replicas(&rs), rs.Status.AvailableReplicas, images(&rs))
	}
	return text.String(), nil
}

func describeEvents(events []corev1.Event) string {
	var text strings.Builder
	for _, e := range events {
		fmt.Fprintf(&text, "%s %s: %s\n", e.Type, e.Reason, e.Message)
	}
	return text.String()
}

// Events lists the events on a Rollout, the oldest first.
func (b *Bed) Events(ctx context.Context, key client.ObjectKey) ([]corev1.Event, error) {
	list := &corev1.EventList{}
	if err := b.Client.List(ctx, list, client.InNamespace(key.Namespace)); err != nil {
		return nil, err
	}
	var events []corev1.Event
	for _, e := range list.Items {
		if e.InvolvedObject.Kind == "Rollout" && e.InvolvedObject.Name == key.Name {
			events = append(events, e)
		}
	}
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	return events, nil
}

// WaitForEvent waits for an event on a Rollout with this reason whose message contains text, and returns it.
func (b *Bed) WaitForEvent(ctx context.Context, key client.ObjectKey, reason, text string) (*corev1.Event, error) {
	var found *corev1.Event
	err := b.WaitUntil(ctx, fmt.Sprintf("event %s with %q on Rollout %s", reason, text, key), func(ctx context.Context) (bool, error) {
		events, err := b.Events(ctx, key)
		for _, e := range events {
			if e.Reason == reason && strings.Contains(e.Message, text) {
				found = &e
			}
		}
		return found != nil, err
	})
	if err != nil {
		report, cancel := reportContext(ctx)
		defer cancel()
		return nil, fmt.Errorf("%w\n%s", err, b.Describe(report, key))
	}
	return found, nil
}
