package faults

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/proxy"
)

// Somebody writes to the table between the plugin's read and its first write, each time.
func TestConflictOnEveryFirstTry(t *testing.T) {
	t.Parallel()
	d := setup{}.begin(t)
	var patches, conflicts atomic.Int64
	d.proxy.SetFault(func(_ http.ResponseWriter, r proxy.Request) bool {
		if r.Verb != "patch" || r.Resource != "routetables" || patches.Add(1)%2 == 0 {
			return false
		}
		conflicts.Add(1)
		if err := d.person.edit(r.Context(), "shop"); err != nil {
			d.t.Error(err)
		}
		return false
	})
	d.finishes()
	if n := conflicts.Load(); n < 5 {
		t.Errorf("%d conflicts, and five steps are written", n)
	}
}

// What the plugin writes is written, and the connection ends before it is told so, the first time of each.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	d := setup{}.begin(t)
	mu, seen := sync.Mutex{}, map[string]int{}
	d.proxy.SetFault(func(_ http.ResponseWriter, r proxy.Request) bool {
		if r.Verb == "get" || r.Verb == "list" || r.Verb == "watch" || r.Resource == "events" {
			return false
		}
		mu.Lock()
		what := r.Verb + " " + r.Resource
		seen[what]++
		n := seen[what]
		mu.Unlock()
		if n%2 == 0 {
			return false
		}
		d.proxy.Lose(r)
		return true
	})
	d.finishes()
	mu.Lock()
	defer mu.Unlock()
	if seen["patch routetables"] < 5 || seen["create mirrorpolicies"] == 0 || seen["delete mirrorpolicies"] == 0 {
		t.Errorf("not everything was lost that may be: %v", seen)
	}
}
