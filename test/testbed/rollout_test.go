package testbed

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// web is a Rollout without a traffic router: the share of the canary is its share of the pods.
const web = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
  strategy:
    canary:
      steps:
        - setWeight: 25
        - pause: {}
        - setWeight: 50
        - pause: {}
`

// routed is web with the plugin of these tests.
var routed = strings.Replace(web, "steps:", "trafficRouting: {plugins: {test/idle: {}}}\n      steps:", 1)

func rolloutObject() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("argoproj.io/v1alpha1")
	obj.SetKind("Rollout")
	return obj
}

func TestCanaryGoesThroughItsSteps(t *testing.T) {
	t.Parallel()
	s := bed.For(t)
	s.Apply(web)
	s.WaitFor("web", Healthy)
	s.SetImage("web", "web:2")
	ro := s.WaitFor("web", PausedAt(1))
	if ro.Status.UpdatedReplicas != 1 || ro.Status.AvailableReplicas != 4 {
		t.Errorf("at 25 percent %d of %d pods are new, want 1 of 4", ro.Status.UpdatedReplicas, ro.Status.AvailableReplicas)
	}
	s.Promote("web")
	s.WaitFor("web", PausedAt(3))
	s.Promote("web")
	s.WaitFor("web", Healthy)
}

func TestAbortRetryPromoteFull(t *testing.T) {
	t.Parallel()
	s := bed.For(t)
	s.Apply(web)
	s.WaitFor("web", Healthy)
	s.SetImage("web", "web:2")
	s.WaitFor("web", PausedAt(1))
	s.Abort("web")
	s.WaitFor("web", Aborted, Degraded)
	s.Retry("web")
	s.WaitFor("web", PausedAt(1))
	s.PromoteFull("web")
	s.WaitFor("web", Healthy)
}

func TestPodsHoldTheRolloutUp(t *testing.T) {
	for name, state := range map[string]PodState{
		"unready": Unready(),
		"gone":    Gone(),
		"slow":    Slow(time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := bed.For(t)
			s.Apply(web)
			s.WaitFor("web", Healthy)
			undo := s.SetPods("web:2", state)
			s.SetImage("web", "web:2")
			s.WaitFor("web", Updating, AtStep(0))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := bed.WaitFor(ctx, s.Key("web"), PausedAt(1)); err == nil {
				t.Error("the first step passed without an available pod")
			}
			undo()
			s.WaitFor("web", PausedAt(1))
		})
	}
}

func TestPodsFailLater(t *testing.T) {
	t.Parallel()
	s := bed.For(t)
	s.Apply(web)
	ro := s.WaitFor("web", Healthy)
	undo := bed.Pods.Set(PodsOf{Namespace: s.Namespace, Hash: ro.Status.StableRS}, AtMost(1))
	s.WaitFor("web", Progressing)
	undo()
	s.WaitFor("web", Healthy)
}

func TestWaitForTellsWhatItSaw(t *testing.T) {
	t.Parallel()
	s := bed.For(t)
	s.Apply(web)
	s.WaitFor("web", Healthy)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := bed.WaitFor(ctx, s.Key("web"), Degraded, AtStep(1))
	if err == nil {
		t.Fatal("a healthy Rollout is degraded")
	}
	for _, want := range []string{
		"Rollout " + s.Namespace + "/web: waited in vain for phase Degraded and step 1",
		"phase: Healthy", "RolloutCompleted", "images [web:1]", "--- controller log", "level=info",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	s.WaitForEvent("web", "RolloutCompleted", "")
}

func TestApplyReplaces(t *testing.T) {
	t.Parallel()
	s := bed.For(t)
	const doc = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata: {key: VALUE, in: NAMESPACE}\n---\n"
	text := func(value string) string {
		one := strings.ReplaceAll(doc, "VALUE", value)
		return "---\n" + strings.ReplaceAll(one, "NAME}", "first}") + "# nothing\n---\n" + strings.ReplaceAll(one, "NAME}", "second}")
	}
	s.Apply(text("old"))
	if n := len(s.Apply(text("new"))); n != 2 {
		t.Errorf("%d objects, want 2", n)
	}
	for _, name := range []string{"first", "second"} {
		data, _, err := unstructured.NestedStringMap(s.Get("v1", "ConfigMap", name).Object, "data")
		if err != nil || data["key"] != "new" || data["in"] != s.Namespace {
			t.Errorf("%s holds %v, %v", name, data, err)
		}
	}
}
