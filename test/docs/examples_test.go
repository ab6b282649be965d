// Package docs holds no code: its tests read what users copy, examples/, deploy/ and the texts, as strictly as the
// programs do that it is meant for.
package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	networkingv2 "github.com/solo-io/solo-apis/client-go/networking.gloo.solo.io/v2"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
)

const root = "../.."

// document is one object of a YAML file.
type document struct {
	file string
	kind string
	text []byte
}

// documents reads all objects of a folder's YAML files.
func documents(t *testing.T, folder string) []document {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no YAML files, %v", folder, err)
	}
	var all []document
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
			meta := metav1.TypeMeta{}
			if err := yaml.Unmarshal(part, &meta); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all = append(all, document{filepath.Base(file), meta.Kind, part})
		}
	}
	return all
}

// custom is an object whose spec is decoded by rules of its own: Gloo's here, and those of the Gateway API by an API server, in
// TestExamples.
type custom struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              json.RawMessage `json:"spec"`
}

// decode reads an object strictly into the type that its kind has.
func (d document) decode() (any, error) {
	kinds := map[string]any{
		"Namespace":          &corev1.Namespace{},
		"Service":            &corev1.Service{},
		"ConfigMap":          &corev1.ConfigMap{},
		"ClusterRole":        &rbacv1.ClusterRole{},
		"ClusterRoleBinding": &rbacv1.ClusterRoleBinding{},
		"Role":               &rbacv1.Role{},
		"RoleBinding":        &rbacv1.RoleBinding{},
		"Rollout":            &v1alpha1.Rollout{},
		"RouteTable":         &custom{},
		"VirtualGateway":     &custom{},
		"HTTPRoute":          &custom{},
	}
	into, known := kinds[d.kind]
	if !known {
		return nil, fmt.Errorf("kind %q is not expected here", d.kind)
	}
	if err := yaml.UnmarshalStrict(d.text, into); err != nil {
		return nil, err
	}
	specs := map[string]proto.Message{
		"RouteTable":     &networkingv2.RouteTableSpec{},
		"VirtualGateway": &networkingv2.VirtualGatewaySpec{},
	}
	if spec, isGloo := specs[d.kind]; isGloo {
		return spec, protojson.Unmarshal(into.(*custom).Spec, spec)
	}
	return into, nil
}

// exampleFolders returns examples and its subfolders.
func exampleFolders(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, "examples"))
	if err != nil {
		t.Fatal(err)
	}
	folders := []string{"examples"}
	for _, entry := range entries {
		if entry.IsDir() {
			folders = append(folders, "examples/"+entry.Name())
		}
	}
	return folders
}

func TestExamplesDecodeStrictly(t *testing.T) {
	seen := map[string]string{}
	for _, folder := range exampleFolders(t) {
		for _, d := range documents(t, folder) {
			t.Run(folder+" "+d.file+" "+d.kind, func(t *testing.T) {
				object, err := d.decode()
				if err != nil {
					t.Fatal(err)
				}
				if rollout, isRollout := object.(*v1alpha1.Rollout); isRollout {
					checkBlock(t, rollout)
				}
			})
			seen[folder] += "/" + d.kind
		}
	}
	for folder, want := range map[string]string{
		"examples":               "/Namespace/Rollout/RouteTable/Service/Service/VirtualGateway",
		"examples/experiments":   "/Rollout",
		"examples/gatewayapi":    "/Namespace/Rollout/HTTPRoute/Service/Service",
		"examples/header-routes": "/Rollout",
		"examples/mirroring":     "/Rollout",
		"examples/ping-pong":     "/Rollout/RouteTable/Service/Service",
		"examples/subsets":       "/Rollout/RouteTable/Service",
		"examples/verification":  "/Rollout/RouteTable",
	} {
		if seen[folder] != want {
			t.Errorf("%s has %s, want %s", folder, seen[folder], want)
		}
	}
}

// checkBlock decodes the plugin's block as the plugin does, and works out what the Rollout wants after its last step.
func checkBlock(t *testing.T, rollout *v1alpha1.Rollout) {
	t.Helper()
	_, c, err := config.Of(rollout, plugin.Names[0], "argoproj-labs/gatewayAPI")
	if err != nil {
		t.Fatal(err)
	}
	rollout.Annotations = map[string]string{"rollout.argoproj.io/revision": "2"}
	rollout.Status = v1alpha1.RolloutStatus{StableRS: "one", CurrentPodHash: "two"}
	for step := range int32(len(rollout.Spec.Strategy.Canary.Steps)) {
		rollout.Status.CurrentStepIndex = &step
		if _, err := intent.Of(rollout, c, intent.Bounds{}, 0, nil); err != nil {
			t.Errorf("at step %d: %v", step, err)
		}
	}
}

func TestDecodeIsStrict(t *testing.T) {
	for _, text := range []string{
		"kind: Service\nspec: {prots: []}",
		"kind: Rollout\nspec: {replica: 1}",
		"kind: RouteTable\nspec: {http: [{forwardTo: {destination: []}}]}",
		"kind: VirtualGateway\nspec: {listener: []}",
		"kind: RouteTable\nspecs: {}",
	} {
		kind, _, _ := strings.Cut(strings.TrimPrefix(text, "kind: "), "\n")
		if object, err := (document{"inline", kind, []byte(text)}).decode(); err == nil {
			t.Errorf("%s accepted as %v", text, object)
		}
	}
}
