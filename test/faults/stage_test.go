package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/proxy"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// setup is what a test begins with. The zero value is Rollout web and a table.
type setup struct {
	// tables are the Rollouts that each table serves, by its name.
	tables map[string][]string
	// args are the plugin's.
	args []string
	// pause is for how long, on average, the person does nothing after an edit. 0: 100 ms.
	pause time.Duration
	// kubeconfig writes a file that leads the plugin through the proxy. Nil: plainly.
	kubeconfig func(t *testing.T, p *proxy.Proxy, path string)
}

// stage is one test's tables, Rollouts and plugin, with a proxy between that and the API server.
type stage struct {
	*testbed.Scope
	t        *testing.T
	proxy    *proxy.Proxy
	plugin   *process
	person   *person
	witness  *witness
	releases []*release // by name
	began    time.Time
	mu       sync.Mutex
	done     int // releases that were completed or aborted
}

// begin applies everything. From then on the witness looks, and the person works.
func (s setup) begin(t *testing.T) *stage {
	t.Helper()
	if s.tables == nil {
		s.tables = map[string][]string{"shop": {"web"}}
	}
	d := &stage{Scope: bed.For(t), t: t, began: time.Now()}
	d.person = &person{namespace: d.Namespace, pause: max(s.pause, 100*time.Millisecond), written: map[string]*unstructured.Unstructured{}}
	tablesOf := map[string][]string{}
	for _, table := range slices.Sorted(maps.Keys(s.tables)) {
		d.person.written[table] = d.Apply(tableOf(table, s.tables[table]...))[0]
		for _, rollout := range s.tables[table] {
			tablesOf[rollout] = append(tablesOf[rollout], table)
		}
	}
	for _, rollout := range slices.Sorted(maps.Keys(tablesOf)) {
		d.Apply(servicesOf(rollout))
		r, err := newRelease(d.Namespace, rollout, tablesOf[rollout]...)
		d.check(err)
		d.releases = append(d.releases, r)
	}
	d.connect(s)
	var err error
	d.witness, err = newWitness(context.WithoutCancel(t.Context()), d.Namespace, d.releases)
	d.check(err)
	d.employ()
	return d
}

// connect starts the proxy, and has the plugin started by way of it.
func (d *stage) connect(s setup) {
	d.t.Helper()
	var err error
	d.proxy, err = proxy.Start(bed.Config)
	d.check(err)
	d.plugin = &process{kubeconfig: filepath.Join(d.t.TempDir(), "kubeconfig"), args: s.args}
	if s.kubeconfig != nil {
		s.kubeconfig(d.t, d.proxy, d.plugin.kubeconfig)
	} else {
		d.check(d.proxy.Kubeconfig(d.plugin.kubeconfig))
	}
	d.t.Cleanup(func() {
		if log := d.plugin.stop(); d.t.Failed() || strings.Contains(log, "panic") {
			d.t.Errorf("the plugin's log:\n%s", log[max(0, len(log)-8000):])
		}
		d.check(d.proxy.Refuse())
	})
}

// employ lets the person work until the test is over.
func (d *stage) employ() {
	ctx, cancel := context.WithCancel(context.Background())
	rests := make(chan error, 1)
	go func() { rests <- d.person.keepsEditing(ctx) }()
	d.t.Cleanup(func() {
		cancel()
		if err := <-rests; err != nil {
			d.t.Error(err)
		}
		d.ends()
	})
}

func (d *stage) check(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// patience bounds how long the controller is let try: a release that stands still fails its test.
const patience = 2 * time.Minute

// settles reconciles a Rollout as often as it takes, and checks that what is verified is true.
func (d *stage) settles(r *release) error {
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	pause := wait.Backoff{Duration: 20 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 20, Cap: 500 * time.Millisecond}
	for {
		err := d.reconcile(r)
		if err == nil {
			return d.witness.confirm(ctx, r)
		}
		select {
		case <-time.After(pause.Step()):
		case <-ctx.Done():
			return fmt.Errorf("Rollout %s stands still at step %d: %w", r.name, r.step, err)
		}
	}
}

// reconcile makes the calls of one reconcile of a Rollout.
func (d *stage) reconcile(r *release) error {
	router, err := d.plugin.router()
	if err != nil {
		return err
	}
	return r.reconcile(router)
}

// goes brings a release to a step, and settles it there.
func (d *stage) goes(r *release, step int32) error {
	for {
		if err := d.settles(r); err != nil || r.step >= step {
			return err
		}
		r.next()
	}
}

// completes brings a release to its end.
func (d *stage) completes(r *release) error {
	if err := d.goes(r, atEnd); err != nil {
		return err
	}
	r.next()
	return d.over(r)
}

// aborts ends a release where it is.
func (d *stage) aborts(r *release) error {
	r.abort()
	return d.over(r)
}

func (d *stage) over(r *release) error {
	d.mu.Lock()
	d.done++
	d.mu.Unlock()
	return d.settles(r)
}

// reaches is goes, with the only Rollout.
func (d *stage) reaches(step int32) {
	d.t.Helper()
	d.check(d.goes(d.releases[0], step))
}

// finishes is completes, with the only Rollout.
func (d *stage) finishes() {
	d.t.Helper()
	d.check(d.completes(d.releases[0]))
}

// ends checks that nothing is left of the releases, and nothing of the person's work is lost.
func (d *stage) ends() {
	if !d.t.Failed() {
		for name := range d.person.written {
			if err := d.person.compare(context.Background(), name); err != nil {
				d.t.Error(err)
			}
		}
		policies := &unstructured.UnstructuredList{}
		policies.SetGroupVersionKind(policyKind.GroupVersion().WithKind(policyKind.Kind + "List"))
		if err := bed.Client.List(context.Background(), policies, client.InNamespace(d.Namespace)); err != nil || len(policies.Items) > 0 {
			d.t.Errorf("%d policies are left, %v", len(policies.Items), err)
		}
	}
	if err := d.witness.ends(); err != nil {
		d.t.Error(err)
	}
	outcomes.add(d.outcome())
}

func (d *stage) outcome() outcome {
	o := outcome{fault: strings.TrimPrefix(d.t.Name(), "Test"), took: time.Since(d.began), releases: d.done, kills: d.plugin.kills, edits: int(d.person.edits), states: d.witness.states}
	for _, r := range d.releases {
		o.calls += r.calls
		o.failed += r.failed
	}
	for request, n := range d.proxy.Counts() {
		verb, resource, _ := strings.Cut(request, " ")
		if resource == "events" {
			continue
		}
		o.requests += n
		if !slices.Contains([]string{"get", "list", "watch"}, verb) {
			o.writes += n
		}
	}
	return o
}

// failsWith reconciles a Rollout until that fails with all of these words.
func (d *stage) failsWith(r *release, words ...string) {
	d.t.Helper()
	var last error
	d.check(errors.Join(bed.WaitUntil(d.t.Context(), "an error with "+strings.Join(words, ", "), func(context.Context) (bool, error) {
		last = d.reconcile(r)
		if last == nil {
			return false, nil
		}
		for _, word := range words {
			if !strings.Contains(last.Error(), word) {
				return false, last
			}
		}
		return true, nil
	})))
}
