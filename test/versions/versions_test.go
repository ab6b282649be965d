// Package versions holds no code: its test drives the plugin through a release with the types and RPC clients of several
// versions of Argo Rollouts.
package versions

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// versions are those of Argo Rollouts that a driver is built against. The last one is that of this module, and the others have a
// .mod file here.
var versions = []string{"v1.7.2", "v1.8.5", "v1.9.2", "v1.10.1"}

var (
	bed    *testbed.Bed
	binary string // the plugin
)

func TestMain(m *testing.M) {
	os.Exit(testbed.RunWithPlugin(testbed.Options{APIOnly: true}, func(b *testbed.Bed, plugin string) int {
		bed, binary = b, plugin
		return m.Run()
	}))
}

const services = `
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 8080}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: web-canary}, spec: {selector: {app: web}, ports: [{port: 8080}]}}
`

const table = `
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: demo}
spec:
  hosts: [demo.example.com]
  http:
    - name: main
      matchers: [{uri: {prefix: /}}]
      forwardTo: {destinations: [{ref: {name: web}, port: {number: 8080}}]}
`

// rollout is in the middle of a release, at a step. It holds a field that
// v1.7 and v1.8 lack (replicaProgressThreshold), one that v1.7 lacks (stepPluginStatuses), and one that nobody knows.
const rollout = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, namespace: NAMESPACE, uid: web, resourceVersion: "STEP", annotations: {rollout.argoproj.io/revision: "2"}}
spec:
  replicas: 4
  fromTheFuture: {yes: 1}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:2"}]}
  analysis: {successfulRunHistoryLimit: 1}
  strategy:
    canary:
      stableService: web
      canaryService: web-canary
      replicaProgressThreshold: {type: Percent, value: 90}
      trafficRouting:
        managedRoutes: [{name: beta}, {name: copy}]
        plugins: {solo-io/glooplatform: {routeTableSelector: {name: demo}}}
      steps:
        - setHeaderRoute: {name: beta, match: [{headerName: x-beta, headerValue: {exact: "yes"}}]}
        - setMirrorRoute: {name: copy, percentage: 35, match: [{method: {exact: GET}}]}
        - setWeight: 10
        - pause: {}
        - setWeight: 60
        - pause: {}
status:
  stableRS: one
  currentPodHash: two
  currentStepIndex: STEP
  ABORT
  canary: {stepPluginStatuses: [{index: 0, name: x, phase: Successful, operation: Run}]}
