// Package metrics counts what the plugin does, for Prometheus. No label names a Rollout, a table or a namespace, so that
// there are as many series in a large cluster as in a small one.
package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/kube"
)

// prefix is what the names of the plugin's own metrics begin with.
const prefix = "rollouts_gloo_"

// callBuckets, in seconds, reach from a call that is answered from memory to one that runs into the default --call-timeout.
var callBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15}

// requestBuckets are for requests, which take a network's time at least.
var requestBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// Metrics are all that is counted of one process. Its methods may be called concurrently.
type Metrics struct {
	registry *prometheus.Registry

	calls          *prometheus.CounterVec
	callTimes      *prometheus.HistogramVec
	requests       *prometheus.CounterVec
	requestTimes   *prometheus.HistogramVec
	patches        *prometheus.CounterVec
	rememberedFrom remembered
}

// Build is what a binary says of itself.
type Build struct{ Version, Commit, Go string }

// New returns metrics of a process in which nothing has happened yet.
func New(build Build) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "calls_total",
			Help: "Calls of the controller that were answered, by method and outcome.",
		}, []string{"verb", "outcome"}),
		callTimes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "call_duration_seconds", Buckets: callBuckets,
			Help: "Time that calls of the controller took, by method.",
		}, []string{"verb"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "api_requests_total",
			Help: "Requests to API servers, by verb, resource and status code, which is none if there was no answer.",
		}, []string{"verb", "resource", "code"}),
		requestTimes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "api_request_duration_seconds", Buckets: requestBuckets,
			Help: "Time until API servers began to answer, by verb and resource.",
		}, []string{"verb", "resource"}),
		patches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "patches_total",
			Help: "Patches that were sent, by resource and outcome; after a conflict the plugin reads again and plans again.",
		}, []string{"resource", "outcome"}),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: prefix + "build_info", Help: "1, with what the binary was built from as labels.",
		ConstLabels: prometheus.Labels{"version": build.Version, "commit": build.Commit, "goversion": build.Go},
	})
	info.Set(1)
	m.registry.MustRegister(m.calls, m.callTimes, m.requests, m.requestTimes, m.patches, &m.rememberedFrom, info,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Call counts a call of the controller.
func (m *Metrics) Call(verb, outcome string, took time.Duration) {
	m.calls.WithLabelValues(verb, outcome).Inc()
	m.callTimes.WithLabelValues(verb).Observe(took.Seconds())
}

// Request counts a request to an API server.
func (m *Metrics) Request(r kube.Request) {
	code := "none"
	if r.Code != 0 {
		code = strconv.Itoa(r.Code)
	}
	m.requests.WithLabelValues(r.Verb, r.Resource, code).Inc()
	m.requestTimes.WithLabelValues(r.Verb, r.Resource).Observe(r.Took.Seconds())
}

// Remember makes the metrics tell what a cache remembers; from is asked whenever they are.
func (m *Metrics) Remember(from func() []kube.Remembered) { m.rememberedFrom.from.Store(&from) }
