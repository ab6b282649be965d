package docs

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/cli"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
)

// What is applied as it is, beside an installation of Argo Rollouts.
func TestDeployDecodesStrictly(t *testing.T) {
	rbac := []string{"ClusterRole argo-rollouts-glooplatform", "ClusterRoleBinding argo-rollouts-glooplatform"}
	files := disk(t)
	for folder, want := range map[string][]string{
		"rbac": rbac,
		"rbac-namespaced": {
			"Role argo-rollouts-glooplatform-rollouts", "Role argo-rollouts-glooplatform-routetables",
			"RoleBinding argo-rollouts-glooplatform-rollouts", "RoleBinding argo-rollouts-glooplatform-routetables",
		},
		"rbac-gateway-api":            {"ClusterRole argo-rollouts-gateway-api", "ClusterRoleBinding argo-rollouts-gateway-api"},
		"rbac-gateway-api-namespaced": {"Role argo-rollouts-gateway-api", "RoleBinding argo-rollouts-gateway-api"},
		"by-url":                      append(slices.Clone(rbac), "ConfigMap argo-rollouts-config"),
		"by-init-container":           append(slices.Clone(rbac), "ConfigMap argo-rollouts-config"),
	} {
		t.Run(folder, func(t *testing.T) {
			objects := build(t, files, "/deploy/"+folder)
			if got := slices.Sorted(maps.Keys(objects)); !slices.Equal(got, want) {
				t.Errorf("objects %q, want %q", got, want)
			}
			for key, d := range objects {
				object, err := d.decode()
				if err != nil {
					t.Fatalf("%s: %v", key, err)
				}
				if cm, isConfig := object.(*corev1.ConfigMap); isConfig {
					checkRegistration(t, cm)
				}
			}
		})
	}
}

// The components do to Argo Rollouts' own manifests what they are there for, and nothing else.
func TestComponents(t *testing.T) {
	for _, tt := range []struct {
		component, install string
		changes            []string
	}{
		{"rules", "cluster-install", []string{"ClusterRole argo-rollouts"}},
		{"rules", "namespace-install", []string{"Role argo-rollouts"}},
		{"gateway-api-rules", "cluster-install", []string{"ClusterRole argo-rollouts"}},
		{"gateway-api-rules", "namespace-install", []string{"Role argo-rollouts"}},
		{"by-url", "cluster-install", []string{"ClusterRole argo-rollouts", "ConfigMap argo-rollouts-config"}},
		{"by-url", "namespace-install", []string{"ConfigMap argo-rollouts-config", "Role argo-rollouts"}},
		{"by-init-container", "cluster-install", []string{"ClusterRole argo-rollouts", "ConfigMap argo-rollouts-config", "Deployment argo-rollouts"}},
		{"read-only-root", "cluster-install", nil},
	} {
		t.Run(tt.component+" "+tt.install, func(t *testing.T) {
			before, after := build(t, disk(t), "/upstream/"+tt.install), withComponents(t, tt.install, tt.component)
			if got := slices.Sorted(slices.Values(before.differences(after))); !slices.Equal(got, tt.changes) {
				t.Errorf("it changes %q, want %q", got, tt.changes)
			}
			if slices.Contains(tt.changes, "ConfigMap argo-rollouts-config") {
				cm := &corev1.ConfigMap{}
				after.read(t, "ConfigMap argo-rollouts-config", cm)
				checkRegistration(t, cm)
			}
		})
	}
}

// withComponents builds Argo Rollouts' manifests with components, as the comments in these tell to.
func withComponents(t *testing.T, install string, components ...string) built {
	t.Helper()
	text := "resources: [../upstream/" + install + "]\ncomponents:\n"
	for _, component := range components {
		text += "  - ../deploy/components/" + component + "\n"
	}
	files := disk(t)
	if err := files.WriteFile("/mine/kustomization.yaml", []byte(text)); err != nil {
		t.Fatal(err)
	}
	return build(t, files, "/mine")
}

