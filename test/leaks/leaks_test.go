// Package leaks holds no code: its test calls the plugin for a long time, and looks at what its process holds meanwhile.
package leaks

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/caller"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// calls is how many calls are made in all. What is remembered of objects that are gone is bounded by their number, 10,000, so
// memory is only looked at in a run that comes to that in its first half.
var calls = flag.Int("calls", 2000, "calls of the plugin")

const (
	longRun      = 100_000
	callers      = 4
	callsOfTable = 5
	samples      = 40
)

var (
	bed    *testbed.Bed
	binary string
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(testbed.RunWithPlugin(testbed.Options{APIOnly: true}, func(b *testbed.Bed, plugin string) int {
		bed, binary = b, plugin
		return m.Run()
	}))
}

const objects = `
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 8080}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: web-canary}, spec: {selector: {app: web}, ports: [{port: 8080}]}}
`

const table = `
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: %s}
spec:
  http:
    - name: web
      forwardTo: {destinations: [{ref: {name: web}, port: {number: 8080}}]}
`

const rollout = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: %[1]s, namespace: %[2]s, uid: %[1]s}
spec:
  strategy:
    canary:
      stableService: web
      canaryService: web-canary
      trafficRouting: {plugins: {solo-io/glooplatform: {routeTableSelector: {name: %[1]s}}}}
`

// Rollouts and their tables come and go under ever new names. The plugin's process holds no more of anything in the end than it
// did half of the way.
func TestNothingLeaks(t *testing.T) {
	s := bed.For(t) // or skip
	s.Apply(objects)
	address := testbed.UnusedAddress(t)
	plugin, err := caller.Start(binary, bed.Kubeconfig, "--metrics-address", address)
	if err != nil {
		t.Fatal(err)
	}
	defer plugin.Stop()
	var held []sample
	for n := range samples {
		if err := releases(t.Context(), plugin, s.Namespace, n, *calls/samples/callsOfTable); err != nil {
			t.Fatalf("%v\n%s", err, plugin.Log())
		}
		held = append(held, look(t, address))
		t.Logf("after %7d calls: %s", (n+1)*(*calls)/samples, held[n])
	}
	early, late := held[samples/2:samples*3/4], held[samples*3/4:]
	for _, what := range []struct {
		name   string
		of     func(sample) float64
		margin float64 // for what is under way at the moment
	}{
		{"goroutines", func(s sample) float64 { return s.goroutines }, 20},
		{"file descriptors", func(s sample) float64 { return s.descriptors }, 10},
		{"bytes in use", func(s sample) float64 { return s.heap }, 16 << 20},
	} {
		if what.name == "bytes in use" && *calls < longRun {
			continue
		}
		if before, after := median(early, what.of), median(late, what.of); after > before+what.margin {
			t.Errorf("%s: %.0f in the third quarter, %.0f in the last", what.name, before, after)
		}
	}
}

// releases makes so many tables, has each released on and deletes it again.
func releases(ctx context.Context, plugin *caller.Plugin, namespace string, round, count int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(callers)
	for i := range count {
		group.Go(func() error { return release(ctx, plugin, namespace, fmt.Sprintf("table-%d-%d", round, i)) })
	}
	return group.Wait()
}

// release makes callsOfTable calls.
func release(ctx context.Context, plugin *caller.Plugin, namespace, name string) error {
	if _, err := bed.Apply(ctx, namespace, fmt.Sprintf(table, name)); err != nil {
		return err
	}
	ro := &v1alpha1.Rollout{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, rollout, name, namespace), ro); err != nil {
		return err
	}
	for _, weight := range []int32{10, 0} {
		if err := plugin.SetWeight(ro, weight, nil); err.HasError() {
			return fmt.Errorf("SetWeight %d: %w", weight, err)
		}
		if _, err := plugin.VerifyWeight(ro, weight, nil); err.HasError() {
			return fmt.Errorf("VerifyWeight %d: %w", weight, err)
		}
	}
	if err := plugin.RemoveManagedRoutes(ro); err.HasError() {
		return fmt.Errorf("RemoveManagedRoutes: %w", err)
	}
	return gone(ctx, namespace, name)
}

// gone deletes a table, which must be as it was applied.
func gone(ctx context.Context, namespace, name string) error {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "networking.gloo.solo.io", Version: "v2", Kind: "RouteTable"})
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if err := bed.Client.Get(ctx, key, o); err != nil {
		return err
	}
	spec, err := json.Marshal(o.Object["spec"])
	if err != nil {
		return err
	}
	if want := `{"http":[{"forwardTo":{"destinations":[{"port":{"number":8080},"ref":{"name":"web"}}]},"name":"web"}]}`; string(spec) != want {
		return fmt.Errorf("RouteTable %s is %s, want %s", name, spec, want)
	}
	return bed.Client.Delete(ctx, o)
}

func median(of []sample, value func(sample) float64) float64 {
	var all []float64
	for _, s := range of {
		all = append(all, value(s))
	}
	slices.Sort(all)
	return all[len(all)/2]
}
