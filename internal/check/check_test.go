package check_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/rollout/trafficrouting/plugin/rpc"
	"github.com/hashicorp/go-hclog"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/check"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
)

// options are those of a check by the very binary that testdata/healthy.yaml registers.
func options() check.Options {
	return check.Options{
		APIs:                plugin.APIs(),
		ControllerNamespace: "argo-rollouts", ServiceAccount: "argo-rollouts",
		Names: plugin.Names,
		Given: []check.Plugin{as(plugin.Options{Name: plugin.Names[0]}), as(plugin.Options{Name: plugin.Names[1]})},
		Self:  check.Self{Sha256: "5e1f", OS: "linux", Arch: "amd64"},
		Registered: func(name string, args []string) (check.Plugin, error) {
			o, elsewhere := plugin.Options{Name: name}, false
			for pair := range slices.Chunk(args, 2) {
				switch pair[0] {
				case "--route-namespaces":
					o.RouteNamespaces = strings.Split(pair[1], ",")
				case "--cluster":
					o.Bounds.Cluster = pair[1]
				case "--kubeconfig":
					elsewhere = true
				default:
					return check.Plugin{}, errors.New("unknown flag: " + pair[0])
				}
			}
			p := as(o)
			p.Elsewhere = elsewhere
			return p, nil
		},
	}
}

// as returns the plugin with these options.
func as(o plugin.Options) check.Plugin {
	return check.Plugin{
		Name: o.Name, Bounds: o.Bounds, RouteNamespaces: o.RouteNamespaces, Targets: o.Targets,
		Router: func(cluster engine.Cluster) rpc.TrafficRouterPlugin {
			o.Log = hclog.NewNullLogger()
			o.Connect = func() (plugin.Connection, error) { return plugin.Connection{Cluster: cluster}, nil }
			return plugin.NewRouter(o)
		},
	}
}

// run checks one cluster.
func run(t *testing.T, c *cluster, o check.Options) check.Report {
	t.Helper()
	return check.Run(t.Context(), check.Clusters{Tables: c, Controller: c}, o)
}

// lines returns what a person is told, but for what is as it should be.
func lines(t *testing.T, r check.Report) string {
	t.Helper()
	out, left := bytes.Buffer{}, &strings.Builder{}
	if err := r.PrintText(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "ok") && !strings.Contains(line, " wrong\n") {
			left.WriteString(line)
		}
	}
	return left.String()
}

// row is a cluster that is otherwise than it should be in one way, and what is then said.
type row struct {
	name    string
	changes []string
	edit    func(*cluster)
	want    string
}

func (tt row) check(t *testing.T, options check.Options) { tt.checkIn(t, "healthy.yaml", options) }

func (tt row) checkIn(t *testing.T, file string, options check.Options) {
	t.Run(tt.name, func(t *testing.T) {
		t.Helper()
		c := in(t, file, tt.changes...)
		if tt.edit != nil {
			tt.edit(c)
		}
		r := run(t, c, options)
		if got, want := lines(t, r), strings.TrimPrefix(tt.want, "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if wrong := strings.Contains(tt.want, "fail  "); r.Wrong() != wrong {
			t.Errorf("wrong is %t, want %t", r.Wrong(), wrong)
		}
	})
}

func TestHealthy(t *testing.T) {
	out := bytes.Buffer{}
	if err := run(t, healthy(t), options()).PrintText(&out); err != nil {
		t.Fatal(err)
	}
	want := `
ok    ConfigMap argo-rollouts/argo-rollouts-config: registers solo-io/glooplatform, at https://example.com/v1/rollouts-plugin-trafficrouter-glooplatform-linux-amd64
ok    ConfigMap argo-rollouts/argo-rollouts-config: solo-io/glooplatform: its sha256 is that of this binary
ok    Argo Rollouts controller in namespace argo-rollouts: it is v1.10.1
ok    CustomResourceDefinition rollouts.argoproj.io: v1alpha1 is served
ok    CustomResourceDefinition routetables.networking.gloo.solo.io: v2 is served
ok    CustomResourceDefinition mirrorpolicies.trafficcontrol.policy.gloo.solo.io: v2 is served
ok    ServiceAccount argo-rollouts/argo-rollouts: may get, list, watch, patch routetables.networking.gloo.solo.io in all namespaces
ok    ServiceAccount argo-rollouts/argo-rollouts: may get, list, watch, create, patch, delete mirrorpolicies.trafficcontrol.policy.gloo.solo.io in all namespaces
ok    ServiceAccount argo-rollouts/argo-rollouts: may get, list, watch services in all namespaces
ok    ServiceAccount argo-rollouts/argo-rollouts: may create, patch events in all namespaces
ok    Rollout apps/web: solo-io/glooplatform moves its weight on RouteTable gloo-mesh/front http[0] "web"
ok    RouteTable gloo-mesh/front: Gloo has accepted it
12 ok, 0 to note, 0 to be warned of, 0 wrong
`
	if got := "\n" + out.String(); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
}

// What a program reads is what a person sees.
func TestForPrograms(t *testing.T) {
	r := run(t, healthy(t, "v1.10.1", "nightly"), options())
	out := bytes.Buffer{}
	if err := r.PrintJSON(&out); err != nil {
		t.Fatal(err)
	}
	read := struct {
		check.Report
		Counts map[check.Mark]int `json:"counts"`
	}{}
	if err := json.Unmarshal(out.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read.Report, r) || read.Counts[check.Note] != 1 || read.Counts[check.OK] != len(r.Findings)-1 {
		t.Errorf("got %+v\nwant %+v", read, r)
	}
}
