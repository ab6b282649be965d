package e2e

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What docs/gitops.md says of tools that apply by server-side apply, as Flux does: at rest they find nothing to change; in the
// middle of a release they take all routes back, since http is one field to the API server; and the next call puts that right.
func TestServerSideApply(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		s.steps = stepsTo(10, 50)
		d := s.prepare(t)
		if _, err := d.fromGit(client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
		d.Apply(s.rollout(t))
		d.completes("web:1")

		d.release("web:2")
		d.reaches(10)
		if _, err := d.fromGit(); !apierrors.IsConflict(err) {
			t.Errorf("without force: %v, want a conflict", err)
		}
		table, err := d.fromGit(client.ForceOwnership)
		if err != nil {
			t.Fatal(err)
		}
		if err := equal("routes", table.Object["spec"], d.tables[d.Key("demo")].Object["spec"]); err != nil {
			t.Error(err)
		}
		if table.GetAnnotations()[annotation] == "" {
			t.Error("the plugin's annotation is gone")
		}
		d.isServed()
		d.serves("/demo", shares{"web:1": 100})

		d.promote()
		d.reaches(50)
		d.serves("/demo", shares{"web:1": 50, "web:2": 50})
		d.promote()
		d.completes("web:2")
		before := d.table(d.Key("demo"))
		after, err := d.fromGit(client.ForceOwnership, client.DryRunAll)
		if err != nil {
			t.Fatal(err)
		}
		if err := equal("a dry run at rest", after.Object["spec"], before.Object["spec"]); err != nil {
			t.Error(err)
		}
		if !slices.ContainsFunc(before.GetManagedFields(), ownsRoutes) {
			t.Errorf("managers %v, want the plugin among the owners of http, at rest as well", before.GetManagedFields())
		}
	})
}

// ownsRoutes reports whether an entry of managedFields makes the plugin the owner of spec.http.
func ownsRoutes(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == "rollouts-plugin-trafficrouter-glooplatform" && entry.FieldsV1 != nil && strings.Contains(string(entry.FieldsV1.Raw), `"f:http"`)
}

// fromGit applies table demo as it was written, as a tool does that applies by server-side apply.
func (d *story) fromGit(options ...client.ApplyOption) (*unstructured.Unstructured, error) {
	written := d.tables[d.Key("demo")]
	table := &unstructured.Unstructured{Object: map[string]any{"spec": written.DeepCopy().Object["spec"]}}
	table.SetGroupVersionKind(tableKind)
	table.SetNamespace(written.GetNamespace())
	table.SetName(written.GetName())
	table.SetLabels(written.GetLabels())
	err := bed.Client.Apply(d.t.Context(), client.ApplyConfigurationFromUnstructured(table), append(options, client.FieldOwner("gitops"))...)
	return table, err
}
