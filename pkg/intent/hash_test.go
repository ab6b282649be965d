package intent_test

import (
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

const byHash = "subsetLabel: rollouts-pod-template-hash\nstable: {name: web}"

// A Rollout without services of its own: both versions are subsets of the one that the block names.
const oneService = `
metadata: {name: web, namespace: apps}
spec: {strategy: {canary: {}}}
status: {stableRS: h1, currentPodHash: h2}
`

func TestWithHashes(t *testing.T) {
	for _, tt := range []struct {
		name           string
		stable, canary string
		weight         int32
		want           string // stable's hash, and the canary's share
		share          int
	}{
		{"a release", "h1", "h2", 10, "h1", 10},
		{"before the first version has pods", "", "h1", 0, "", 0},
		{"the first version with pods", "", "h1", 100, "h1", 0},
		{"a version that is both", "h2", "h2", 100, "h2", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, err := intent.Of(rollout(t, oneService), block(t, byHash), intent.Bounds{}, tt.weight, nil)
			if err != nil {
				t.Fatal(err)
			}
			in = in.WithHashes(tt.stable, tt.canary)
			if in.StableHash != tt.want || in.CanaryShare != tt.share || in.CanaryHash != tt.canary {
				t.Errorf("stable %q, canary %q with %d; want %q and %d", in.StableHash, in.CanaryHash, in.CanaryShare, tt.want, tt.share)
			}
		})
	}
}

func TestStatusHashes(t *testing.T) {
	ro := rollout(t, oneService)
	if stable, canary := intent.StatusHashes(ro); stable != "h1" || canary != "h2" {
		t.Errorf("got %s and %s", stable, canary)
	}
	ro.Status.CurrentPodHash = "h1"
	if _, canary := intent.StatusHashes(ro); canary != "h1" {
		t.Errorf("at rest, canary is %s", canary)
	}
	ro.Status.Canary.Weights = &v1alpha1.TrafficWeights{Canary: v1alpha1.WeightDestination{Weight: 30, PodTemplateHash: "h0"}}
	if _, canary := intent.StatusHashes(ro); canary != "h0" {
		t.Errorf("on the way back to stable, canary is %s", canary)
	}
}

func TestHashesRefuse(t *testing.T) {
	for _, tt := range []struct{ name, spec, want string }{
		{"a Service that the controller narrows", "stableService: web, canaryService: web-canary",
			"stable.name: Argo Rollouts narrows Service web to the pods of one version, and subsetLabel needs one of both; leave stableService and canaryService out"},
		{"two that alternate", "pingPong: {pingService: a, pongService: b}",
			"subsetLabel: the Rollout uses pingPong, which needs two Services; leave one of the two out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ro := rollout(t, "metadata: {name: web, namespace: apps}\nspec: {strategy: {canary: {"+tt.spec+"}}}")
			if _, err := intent.Of(ro, block(t, byHash), intent.Bounds{}, 0, nil); err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}
