package e2e

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runs starts the binary as a person does, away from any terminal, and checks with what it exits and that it says this last.
func (d *story) runs(code int, says string, args ...string) (answer string) {
	d.t.Helper()
	out, errOut := bytes.Buffer{}, bytes.Buffer{}
	cmd := exec.CommandContext(d.t.Context(), binary, append(args, "--kubeconfig", bed.Kubeconfig, "-n", d.Namespace)...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	exit := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code || !strings.HasSuffix(errOut.String(), says) {
		d.t.Errorf("%v: exit code %d, want %d, and says\n%s\nwant\n%s", args, got, code, errOut.String(), says)
	}
	return out.String()
}

// A Rollout is deleted in the middle of a release, so nobody takes the weight back: a person does. Requests are not counted
// after that, since the controller lets the Services of a Rollout that is gone select the pods of both versions.
func TestRestoreAfterDeletion(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := withManagedSteps(s, headerStep("beta", "x-beta", "yes"), mirrorStep()).begin(t)
		d.release("web:2")
		d.rests(0)
		d.promote()
		d.rests(1)
		d.promote()
		d.reaches(50)
		d.serves("/demo", shares{"web:1": 50, "web:2": 50})
		d.runs(1, "or let it finish, or give --force if there is no controller any more\n", "restore", d.name, "--yes")

		if err := bed.Client.Delete(t.Context(), &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.name}}); err != nil {
			t.Fatal(err)
		}
		shown := d.runs(0, "", "restore", d.name, "--dry-run", "--table-namespace", d.Namespace)
		if again := d.runs(1, "give --yes to apply the differences\n", "restore", d.name); again != shown || !strings.Contains(shown, " at rest\n") {
			t.Errorf("shown is\n%s\nand then\n%s", shown, again)
		}
		d.runs(0, "1 of 1 objects put at rest\n", "restore", d.name, "--yes")
		d.isAtRest()
		d.runs(0, "Nothing to do: no table or route holds anything of Rollout "+d.Namespace+"/"+d.name+".\n", "restore", d.name, "--yes", "--table-namespace", d.Namespace)
	})
}
