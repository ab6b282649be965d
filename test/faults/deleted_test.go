package faults

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/proxy"
)

// The table is deleted in the middle of a release, and made again as people wrote it. While it is not there, the calls say
// so.
func TestTableDeletedAndMadeAgain(t *testing.T) {
	t.Parallel()
	d := setup{}.begin(t)
	d.reaches(at10)
	d.witness.excuse("shop")
	d.check(d.person.replace(t.Context(), "shop", func() { d.failsWith(d.releases[0], "no RouteTable") }))
	d.finishes()
}

// The table is deleted and made again between the plugin's read and its write.
func TestTableReplacedBeforeAWrite(t *testing.T) {
	t.Parallel()
	d := setup{}.begin(t)
	d.reaches(at10)
	var replaced atomic.Bool
	d.proxy.SetFault(func(_ http.ResponseWriter, r proxy.Request) bool {
		if r.Verb == "patch" && r.Resource == "routetables" && replaced.CompareAndSwap(false, true) {
			d.witness.excuse("shop")
			if err := d.person.replace(r.Context(), "shop", func() {}); err != nil {
				d.t.Error(err)
			}
		}
		return false
	})
	d.reaches(at50)
	if !replaced.Load() {
		t.Error("nothing was written")
	}
	d.finishes()
}
