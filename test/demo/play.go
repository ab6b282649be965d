package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// What the examples are called.
const (
	pluginName = "solo-io/glooplatform"
	newImage   = "argoproj/rollouts-demo:yellow"
	path       = "/demo"
)

var (
	rolloutKey = client.ObjectKey{Namespace: "gloo-rollout-demo", Name: "demo"}
	tableKey   = client.ObjectKey{Namespace: "gloo-mesh", Name: "default"}
)

const (
	// minRequests is how many requests make a share worth showing.
	minRequests = 1000
	// gatewayDelay is about what Gloo takes from a table to the proxies.
	gatewayDelay = 300 * time.Millisecond
)

type options struct {
	plugin   string
	addr     string
	requests int
	keep     bool
}

// demo is a running bed with the examples in it.
type demo struct {
	options
	screen  *screen
	bed     *testbed.Bed
	gateway *gateway.Gateway
	host    string
}

// play brings the bed up, shows a release and takes the bed down, also if ctx ends meanwhile.
func play(ctx context.Context, s *screen, o options) (err error) {
	s.line("starting an API server and the Argo Rollouts controller with the plugin; some ten seconds")
	bed, err := testbed.Start(ctx, testbed.Options{
		Plugins:  []testbed.Plugin{{Name: pluginName, Binary: o.plugin}},
		Progress: s,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Stop(), s.err) }()
	d := &demo{options: o, screen: s, bed: bed}
	table, err := d.apply(ctx)
	if err != nil {
		return err
	}
	d.host = table.spec.Hosts[0]
	d.gateway, err = gateway.Start(ctx, bed.Config, gateway.Options{Addr: o.addr, Delay: gatewayDelay, DefaultHost: d.host})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.gateway.Stop()) }()
	if _, err := bed.WaitFor(ctx, rolloutKey, testbed.Healthy); err != nil {
		return err
	}
	s.line("")
	s.line("meanwhile, in another terminal:  curl http://" + d.gateway.Addr() + path)
	if err := d.release(ctx, table); err != nil {
		return err
	}
	if o.keep {
		return d.stay(ctx)
	}
	return nil
}

// apply creates the objects of examples/ and returns the table as stored.
func (d *demo) apply(ctx context.Context) (routeTable, error) {
	mesh := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tableKey.Namespace}} // in a cluster, Gloo brings it
	if err := d.bed.Client.Create(ctx, mesh); err != nil {
		return routeTable{}, err
	}
	files, err := filepath.Glob(filepath.Join(d.bed.Root, "examples", "*.yaml"))
	if err != nil {
		return routeTable{}, err
	}
	slices.Sort(files) // as kubectl takes them; the namespace comes first
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return routeTable{}, err
		}
		if _, err := d.bed.Apply(ctx, rolloutKey.Namespace, string(text)); err != nil {
			return routeTable{}, fmt.Errorf("%s: %w", file, err)
		}
		names = append(names, filepath.Base(file))
	}
	d.screen.line("applied examples/: " + strings.Join(names, ", "))
	return d.readTable(ctx)
}

// release changes the image and follows the release through its steps.
func (d *demo) release(ctx context.Context, before routeTable) error {
	rollout, err := d.bed.WaitFor(ctx, rolloutKey, testbed.Healthy)
	if err != nil {
		return err
	}
	if err := d.show(ctx, "at rest", 0); err != nil {
		return err
	}
	d.screen.line(fmt.Sprintf("\nnew image: %s -> %s", rollout.Spec.Template.Spec.Containers[0].Image, newImage))
	if err := d.bed.SetImage(ctx, rolloutKey, newImage); err != nil {
		return err
	}
	asked := 0
	for i, step := range rollout.Spec.Strategy.Canary.Steps {
		if step.SetWeight != nil {
			asked = int(*step.SetWeight)
		}
		if step.Pause == nil {
			continue
		}
		title := fmt.Sprintf("setWeight %d", asked)
		if err := d.await(ctx, title, asked, testbed.PausedAt(int32(i))); err != nil {
			return err
		}
		if err := d.show(ctx, title, asked); err != nil {
			return err
		}
		if err := d.bed.Promote(ctx, rolloutKey); err != nil {
			return err
		}
	}
	const end = "released, so that Service demo now means the new version"
	// A Rollout is healthy once the new version is stable; the weights go back in the reconcile after that.
	if err := d.await(ctx, end, 0, testbed.Healthy, testbed.CanaryWeight(0)); err != nil {
		return err
	}
	if err := d.show(ctx, end, 0); err != nil {
		return err
	}
	return d.compare(ctx, before)
}

// await waits for the Rollout and shows what the table says meanwhile.
func (d *demo) await(ctx context.Context, title string, asked int, until ...testbed.Condition) error {
	looking := testbed.Condition{Name: "a look at the table", Met: func(*v1alpha1.Rollout) bool {
		table, err := d.readTable(ctx)
		if err == nil {
			d.screen.paint(reading{title: title, asked: asked, table: table.weights()})
		}
		return err == nil
	}}
	_, err := d.bed.WaitFor(ctx, rolloutKey, append([]testbed.Condition{looking}, until...)...)
	return err
}

// show measures, once the gateway serves the table as it is now, and leaves the result on the screen.
func (d *demo) show(ctx context.Context, title string, asked int) error {
	if _, err := d.gateway.WaitObserved(ctx, tableKey.Namespace, tableKey.Name); err != nil {
		return err
	}
	table, err := d.readTable(ctx)
	if err != nil {
		return err
	}
	r := reading{title: title, asked: asked, table: table.weights(), services: map[string]int{}, images: map[string]int{}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.host+path, nil)
	if err != nil {
		return err
	}
	for r.requests < d.requests {
		tally, err := d.gateway.Share(ctx, min(100, d.requests-r.requests), req)
		if err != nil {
			return err
		}
		r.add(tally)
		d.screen.paint(r)
		d.screen.rest(ctx)
	}
	d.screen.keep(r)
	return d.screen.err
}

// compare says whether the table is as it was applied.
func (d *demo) compare(ctx context.Context, before routeTable) error {
	after, err := d.readTable(ctx)
	if err != nil {
		return err
	}
	was, is := before.own(), after.own()
	if !reflect.DeepEqual(was, is) {
		return fmt.Errorf("RouteTable %s is not as it was: applied\n%s\nfound\n%s", tableKey, asYAML(was), asYAML(is))
	}
	d.screen.line(fmt.Sprintf("\nRouteTable %s is as it was applied; every request now gets the new image:\n", tableKey))
	d.screen.line(indent(asYAML(after.object.Object["spec"])))
	return nil
}

func asYAML(value any) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}
