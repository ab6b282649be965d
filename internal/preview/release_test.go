package preview

import (
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
)

func TestExperimentServices(t *testing.T) {
	weight := int32(10)
	for _, tt := range []struct {
		name    string
		service *v1alpha1.TemplateService
		want    string
	}{
		{"is named by the controller", nil, "web-canary-2-1-baseline"},
		{"is named by the controller where the template asks for one", &v1alpha1.TemplateService{}, "web-canary-2-1-baseline"},
		{"is named by the template", &v1alpha1.TemplateService{Name: "web-baseline"}, "web-baseline"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := play{ro: &v1alpha1.Rollout{}, cluster: NewCluster(nil)}
			p.ro.Name = "web"
			template := v1alpha1.RolloutExperimentTemplate{Name: "baseline", Weight: &weight, Service: tt.service}
			step := &v1alpha1.CanaryStep{Experiment: &v1alpha1.RolloutExperimentStep{Templates: []v1alpha1.RolloutExperimentTemplate{template}}}
			got := p.experiments(1, step)
			if len(got) != 1 || got[0].ServiceName != tt.want {
				t.Errorf("experiments() = %v, want one to %s", got, tt.want)
			}
			if _, known := p.cluster.services[tt.want]; !known {
				t.Errorf("there is no Service %s", tt.want)
			}
		})
	}
}