`

// call is one that the driver makes; see there. step is where the Rollout is.
type call struct {
	Verb       string          `json:"verb"`
	Rollout    json.RawMessage `json:"rollout"`
	Weight     int32           `json:"weight"`
	CanaryHash string          `json:"canaryHash"`
	StableHash string          `json:"stableHash"`
	Header     json.RawMessage `json:"header,omitempty"`
	Mirror     json.RawMessage `json:"mirror,omitempty"`
	step       int
	abort      bool
}

type answer struct {
	Version  string `json:"version"`
	Type     string `json:"type"`
	Verified bool   `json:"verified"`
	Error    string `json:"error"`
}

const (
	header   = `{"name":"beta","match":[{"headerName":"x-beta","headerValue":{"exact":"yes"}}]}`
	mirror   = `{"name":"copy","percentage":35,"match":[{"method":{"exact":"GET"}}]}`
	applied  = "main: web"
	withBeta = "beta: web-canary; "
	withCopy = "beta: web-canary; copy: "
)

// story is a release that is aborted, call by call, with the table after each.
var story = []struct {
	call call
	want string
}{
	{call{Verb: "SetHeaderRoute", Header: json.RawMessage(header)}, withBeta + applied},
	{call{Verb: "SetMirrorRoute", Mirror: json.RawMessage(mirror), step: 1}, withCopy + "web; main: web"},
	{call{Verb: "UpdateHash", CanaryHash: "two", StableHash: "one", step: 2}, withCopy + "web; main: web"},
	{call{Verb: "SetWeight", Weight: 10, step: 2}, withCopy + "web 90, web-canary 10; main: web 90, web-canary 10"},
	{call{Verb: "VerifyWeight", Weight: 10, step: 2}, withCopy + "web 90, web-canary 10; main: web 90, web-canary 10"},
	{call{Verb: "SetWeight", Weight: 60, step: 4}, withCopy + "web 40, web-canary 60; main: web 40, web-canary 60"},
	{call{Verb: "VerifyWeight", Weight: 60, step: 4}, withCopy + "web 40, web-canary 60; main: web 40, web-canary 60"},
	{call{Verb: "RemoveManagedRoutes", step: 5, abort: true}, "main: web 40, web-canary 60"},
	{call{Verb: "SetWeight", step: 5, abort: true}, applied},
	{call{Verb: "VerifyWeight", step: 5, abort: true}, applied},
}

func TestEveryVersionDrivesARelease(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			s := bed.For(t)
			s.Apply(services)
			written := s.Apply(table)[0]
			d := start(t, version)
			for i, step := range story {
				a := d.make(step.call, s.Namespace)
				if a.Version != version || a.Type != "solo-io/glooplatform" {
					t.Fatalf("the driver is of %s, and calls %s", a.Version, a.Type)
				}
				if verified := step.call.Verb == "VerifyWeight"; a.Error != "" || a.Verified != verified {
					t.Errorf("%d: %s: verified %v, %s", i, step.call.Verb, a.Verified, a.Error)
				}
				if got := routes(t, s.Get("networking.gloo.solo.io/v2", "RouteTable", "demo")); got != step.want {
					t.Errorf("%d: after %s the table has %s\nwant %s", i, step.call.Verb, got, step.want)
				}
			}
			now := s.Get("networking.gloo.solo.io/v2", "RouteTable", "demo")
			if !reflect.DeepEqual(now.Object["spec"], written.Object["spec"]) || len(now.GetAnnotations()) > 0 {
				t.Errorf("at the end the table is %v", now.Object)
			}
		})
	}
}

// driver is a process that calls the plugin.
type driver struct {
	t       *testing.T
	calls   *json.Encoder
	answers *json.Decoder
}

// start builds the driver against a version of Argo Rollouts, and starts it.
func start(t *testing.T, version string) driver {
	t.Helper()
	out := filepath.Join(t.TempDir(), "driver")
	args := []string{"build", "-o", out}
	if version != versions[len(versions)-1] {
		args = append(args, "-modfile="+filepath.Join(bed.Root, "test", "versions", version+".mod"))
	}
	build := exec.CommandContext(t.Context(), "go", append(args, "./test/versions/driver")...)
	build.Dir = bed.Root
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	cmd := exec.Command(out, binary, bed.Kubeconfig)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	stdout, errOut := cmd.StdoutPipe()
	if err := errors.Join(err, errOut, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ends(t, cmd, stdin) })
	return driver{t, json.NewEncoder(stdin), json.NewDecoder(stdout)}
}

func ends(t *testing.T, cmd *exec.Cmd, stdin io.Closer) {
	t.Helper()
	if err := errors.Join(stdin.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
}

// make makes a call for the Rollout of a namespace.
func (d driver) make(c call, namespace string) answer {
	d.t.Helper()
	aborted := ""
	if c.abort {
		aborted = "abort: true"
	}
	text := strings.NewReplacer("NAMESPACE", namespace, "STEP", fmt.Sprint(c.step), "ABORT", aborted).Replace(rollout)
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		d.t.Fatal(err)
	}
	c.Rollout = raw
	a := answer{}
	if err := errors.Join(d.calls.Encode(c), d.answers.Decode(&a)); err != nil {
		d.t.Fatal(err)
	}
	return a
}

// routes names each route of a table with its destinations and their weights.
func routes(t *testing.T, table *unstructured.Unstructured) string {
	t.Helper()
	read := struct {
		Spec struct {
			HTTP []struct {
				Name      string
				ForwardTo struct {
					Destinations []struct {
						Ref    struct{ Name string }
						Weight int
					}
				}
			}
		}
	}{}
	raw, err := table.MarshalJSON()
	if err := errors.Join(err, json.Unmarshal(raw, &read)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, route := range read.Spec.HTTP {
		var destinations []string
		for _, d := range route.ForwardTo.Destinations {
			text := d.Ref.Name
			if d.Weight > 0 {
				text += fmt.Sprintf(" %d", d.Weight)
			}
			destinations = append(destinations, text)
		}
		names = append(names, route.Name+": "+strings.Join(destinations, ", "))
	}
	return strings.Join(names, "; ")
}
