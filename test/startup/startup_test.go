// Package startup holds no code: its tests see what the controller says of plugins that do not start, and that
// docs/troubleshooting.md quotes it.
package startup

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// symptom returns what the page quotes under a heading that begins with these words, as an expression: … is anything.
func symptom(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?m)^### `(.*" + regexp.QuoteMeta(heading) + ".*)`$").FindSubmatch(page)
	if m == nil {
		t.Fatalf("docs/troubleshooting.md has no heading with %q", heading)
	}
	return strings.ReplaceAll(regexp.QuoteMeta(string(m[1])), "…", ".*")
}

// faulty are programs that are no plugins, by the last part of the name that they are registered by.
var faulty = map[string][]byte{
	"other-machine": forOtherMachine(),
	"talkative":     []byte("#!/bin/sh\necho hello\n"),
	"silent":        []byte("#!/bin/sh\nexit 3\n"),
}

// forOtherMachine is the head of an ELF file for a machine that nobody has.
func forOtherMachine() []byte {
	head := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 57)...)
	binary.LittleEndian.PutUint16(head[16:], 2) // an executable
	binary.LittleEndian.PutUint16(head[18:], 0xfeed)
	return head
}

func TestPluginsThatDoNotStart(t *testing.T) {
	if os.Getenv(testbed.Env) == "off" {
		t.Skip("no test bed: switched off")
	}
	o := testbed.Options{}
	dir := t.TempDir()
	for name, program := range faulty {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, program, 0o600); err != nil {
			t.Fatal(err)
		}
		o.Plugins = append(o.Plugins, testbed.Plugin{Name: "faulty/" + name, Binary: path})
	}
	code := testbed.Run(o, func(bed *testbed.Bed) int {
		s := bed.For(t) // or skip
		t.Run("at the first Rollout", func(t *testing.T) { atTheFirstRollout(t, bed, s.Namespace) })
		t.Run("with the controller", func(t *testing.T) { withTheController(t, bed) })
		return 0
	})
	if code != 0 {
		t.Errorf("the bed ended with %d", code)
	}
}

const rollout = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: NAME}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: main, image: main}]}
  strategy:
    canary:
      trafficRouting: {plugins: {faulty/NAME: {}}}
      steps: [{setWeight: 10}]
`

// The controller starts, and finds out when a Rollout first needs the plugin.
func atTheFirstRollout(t *testing.T, bed *testbed.Bed, namespace string) {
	for name, heading := range map[string]string{
		"other-machine":  "exec format error",
		"talkative":      "Unrecognized remote plugin message",
		"silent":         "Failed to read any lines",
		"not-registered": "unable to find plugin",
	} {
		if _, err := bed.Apply(t.Context(), namespace, strings.ReplaceAll(rollout, "NAME", name)); err != nil {
			t.Fatal(err)
		}
		want := symptom(t, heading)
		if err := bed.WaitUntil(t.Context(), heading, func(context.Context) (bool, error) {
			return len(bed.Controller.Log().Grep(want)) > 0, nil
		}); err != nil {
			t.Errorf("%s: %v\n%s", name, err, strings.Join(bed.Controller.Log().Grep("faulty/"+name), "\n"))
		}
	}
}

// The controller ends at once.
func withTheController(t *testing.T, bed *testbed.Bed) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/plugin" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "a plugin")
	}))
	defer server.Close()
	sum := strings.Repeat("0", 64)
	for _, tt := range []struct{ heading, entry string }{
		{"does not match expected hash", "name: test/plugin\n  location: " + server.URL + "/plugin\n  sha256: " + sum},
		{"response code Not Found", "name: test/plugin\n  location: " + server.URL + "/elsewhere"},
		{"connection refused", "name: test/plugin\n  location: http://127.0.0.1:1/plugin"},
		{"failed to get file stat", "name: test/plugin\n  location: file:///nowhere/plugin"},
		{"must be in the format of", "name: plugin\n  location: file:///plugin"},
		{"failed to create plugin folder", "name: test/plugin\n  location: " + server.URL + "/plugin"},
	} {
		t.Run(tt.heading, func(t *testing.T) {
			if err := bed.Controller.Stop(); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(tt.heading, "folder") {
				isNoFolder(t, bed)
			}
			register(t, bed, tt.entry)
			err := bed.Controller.Start(t.Context())
			if err == nil || !regexp.MustCompile(symptom(t, tt.heading)).MatchString(err.Error()) {
				t.Errorf("the controller says\n%v\nwant %s", err, symptom(t, tt.heading))
			}
		})
	}
}

// register makes an entry the only one that the controller has for traffic routers.
func register(t *testing.T, bed *testbed.Bed, entry string) {
	t.Helper()
	config := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: testbed.ControllerNamespace, Name: "argo-rollouts-config"}
	if err := bed.Client.Get(t.Context(), key, config); err != nil {
		t.Fatal(err)
	}
	config.Data["trafficRouterPlugins"] = "- " + entry + "\n"
	if err := bed.Client.Update(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}

// isNoFolder makes plugin-bin one that cannot be written to, whoever asks.
func isNoFolder(t *testing.T, bed *testbed.Bed) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(bed.Dir, "*", "plugin-bin"))
	if err != nil || len(found) != 1 {
		t.Fatalf("plugin-bin is at %v, %v", found, err)
	}
	if err := os.RemoveAll(found[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(found[0], nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
