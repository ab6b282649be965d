package plugin

import (
	"github.com/hashicorp/go-hclog"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// OnCluster returns a router that is connected already and records no Events, so that nothing of it stays behind.
func OnCluster(cluster engine.Cluster, log hclog.Logger) *Router {
	r := NewRouter(Options{Log: log})
	r.engine = engine.New(cluster, log, APIs()...)
	return r
}
