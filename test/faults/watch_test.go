package faults

import (
	"context"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/proxy"
)

// Tables and policies may be listed, and not watched.
func TestWatchForbidden(t *testing.T) {
	t.Parallel()
	d := setup{}.begin(t)
	d.proxy.SetFault(func(w http.ResponseWriter, r proxy.Request) bool {
		if r.Verb == "watch" {
			answers(w, http.StatusForbidden, metav1.StatusReasonForbidden)
			return true
		}
		return false
	})
	d.finishes()
}

// Watches are up and tell nothing. A tool applies the table with the weights of old meanwhile, which the plugin sees when it
// next compares all tables.
func TestSilentWatch(t *testing.T) {
	t.Parallel()
	d := setup{args: []string{"--resync", "3s"}}.begin(t)
	d.reaches(at10)
	d.proxy.SetWatch(func([]byte) bool { return false })
	d.reaches(at50)
	d.witness.excuse("shop")
	d.check(d.person.applies(t.Context(), "shop"))
	d.WaitUntil("the weight that was undone", func(ctx context.Context) (bool, error) {
		if err := d.reconcile(d.releases[0]); err != nil {
			return false, err
		}
		err := d.witness.confirm(ctx, d.releases[0])
		return err == nil, err
	})
	d.finishes()
}

// Watches end all the time.
func TestWatchesThatEnd(t *testing.T) {
	t.Parallel()
	d := setup{}.begin(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ticks := time.Tick(50 * time.Millisecond); ctx.Err() == nil; <-ticks {
			d.proxy.EndWatches()
		}
	}()
	d.finishes()
}
