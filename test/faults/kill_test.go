package faults

import (
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/proxy"
)

// killAt returns a fault that kills the plugin at the n-th request from when left was last set to n: before that is carried
// out or, as often, between that and its answer.
func (d *stage) killAt(left *atomic.Int64) proxy.Fault {
	kill := func() {
		if err := d.plugin.kill(); err != nil {
			d.t.Error(err)
		}
	}
	return func(_ http.ResponseWriter, r proxy.Request) bool {
		if left.Add(-1) != 0 {
			return false
		}
		defer kill()
		if r.Verb == "watch" || rand.N(2) == 0 { // the answer to a watch has no end
			panic(http.ErrAbortHandler)
		}
		d.proxy.Lose(r)
		return true
	}
}

// The plugin's process is killed again and again, wherever its calls happen to be, in releases that are promoted or aborted.
func TestKills(t *testing.T) {
	t.Parallel()
	d := setup{}.begin(t)
	var left atomic.Int64
	d.proxy.SetFault(d.killAt(&left))
	for r := d.releases[0]; ; r.again() {
		for ; r.step < atEnd; r.next() {
			if left.Load() <= 0 && d.plugin.killed() < size(20, 200) {
				left.Store(1 + rand.Int64N(8)) // a new process lists, watches and reads before it writes
			}
			d.check(d.settles(r))
		}
		if rand.N(3) == 0 {
			d.check(d.aborts(r))
		} else {
			d.check(d.completes(r))
		}
		if d.plugin.killed() >= size(20, 200) {
			return
		}
	}
}
