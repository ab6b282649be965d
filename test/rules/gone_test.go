package rules_test

import (
	"encoding/json"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
)

// Whatever Rollouts did to an object: one that is gone leaves what it would leave where it is selected no more, and what is
// remembered of the others stays.
func TestGoneIsLikeSelectedNoMore(t *testing.T) {
	for _, d := range drivers {
		t.Run(d.api.Kind(), rapid.MakeCheck(func(t *rapid.T) {
			w := drawWorld(t, d)
			for range rapid.IntRange(1, 5).Draw(t, "calls") {
				ro := rapid.SampledFrom(w.rollouts).Draw(t, "rollout")
				w.call(t, ro, rapid.SampledFrom([]int{0, 1, 50, 100}).Draw(t, "share"), rapid.SampledFrom([]int{0, 0, 30}).Draw(t, "experiment"))
			}
			for _, ro := range w.rollouts {
				alike, errAlike := engine.MakePlan(w.api, w.live, engine.Selection{None: true}, ro.intent(0, 0))
				plan, err := engine.MakePlan(w.api, w.live, engine.Selection{None: true}, intent.OfGone("apps", ro.name, ""))
				if (err == nil) != (errAlike == nil) {
					t.Fatalf("%v, where it is selected no more %v\n%s", err, errAlike, objects.YAML(w.live.JSON))
				}
				if err != nil {
					continue
				}
				left := objects.Patched(t, w.live, plan.Patch)
				if got, want := objects.Spec(t, left), objects.Spec(t, objects.Patched(t, w.live, alike.Patch)); got != want {
					t.Fatalf("left is\n%s\nwhere it is selected no more\n%s\nof\n%s", got, want, objects.YAML(w.live.JSON))
				}
				want := records(t, w.live)
				if delete(want, "apps/"+ro.name); !maps.Equal(records(t, left), want) {
					t.Fatalf("remembered is %v, want %v", records(t, left), want)
				}
			}
		}))
	}
}

// records returns what an object remembers of each Rollout.
func records(t *rapid.T, o engine.Object) map[string]string {
	raw := map[string]json.RawMessage{}
	if text := o.Annotations[engine.Annotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &raw); err != nil {
			t.Fatal(err)
		}
	}
	texts := map[string]string{}
	for owner, record := range raw {
		texts[owner] = string(record)
	}
	return texts
}
