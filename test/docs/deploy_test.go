package docs

import (
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
)

func TestDeployDecodesStrictly(t *testing.T) {
	for folder, resources := range map[string]string{
		"rbac":              "clusterrole.yaml",
		"rbac-namespaced":   "routetables.yaml rollouts.yaml",
		"by-url":            "../rbac configmap.yaml",
		"by-init-container": "../rbac configmap.yaml",
	} {
		t.Run(folder, func(t *testing.T) {
			for _, d := range documents(t, "deploy/"+folder) {
				switch d.file {
				case "kustomization.yaml":
					checkKustomization(t, d, strings.Fields(resources))
				case "deployment-patch.yaml":
					checkPatch(t, d)
				default:
					object, err := d.decode()
					if err != nil {
						t.Fatalf("%s: %v", d.file, err)
					}
					if cm, isConfig := object.(*corev1.ConfigMap); isConfig {
						checkRegistration(t, cm)
					}
				}
			}
		})
	}
}

func checkKustomization(t *testing.T, d document, resources []string) {
	t.Helper()
	k := struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Resources  []string `json:"resources"`
	}{}
	if err := yaml.UnmarshalStrict(d.text, &k); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(k.Resources, resources) {
		t.Errorf("resources %v, want %v", k.Resources, resources)
	}
}

func checkPatch(t *testing.T, d document) {
	t.Helper()
	deployment := appsv1.Deployment{}
	if err := yaml.UnmarshalStrict(d.text, &deployment); err != nil {
		t.Fatal(err)
	}
	pod := deployment.Spec.Template.Spec
	mounts := slices.Concat(pod.InitContainers[0].VolumeMounts, pod.Containers[0].VolumeMounts)
	for _, mount := range mounts {
		if mount.Name != pod.Volumes[0].Name || mount.MountPath != "/plugins" {
			t.Errorf("mount %+v, want volume %s at /plugins", mount, pod.Volumes[0].Name)
		}
	}
}

// checkRegistration reads the entry as the controller does.
func checkRegistration(t *testing.T, cm *corev1.ConfigMap) {
	t.Helper()
	var entries []types.PluginItem
	if err := yaml.UnmarshalStrict([]byte(cm.Data["trafficRouterPlugins"]), &entries); err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name != plugin.Names[0] || !strings.Contains(entries[0].Location, "/rollouts-plugin-trafficrouter-glooplatform") {
		t.Errorf("entries %+v", entries)
	}
}

// The two ways to grant rights grant the same.
func TestRolesGrantTheSame(t *testing.T) {
	rules := func(folder string) []rbacv1.PolicyRule {
		var all []rbacv1.PolicyRule
		for _, d := range documents(t, folder) {
			if d.kind == "Kustomization" {
				continue
			}
			object, err := d.decode()
			if err != nil {
				t.Fatal(err)
			}
			switch role := object.(type) {
			case *rbacv1.ClusterRole:
				all = append(all, role.Rules...)
			case *rbacv1.Role:
				all = append(all, role.Rules...)
			}
		}
		slices.SortFunc(all, func(a, b rbacv1.PolicyRule) int { return strings.Compare(a.String(), b.String()) })
		return all
	}
	cluster, namespaced := rules("deploy/rbac"), rules("deploy/rbac-namespaced")
	same := func(a, b rbacv1.PolicyRule) bool { return a.String() == b.String() }
	if len(cluster) == 0 || !slices.EqualFunc(cluster, namespaced, same) {
		t.Errorf("deploy/rbac grants\n%v\ndeploy/rbac-namespaced\n%v", cluster, namespaced)
	}
}
