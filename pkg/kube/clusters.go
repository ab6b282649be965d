package kube

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Clusters are the API servers that the plugin works with. They may be one and the same.
type Clusters struct {
	// Client is of the one that holds the routes, and the policies beside them.
	*Client
	// Controller is of the Argo Rollouts controller's own, which holds the Rollouts, their Services and their Events.
	Controller *Client
}

var _ engine.Cluster = Clusters{}

// Connect returns clients of both. They are one client if routes says nothing that controller does not. Nothing is sent yet.
func Connect(routes, controller Access, limits Limits) (Clusters, error) {
	c := Clusters{}
	var err error
	if c.Controller, err = controller.connect(limits); err != nil {
		return Clusters{}, err
	}
	if c.Client = c.Controller; routes.Kubeconfig == "" && routes.Context == "" {
		return c, nil
	}
	c.Client, err = routes.connect(limits)
	return c, err
}

func (a Access) connect(limits Limits) (*Client, error) {
	limit := newLimiter(limits)
	load := func() (*rest.Config, error) {
		config, err := a.Config()
		if err != nil {
			return nil, err
		}
		config.RateLimiter = limit
		if a.Observe != nil {
			config.Wrap(observed(a.Observe))
		}
		return config, nil
	}
	config, err := load()
	if err != nil {
		return nil, err
	}
	return newClient(config, load)
}

// Service reads what has to be known of a Service of the controller's cluster.
func (c Clusters) Service(ctx context.Context, namespace, name string) (intent.Service, error) {
	return c.Controller.Service(ctx, namespace, name)
}
