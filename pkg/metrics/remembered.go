package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/kube"
)

var (
	objects = prometheus.NewDesc(prefix+"cache_objects", "Objects that are remembered, by resource.", []string{"resource"}, nil)
	views   = prometheus.NewDesc(prefix+"cache_views",
		"Views, each of one namespace or of all, by resource and by whether reads are answered from memory (watched) or by the API server (plain).",
		[]string{"resource", "state"}, nil)
)

// remembered collects what a cache remembers; nothing before there is one.
type remembered struct {
	from atomic.Pointer[func() []kube.Remembered]
}

var _ prometheus.Collector = &remembered{}

// Describe is part of prometheus.Collector.
func (r *remembered) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- objects
	descriptions <- views
}

// Collect is part of prometheus.Collector.
func (r *remembered) Collect(metrics chan<- prometheus.Metric) {
	from := r.from.Load()
	if from == nil {
		return
	}
	gauge := func(d *prometheus.Desc, value int, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	for _, of := range (*from)() {
		gauge(objects, of.Objects, of.Resource)
		gauge(views, of.Watched, of.Resource, "watched")
		gauge(views, of.Plain, of.Resource, "plain")
	}
}
