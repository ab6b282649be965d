package main

import (
	"os"
	"time"

	"github.com/argoproj/argo-rollouts/rollout/trafficrouting/plugin/rpc"
	goplugin "github.com/hashicorp/go-plugin"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/cli"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/kube"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/logs"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/metrics"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
)

// handshake is what the controller and its traffic routers agree on.
var handshake = goplugin.HandshakeConfig{
	ProtocolVersion:  1,
	MagicCookieKey:   "ARGO_ROLLOUTS_RPC_PLUGIN",
	MagicCookieValue: "trafficrouter",
}

// service is the plugin as the controller starts it.
type service struct {
	options             plugin.Options
	routes, controller  kube.Access
	limits              kube.Limits
	resync              time.Duration
	logFormat, logLevel string
	// metricsAddress is where metrics are served; empty: nowhere.
	metricsAddress string
}

// serve answers the controller until it goes away. It fails only if it does not understand its flags.
func (s service) serve() (err error) {
	if s.options.Log, err = logs.New(os.Stderr, s.logFormat, s.logLevel); err != nil {
		return err
	}
	logs.Adopt(s.options.Log)
	build := cli.ThisBuild()
	s.options.Log.Info("plugin started", "version", build.Version, "commit", build.Commit, "name", s.options.Name)
	var m *metrics.Metrics // nil: nothing is counted
	if s.metricsAddress != "" {
		m = metrics.New(metrics.Build{Version: build.Version, Commit: build.Commit, Go: build.Go})
		s.options.Observe = m.Call
		_, stop := m.Serve(s.metricsAddress, s.options.Log)
		defer stop()
	}
	s.options.Connect = func() (plugin.Connection, error) { return s.connect(m) }
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: handshake,
		Plugins:         goplugin.PluginSet{"RpcTrafficRouterPlugin": &rpc.RpcTrafficRouterPlugin{Impl: plugin.NewRouter(s.options)}},
		Logger:          s.options.Log,
	})
	return nil
}

// connect returns the clusters, which are read from memory where that may be, and counts what goes on there.
func (s service) connect(m *metrics.Metrics) (plugin.Connection, error) {
	if m != nil {
		s.routes.Observe, s.controller.Observe = m.Request, m.Request
	}
	clusters, err := kube.Connect(s.routes, s.controller, s.limits)
	if err != nil {
		return plugin.Connection{}, err
	}
	cache := kube.NewCache(clusters, s.resync, s.options.Log)
	connection := plugin.Connection{Cluster: cache, Events: clusters.Controller.Events()}
	if m != nil {
		m.Remember(cache.Remembered)
		connection.Cluster = m.Cluster(cache)
	}
	return connection, nil
}
