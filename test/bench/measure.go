package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/utils/plugin/types"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/caller"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/proxy"
)

// what is measured: a Rollout whose block selects so many tables of a namespace.
type what struct {
	name, namespace, block string
	tables                 int
}

var cases = []what{
	{"1 of 10 tables", "ten", "routeTableSelector: {name: table-3}", 1},
	{"1 of 1,000 tables", "thousand", "routeTableSelector: {name: table-777}", 1},
	{"50 of 1,000 tables", "thousand", `routeTableSelector: {labels: {several: "true"}}`, fifty},
}

const (
	quietReconciles   = 1000
	changeReconciles  = 40
	workers           = 10 // as many as the controller has
	concurrentSeconds = 3
)

// Result is what one case took. A reconcile is a SetWeight and a VerifyWeight.
type Result struct {
	Case string `json:"case"`
	// Floor is the RPC alone: twice UpdateHash, which carries a Rollout and does next to nothing.
	Floor times `json:"floor"`
	// Unchanged is a reconcile that changes nothing, and Changed one that changes the weight of every table.
	Unchanged times `json:"unchanged"`
	Changed   times `json:"changed"`
	// Patches is as many patches as Changed sends, sent by the benchmark itself: what the API server alone takes.
	Patches times `json:"patches"`
	// ReconcilesPerSecond is of ten callers at once, while nothing changes.
	ReconcilesPerSecond float64 `json:"reconcilesPerSecond"`
	// StartMiB and PeakMiB are the plugin's resident memory after InitPlugin and at most.
	StartMiB float64 `json:"startMiB"`
	PeakMiB  float64 `json:"peakMiB"`
}

// times are of one kind of calls, in milliseconds, with the API requests that each brought about.
type times struct {
	P50    float64 `json:"p50"`
	P99    float64 `json:"p99"`
	Reads  float64 `json:"reads"`
	Writes float64 `json:"writes"`
}

func measure(ctx context.Context, binary, kubeconfig string, between *proxy.Proxy, w what) (Result, error) {
	result := Result{Case: w.name}
	ro, err := rollout(w.namespace, w.block)
	if err != nil {
		return result, err
	}
	plugin, err := caller.Start(binary, kubeconfig)
	if err != nil {
		return result, err
	}
	defer plugin.Stop()
	m := meter{ctx: ctx, plugin: plugin, proxy: between, ro: ro}
	if result.StartMiB, err = memory(plugin.PID(), "VmRSS"); err != nil {
		return result, err
	}
	if err := m.reconcile(10); err != nil {
		return result, err
	}
	if result.Floor, err = m.times(quietReconciles, func(int) error { return errors.Join(m.updateHash(), m.updateHash()) }); err != nil {
		return result, err
	}
	if result.Unchanged, err = m.times(quietReconciles, func(int) error { return m.reconcile(10) }); err != nil {
		return result, err
	}
	if result.ReconcilesPerSecond, err = m.perSecond(); err != nil {
		return result, err
	}
	if result.Changed, err = m.times(changeReconciles, func(i int) error { return m.reconcile(int32(20 + i%2*10)) }); err != nil {
		return result, err
	}
	if want := float64(w.tables); result.Changed.Writes != want {
		return result, fmt.Errorf("%v writes for a change of %d tables", result.Changed.Writes, w.tables)
	}
	if err := m.reconcile(0); err != nil {
		return result, err
	}
	if result.PeakMiB, err = memory(plugin.PID(), "VmHWM"); err != nil {
		return result, err
	}
	patcher, err := newPatcher(kubeconfig, w)
	if err != nil {
		return result, err
	}
	result.Patches, err = m.times(changeReconciles, func(i int) error { return patcher.patch(ctx, 100-i%2*10) })
	return result, err
}

// meter calls the plugin and measures.
type meter struct {
	ctx    context.Context
	plugin *caller.Plugin
	proxy  *proxy.Proxy
	ro     *v1alpha1.Rollout
}

func (m meter) updateHash() error {
	if err := m.plugin.UpdateHash(m.ro, "two", "one", nil); err.HasError() {
		return err
	}
	return m.ctx.Err()
}

func (m meter) reconcile(weight int32) error {
	if err := m.plugin.SetWeight(m.ro, weight, nil); err.HasError() {
		return err
	}
	verified, err := m.plugin.VerifyWeight(m.ro, weight, nil)
	if err.HasError() || verified != types.Verified {
		return fmt.Errorf("weight %d: verified %v, %w", weight, verified, err)
	}
	return m.ctx.Err()
}

// times measures n calls, one after another.
func (m meter) times(n int, call func(i int) error) (times, error) {
	var took []time.Duration
	reads, writes := m.requests()
	for i := range n {
		began := time.Now()
		if err := call(i); err != nil {
			return times{}, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	readsNow, writesNow := m.requests()
	return times{
		P50: milliseconds(took[n/2]), P99: milliseconds(took[n*99/100]),
		Reads: float64(readsNow-reads) / float64(n), Writes: float64(writesNow-writes) / float64(n),
	}, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// perSecond counts reconciles that change nothing, by as many callers as the controller has workers.
func (m meter) perSecond() (float64, error) {
	var done atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, workers)
	end := time.Now().Add(concurrentSeconds * time.Second)
	for i := range workers {
		group.Go(func() {
			for time.Now().Before(end) && errs[i] == nil {
				errs[i] = m.reconcile(10)
				done.Add(1)
			}
		})
	}
	group.Wait()
	return float64(done.Load()) / concurrentSeconds, errors.Join(errs...)
}

// requests returns how many API requests read and wrote by now. Watches are not among them: each is one for all calls.
func (m meter) requests() (reads, writes int) {
	for request, n := range m.proxy.Counts() {
		switch verb, _, _ := strings.Cut(request, " "); verb {
		case "get", "list":
			reads += n
		case "watch":
		default:
			writes += n
		}
	}
	return reads, writes
}
