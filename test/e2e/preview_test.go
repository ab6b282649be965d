package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/preview"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
)

// previewed returns what a preview says of the Rollout of an example, applied on top of the first one.
func previewed(t *testing.T, folder, rollout string) []preview.Moment {
	t.Helper()
	files := &preview.Files{}
	for _, pattern := range []string{"examples/*.yaml", filepath.Join("examples", folder, "*.yaml")} {
		paths, err := filepath.Glob(filepath.Join(bed.Root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := files.Read(path, strings.NewReader(string(text))); err != nil {
				t.Fatal(err)
			}
		}
	}
	cluster := preview.NewCluster(files)
	for _, ro := range files.Rollouts {
		if ro.Name != rollout {
			continue
		}
		name, block, err := config.Of(ro, append(plugin.Names, successor)...)
		if err != nil {
			t.Fatal(err)
		}
		router := plugin.NewRouter(plugin.Options{Log: hclog.NewNullLogger(), Name: name, Connect: func() (plugin.Connection, error) {
			return plugin.Connection{Cluster: cluster}, nil
		}})
		targets, err := plugin.Options{}.Targets(ro, block)
		if err != nil {
			t.Fatal(err)
		}
		moments, err := preview.Play(t.Context(), router, cluster, ro, targets)
		if err != nil {
			t.Fatal(err)
		}
		return moments
	}
	t.Fatalf("examples/%s has no Rollout %s", folder, rollout)
	return nil
}

// atTheEnd stands for the moment of a preview after its last step, when the new version is stable.
const atTheEnd = 0

// isAsPreviewed checks that the tables, routes and policies in the cluster are what a preview says of a step, counted from 1.
func (d *exampleStory) isAsPreviewed(step int) {
	d.t.Helper()
	for i := range d.foreseen {
		m := &d.foreseen[i]
		if m.Step != step || step == atTheEnd && i != len(d.foreseen)-1 {
			continue
		}
		d.compared[m] = true
		for _, o := range m.Objects {
			d.isForeseen(m, o.Object, d.called(o))
		}
		policies := d.mirrorPolicies()
		if len(policies) != len(m.Policies) {
			d.t.Errorf("%d policies, the preview of step %s has %d", len(policies), m.Name, len(m.Policies))
		}
		for j := range min(len(policies), len(m.Policies)) {
			d.isForeseen(m, m.Policies[j], &policies[j])
		}
		return
	}
	d.t.Errorf("the preview has no step %d", step)
}

// called returns the table or route, as it is now, that has the kind and name of a previewed one.
func (d *exampleStory) called(o preview.Object) *unstructured.Unstructured {
	d.t.Helper()
	foreseen := &unstructured.Unstructured{}
	if err := foreseen.UnmarshalJSON(o.JSON); err != nil {
		d.t.Fatal(err)
	}
	return d.now(foreseen)
}

// isForeseen compares an object's name and spec. A preview calls the hashes of the two versions stable and canary, and the
// new one's revision 2.
func (d *exampleStory) isForeseen(m *preview.Moment, foreseen engine.Object, found *unstructured.Unstructured) {
	d.t.Helper()
	ro := d.WaitFor(d.name)
	names := strings.NewReplacer(
		`-hash":"stable"`, `-hash":"`+ro.Status.StableRS+`"`,
		`-hash":"canary"`, `-hash":"`+ro.Status.CurrentPodHash+`"`,
		`"`+d.name+`-canary-2-`, `"`+d.name+`-`+ro.Status.CurrentPodHash+`-`+ro.Annotations["rollout.argoproj.io/revision"]+`-`,
	)
	want := map[string]any{}
	if err := json.Unmarshal([]byte(names.Replace(string(foreseen.JSON))), &want); err != nil {
		d.t.Fatal(err)
	}
	if found.GetName() != foreseen.Name {
		d.t.Errorf("%s %s at step %s is previewed as %s", found.GetKind(), found.GetName(), m.Name, foreseen.Name)
	}
	what := fmt.Sprintf("%s %s at step %s as previewed", found.GetKind(), found.GetName(), m.Name)
	if err := equal(what, plain(found.Object["spec"]), plain(d.asStored(found, want["spec"]))); err != nil {
		d.t.Error(err)
	}
}

// asStored returns a spec, for objects like the one given, as the API server would store it: with its defaults, and failing on a
// field that it does not know.
func (d *story) asStored(like *unstructured.Unstructured, spec any) any {
	d.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(like.GroupVersionKind())
	object.SetNamespace(like.GetNamespace())
	object.SetGenerateName("foreseen-")
	strict := client.WithFieldValidation(bed.Client, metav1.FieldValidationStrict)
	if err := strict.Create(d.t.Context(), object, client.DryRunAll); err != nil {
		d.t.Fatal(err)
	}
	return object.Object["spec"]
}

// isPreviewedThroughout checks that the story has compared each moment at which the release stands still.
func (d *exampleStory) isPreviewedThroughout() {
	d.t.Helper()
	for i := range d.foreseen {
		m := &d.foreseen[i]
		still := i == len(d.foreseen)-1
		if m.Step > 0 {
			step := m.Rollout.Spec.Strategy.Canary.Steps[m.Step-1]
			still = step.Pause != nil || step.Experiment != nil
		}
		if still && !d.compared[m] {
			d.t.Errorf("what the preview says of step %d %s was not compared", m.Step, m.Name)
		}
	}
}
