package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// snapshot returns the binary that `make release` has built for this machine, or else the given one.
func snapshot(otherwise string) string {
	found, err := filepath.Glob("../../dist/plugin_linux_" + runtime.GOARCH + "*/rollouts-plugin-trafficrouter-glooplatform")
	if err != nil || len(found) != 1 {
		return otherwise
	}
	return found[0]
}

// serveRelease serves a binary as a release does: as a raw file under its name, with its sha256 known.
func serveRelease(otherwise string) (entry testbed.Plugin, stop func(), err error) {
	program, err := os.ReadFile(snapshot(otherwise))
	if err != nil {
		return testbed.Plugin{}, nil, err
	}
	name := "/rollouts-plugin-trafficrouter-glooplatform-linux-" + runtime.GOARCH
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != name {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(program))
	}))
	sum := sha256.Sum256(program)
	return testbed.Plugin{Name: downloaded, URL: server.URL + name, SHA256: hex.EncodeToString(sum[:])}, server.Close, nil
}

// The controller downloads the plugin, compares its sum and finishes a release with it, as clusters do. What another sum looks
// like, package startup sees.
func TestDownloadedPlugin(t *testing.T) {
	t.Parallel()
	if snapshot("") == "" {
		t.Log("make release has not been run: what is downloaded is not a release's binary, but that of the other tests")
	}
	d := setup{plugin: downloaded, tables: file(t, "table-stable.yaml"), steps: stepsTo(50)}.begin(t)
	d.release("web:2")
	d.reaches(50)
	d.serves("/demo", shares{"web:1": 50, "web:2": 50})
	d.promote()
	d.completes("web:2")
}
