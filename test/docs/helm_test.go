package docs

import (
	"testing"

	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// values are those of the chart argo-rollouts of argo-helm that deploy/helm sets, by the names in its values.yaml, and of the
// types that its templates put them in the place of. The chart itself is not here to be rendered.
type values struct {
	Controller struct {
		TrafficRouterPlugins []types.PluginItem   `json:"trafficRouterPlugins"`
		InitContainers       []corev1.Container   `json:"initContainers"`
		Volumes              []corev1.Volume      `json:"volumes"`
		VolumeMounts         []corev1.VolumeMount `json:"volumeMounts"`
	} `json:"controller"`
	ContainerSecurityContext *corev1.SecurityContext `json:"containerSecurityContext"`
	ProviderRBAC             struct {
		Providers struct {
			GlooPlatform *bool `json:"glooPlatform"`
		} `json:"providers"`
		AdditionalRules []rbacv1.PolicyRule `json:"additionalRules"`
	} `json:"providerRBAC"`
	ExtraObjects []map[string]any `json:"extraObjects"`
}

func helmValues(t *testing.T, file string) values {
	t.Helper()
	v := values{}
	if err := yaml.UnmarshalStrict([]byte(read(t, "deploy/helm/"+file)), &v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}

func TestHelmValues(t *testing.T) {
	for _, file := range []string{"by-url.yaml", "by-init-container.yaml"} {
		t.Run(file, func(t *testing.T) {
			v := helmValues(t, file)
			checkEntries(t, v.Controller.TrafficRouterPlugins)
			if given := v.ProviderRBAC.Providers.GlooPlatform; given == nil || *given {
				t.Error("the chart's own rules for Gloo are not switched off")
			}
			checkMissingRules(t, v.ProviderRBAC.AdditionalRules)
		})
	}
}

// The Gateway API's rights come as a role of their own.
func TestHelmValuesGatewayAPI(t *testing.T) {
	var granted []rbacv1.PolicyRule
	for _, object := range helmValues(t, "gateway-api.yaml").ExtraObjects {
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := document{"gateway-api.yaml", object["kind"].(string), text}.decode()
		if err != nil {
			t.Fatal(err)
		}
		if role, isRole := decoded.(*rbacv1.ClusterRole); isRole {
			granted = append(granted, role.Rules...)
		}
	}
	checkGatewayRules(t, granted)
}

// The namespaced variant takes the rules out of the controller's role, and grants them in a namespace.
func TestHelmValuesNamespaced(t *testing.T) {
	v := helmValues(t, "namespaced.yaml")
	if v.ProviderRBAC.AdditionalRules == nil || len(v.ProviderRBAC.AdditionalRules) > 0 || len(v.ExtraObjects) != 2 {
		t.Fatalf("rules %v, objects %v", v.ProviderRBAC.AdditionalRules, v.ExtraObjects)
	}
	for _, object := range v.ExtraObjects {
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := document{"namespaced.yaml", object["kind"].(string), text}.decode()
		if err != nil {
			t.Fatal(err)
		}
		if role, isRole := decoded.(*rbacv1.Role); isRole {
			checkMissingRules(t, role.Rules)
		}
	}
}
