package e2e

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// said returns the lines at a level that the plugin has written about the story's Rollout, as the controller's log shows them.
func (d *story) said(log testbed.Log, level string) []string {
	return log.Grep(`\[` + level + ` ?\] +plugin\..*rollout=` + regexp.QuoteMeta(d.Namespace+"/"+d.name) + `\b`)
}

// The controller shows the plugin's lines at their level: at info what was changed, and nothing of a reconcile that changes
// nothing.
func TestLogSaysWhatChanged(t *testing.T) {
	t.Parallel()
	d := setup{steps: stepsTo(50)}.begin(t)
	d.release("web:2")
	d.reaches(50)
	lines := d.said(bed.Controller.Log(), "INFO")
	told := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return slices.ContainsFunc([]string{"weight changed", d.Namespace + `/web-canary:8080"`, `http[1] \"demo\"`, " from=0 ", " to=50 "},
			func(fact string) bool { return !strings.Contains(line+" ", fact) }) // the controller puts the fields in any order
	})
	if len(told) != 1 {
		t.Errorf("%d lines tell of the canary's 50 percent on route demo, want 1:\n%s", len(told), strings.Join(lines, "\n"))
	}

	mark := bed.Controller.LogMark()
	d.looksAgain()
	d.WaitUntil("another reconcile", func(context.Context) (bool, error) {
		return len(bed.Controller.LogSince(mark).Grep(`Reconciliation completed.*namespace=`+regexp.QuoteMeta(d.Namespace)+` `)) > 0, nil
	})
	for _, level := range []string{"INFO", "WARN", "ERROR"} {
		if lines := d.said(bed.Controller.LogSince(mark), level); len(lines) > 0 {
			t.Errorf("nothing was changed, and the log says\n%s", lines)
		}
	}
}
