package check

import (
	"fmt"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/rollout/trafficrouting"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// feature is what older controllers refuse; docs/controller-versions.md has the same.
type feature struct {
	name  string
	since *version.Version
	used  func(*v1alpha1.Rollout) bool
}

var features = []feature{
	{"setMirrorRoute", version.MustParseGeneric("1.10"), intent.MayMirror},
	{"pingPong", version.MustParseGeneric("1.10"), trafficrouting.IsPingPongEnabled},
	{"weight in the templates of an experiment step", version.MustParseGeneric("1.8"), weighsExperiments},
}

func weighsExperiments(ro *v1alpha1.Rollout) bool {
	for _, step := range ro.Spec.Strategy.Canary.Steps {
		if step.Experiment == nil {
			continue
		}
		for _, template := range step.Experiment.Templates {
			if template.Weight != nil {
				return true
			}
		}
	}
	return false
}

// judgeFeatures says what of a Rollout the controller is too old for; nil is a version that is not known.
func judgeFeatures(ro *v1alpha1.Rollout, controller *version.Version) []Finding {
	var findings []Finding
	for _, f := range features {
		switch {
		case !f.used(ro):
		case controller == nil:
			findings = append(findings, Finding{Note, rolloutName(ro), fmt.Sprintf("%s needs a controller of v%s or newer, and its version is not known", f.name, f.since), ""})
		case controller.LessThan(f.since):
			findings = append(findings, Finding{Fail, rolloutName(ro), fmt.Sprintf("%s is refused by controllers before v%s, and this one is v%s", f.name, f.since, controller), "upgrade the controller"})
		}
	}
	return findings
}
