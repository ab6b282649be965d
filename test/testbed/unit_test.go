package testbed

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

func TestPodStatus(t *testing.T) {
	for _, tt := range []struct {
		name                string
		wanted, readyBefore int32
		state               PodState
		waited              time.Duration
		replicas, ready     int32
		again               time.Duration
	}{
		{"by default all at once", 3, 0, PodState{}, 0, 3, 3, 0},
		{"scaled down", 1, 3, PodState{}, 0, 1, 1, 0},
		{"unready", 3, 3, Unready(), 0, 3, 0, 0},
		{"some", 3, 0, AtMost(2), 0, 3, 2, 0},
		{"gone", 3, 3, Gone(), 0, 0, 0, 0},
		{"slow ones wait", 3, 1, Slow(time.Second), 400 * time.Millisecond, 3, 1, 600 * time.Millisecond},
		{"slow ones arrive", 3, 1, Slow(time.Second), time.Second, 3, 3, 0},
		{"slow ones leave at once", 1, 3, Slow(time.Second), 0, 1, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rs := &appsv1.ReplicaSet{}
			rs.Generation = 7
			rs.Spec.Replicas = &tt.wanted
			rs.Status.ReadyReplicas = tt.readyBefore
			got, again := podStatus(rs, tt.state, tt.waited)
			want := appsv1.ReplicaSetStatus{Replicas: tt.replicas, FullyLabeledReplicas: tt.replicas,
				ReadyReplicas: tt.ready, AvailableReplicas: tt.ready, ObservedGeneration: 7}
			if got.String() != want.String() || again != tt.again {
				t.Errorf("got %v again %v, want %v again %v", got, again, want, tt.again)
			}
		})
	}
}

func TestLog(t *testing.T) {
	log := Log("one\ntwo\n")
	if got := log.Tail(1); got != "two" {
		t.Errorf("Tail(1) = %q", got)
	}
	if got := log.Tail(5); got != "one\ntwo" {
		t.Errorf("Tail(5) = %q", got)
	}
	if got := log.Grep("^t"); len(got) != 1 || got[0] != "two" || !log.Contains("one") {
		t.Errorf("Grep = %q", got)
	}
}

func TestNamespacePrefix(t *testing.T) {
	for test, want := range map[string]string{
		"TestAbort/at_50 percent": "abort-at-50-percent",
		"TestALongName/" + "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": "alongname-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
	} {
		if got := namespacePrefix(test); got != want {
			t.Errorf("namespacePrefix(%q) = %q, want %q", test, got, want)
		}
	}
}
