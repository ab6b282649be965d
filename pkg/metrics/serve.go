package metrics

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// scrapes is how many may be under way at once; more are answered with 503.
const scrapes = 3

// Handler answers scrapes at /metrics, and nothing else.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes, Timeout: 10 * time.Second}))
	return mux
}

// Serve listens at an address until stop is called or the process ends, and returns where. Metrics must never keep the
// plugin from moving traffic: if it cannot listen, because another process already does or for whatever else, the log says
// so, and there are none; at is nil then.
func (m *Metrics) Serve(address string, log hclog.Logger) (at net.Addr, stop func()) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Warn("no metrics are served", "reason", fmt.Sprintf("--metrics-address %s: %v", address, err))
		return nil, func() {}
	}
	server := &http.Server{
		Handler: m.Handler(), ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute,
		ErrorLog: log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}), // what scrapers do is no fault of ours
	}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("metrics are not served any more", "reason", err.Error())
		}
	}()
	log.Info("metrics are served", "address", listener.Addr().String())
	return listener.Addr(), func() { _ = server.Close() } // nothing is lost but a scrape
}
