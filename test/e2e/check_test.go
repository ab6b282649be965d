package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/check"
)

// checked returns what a check says of the story's Rollouts, for a service account of the story's own, but for what is as it
// should be; and whether it says by its exit code that something is wrong.
func (d *story) checked(args ...string) (findings []string, wrong bool) {
	d.t.Helper()
	out := bytes.Buffer{}
	args = append([]string{"check", "-o", "json", "-n", d.Namespace, "--kubeconfig", bed.Kubeconfig, "--service-account", d.Namespace}, args...)
	cmd := exec.CommandContext(d.t.Context(), binary, args...)
	cmd.Stdout = &out
	err := cmd.Run()
	exit := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	report := check.Report{}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		d.t.Fatalf("%v in\n%s", err, out.String())
	}
	for _, f := range report.Findings {
		if f.Mark != check.OK && !strings.HasPrefix(f.Object, "Argo Rollouts controller") { // which has no Deployment here
			findings = append(findings, string(f.Mark)+" "+f.String())
		}
	}
	return findings, exit != nil
}

// finds checks what a check says.
func (d *story) finds(want ...string) {
	d.t.Helper()
	found, wrong := d.checked()
	if len(found) != len(want) {
		d.t.Errorf("found\n%s\nwant\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
		return
	}
	fails := false
	for i := range want {
		fails = fails || strings.HasPrefix(want[i], "fail ")
		if text := strings.ReplaceAll(want[i], "NAMESPACE", d.Namespace); !strings.HasPrefix(found[i], text) {
			d.t.Errorf("found\n%s\nwant\n%s", found[i], text)
		}
	}
	if wrong != fails {
		d.t.Errorf("it exits as if something were wrong: %t, want %t", wrong, fails)
	}
}

// grants lets the story's service account do this, in all namespaces, in place of what it could do before.
func (d *story) grants(rules []rbacv1.PolicyRule) {
	d.t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: d.Namespace}, Rules: rules}
	if err := bed.Client.Create(d.t.Context(), role); err != nil {
		if err := bed.Client.Update(d.t.Context(), role); err != nil {
			d.t.Fatal(err)
		}
		return
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: d.Namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: d.Namespace},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "argo-rollouts", Name: d.Namespace}},
	}
	if err := bed.Client.Create(d.t.Context(), binding); err != nil {
		d.t.Fatal(err)
	}
}

// rules returns what deploy/rbac grants, without a verb on a resource.
func rules(resource, verb string) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for _, r := range check.Rights {
		for _, v := range r.Verbs {
			if r.Resource != resource || v.Name != verb {
				all = append(all, rbacv1.PolicyRule{APIGroups: []string{r.Group}, Resources: []string{r.Resource}, Verbs: []string{v.Name}})
			}
		}
	}
	return all
}

// A check of a healthy cluster, after a release, finds nothing; and then each fault that the API server has a part in.
func TestCheck(t *testing.T) {
	d := setup{}.begin(t)
	d.grants(rules("", ""))
	d.release("web:2")
	d.reaches(10)
	d.promote()
	d.reaches(50)
	d.finds()

	d.grants(rules("routetables", "patch"))
	d.WaitUntil("rights are taken away", func(context.Context) (bool, error) {
		found, _ := d.checked()
		return len(found) == 1, nil
	})
	d.finds("fail ServiceAccount argo-rollouts/NAMESPACE: may not patch routetables.networking.gloo.solo.io in namespace NAMESPACE: no weight can be moved")
	d.grants(rules("", ""))
	d.WaitUntil("rights are given back", func(context.Context) (bool, error) {
		found, _ := d.checked()
		return len(found) == 0, nil
	})

	d.Apply(`
apiVersion: v1
kind: ConfigMap
metadata: {name: argo-rollouts-config}
data:
  trafficRouterPlugins: "solo-io/glooplatform: {location: https://example.com}"
`)
	found, wrong := d.checked("--controller-namespace", d.Namespace)
	want := "fail ConfigMap " + d.Namespace + "/argo-rollouts-config: trafficRouterPlugins is a map, and the controller takes nothing but a list"
	if len(found) == 0 || !strings.HasPrefix(found[0], want) || !wrong {
		t.Errorf("found %q, want %q", found, want)
	}

	if err := bed.Client.Delete(t.Context(), &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.name}}); err != nil {
		t.Fatal(err)
	}
	d.finds("fail Rollout NAMESPACE/web: it does not exist any more, and RouteTable NAMESPACE/demo holds what it left")
	d.runs(0, "1 of 1 objects put at rest\n", "restore", d.name, "--yes")
	d.isAtRest()
	d.finds()
}