// In whatever way the init container comes into the Deployment, it puts the plugin where the ConfigMap says that it is.
func TestInitContainers(t *testing.T) {
	patched, patch := appsv1.Deployment{}, appsv1.Deployment{}
	withComponents(t, "cluster-install", "by-init-container").read(t, "Deployment argo-rollouts", &patched)
	if err := yaml.UnmarshalStrict([]byte(read(t, "deploy/by-init-container/deployment-patch.yaml")), &patch); err != nil {
		t.Fatal(err)
	}
	v := helmValues(t, "by-init-container.yaml").Controller
	helm := corev1.PodSpec{InitContainers: v.InitContainers, Containers: []corev1.Container{{VolumeMounts: v.VolumeMounts}}, Volumes: v.Volumes}
	for name, pod := range map[string]corev1.PodSpec{"component": patched.Spec.Template.Spec, "patch": patch.Spec.Template.Spec, "helm": helm} {
		if len(pod.InitContainers) != 1 {
			t.Fatalf("%s: %d init containers", name, len(pod.InitContainers))
		}
		first := pod.InitContainers[0]
		if !slices.Equal(first.Args, []string{"install", "/plugins"}) || first.Command != nil {
			t.Errorf("%s: it runs %q %q", name, first.Command, first.Args)
		}
		if *first.SecurityContext.AllowPrivilegeEscalation || !*first.SecurityContext.ReadOnlyRootFilesystem {
			t.Errorf("%s: security context %v", name, first.SecurityContext)
		}
		for _, c := range []corev1.Container{first, pod.Containers[0]} {
			if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "plugins" && m.MountPath == "/plugins" }) {
				t.Errorf("%s: container %s mounts %v", name, c.Name, c.VolumeMounts)
			}
		}
		if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "plugins" && v.EmptyDir != nil }) {
			t.Errorf("%s: volumes %v", name, pod.Volumes)
		}
	}
}

// A Deployment as older Argo Rollouts have it gets what today's has.
func TestReadOnlyRoot(t *testing.T) {
	files := disk(t)
	base := "/upstream/base/argo-rollouts-deployment.yaml"
	today, err := files.ReadFile(base)
	if err != nil {
		t.Fatal(err)
	}
	old := appsv1.Deployment{}
	if err := yaml.UnmarshalStrict(today, &old); err != nil {
		t.Fatal(err)
	}
	pod := &old.Spec.Template.Spec
	pod.Volumes, pod.Containers[0].VolumeMounts, pod.Containers[0].SecurityContext.ReadOnlyRootFilesystem = nil, nil, nil
	text, err := yaml.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	mine := "resources: [../upstream/base]\ncomponents: [../deploy/components/read-only-root]\n"
	for file, text := range map[string][]byte{base: text, "/mine/kustomization.yaml": []byte(mine)} {
		if err := files.WriteFile(file, text); err != nil {
			t.Fatal(err)
		}
	}
	got, want := appsv1.Deployment{}, appsv1.Deployment{}
	build(t, files, "/mine").read(t, "Deployment argo-rollouts", &got)
	if err := yaml.UnmarshalStrict(today, &want); err != nil {
		t.Fatal(err)
	}
	pod = &want.Spec.Template.Spec
	checkWritable(t, got.Spec.Template.Spec, *pod)
	v := helmValues(t, "read-only-root.yaml")
	checkWritable(t, corev1.PodSpec{
		Volumes:    v.Controller.Volumes,
		Containers: []corev1.Container{{VolumeMounts: v.Controller.VolumeMounts, SecurityContext: v.ContainerSecurityContext}},
	}, *pod)
}

// checkWritable checks that a pod has the folders of another that can be written to.
func checkWritable(t *testing.T, got, want corev1.PodSpec) {
	t.Helper()
	if !slices.EqualFunc(got.Volumes, want.Volumes, func(a, b corev1.Volume) bool { return a.String() == b.String() }) {
		t.Errorf("volumes %v, want %v", got.Volumes, want.Volumes)
	}
	if !slices.Equal(got.Containers[0].VolumeMounts, want.Containers[0].VolumeMounts) {
		t.Errorf("mounts %v, want %v", got.Containers[0].VolumeMounts, want.Containers[0].VolumeMounts)
	}
	if a, b := got.Containers[0].SecurityContext, want.Containers[0].SecurityContext; a == nil || a.String() != b.String() {
		t.Errorf("security context %v, want %v", a, b)
	}
}

// checkRegistration reads the entry as the controller does.
func checkRegistration(t *testing.T, cm *corev1.ConfigMap) {
	t.Helper()
	var entries []types.PluginItem
	if err := yaml.UnmarshalStrict([]byte(cm.Data["trafficRouterPlugins"]), &entries); err != nil {
		t.Fatal(err)
	}
	checkEntries(t, entries)
}

// checkEntries checks that the plugin is all that is registered: the file of a release with its sum, or the one that the
// command install leaves.
func checkEntries(t *testing.T, entries []types.PluginItem) {
	t.Helper()
	if len(entries) != 1 || entries[0].Name != plugin.Names[0] {
		t.Fatalf("entries %+v", entries)
	}
	want := "file:///plugins/" + cli.Binary
	sum := ""
	if strings.HasPrefix(entries[0].Location, "https:") {
		want = "https://" + filepath.Join("github.com/argoproj-labs", cli.Binary, "releases/download/VERSION", cli.Binary) + "-linux-amd64"
		sum = "SHA256"
	}
	if entries[0].Location != want || entries[0].Sha256 != sum {
		t.Errorf("location %s with sum %q, want %s with %q", entries[0].Location, entries[0].Sha256, want, sum)
	}
}
