// Package plugin is what the Argo Rollouts controller sees: the RPC surface of a traffic router, and the block of
// configuration that it finds in a Rollout. It knows nothing of routes.
package plugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/rollout/trafficrouting/plugin/rpc"
	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	"github.com/hashicorp/go-hclog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Options are what the person who installs the plugin decides.
type Options struct {
	// Name is the one the plugin is registered by. Empty: any of [Names].
	Name string
	// Bounds limits the destinations that a Rollout may name.
	Bounds intent.Bounds
	// RouteNamespaces are the namespaces in which a Rollout may name tables. Nil: any.
	RouteNamespaces []string
	// Connect returns the cluster. It is called at the first call that needs it, and again until it succeeds.
	Connect func() (engine.Cluster, error)
	Log     hclog.Logger
}

// Names are those that the plugin is known by: today's and the first release's.
var Names = []string{"solo-io/glooplatform", "solo-io/glooplatformAPI"}

// callTime bounds one call: the controller itself would wait forever.
const callTime = 15 * time.Second

// Router answers the controller's calls. It is safe for concurrent use.
type Router struct {
	options Options

	mu     sync.Mutex
	engine *engine.Engine
}

var _ rpc.TrafficRouterPlugin = &Router{}

// NewRouter returns a router. It does not talk to the cluster yet.
func NewRouter(options Options) *Router { return &Router{options: options} }

// InitPlugin does nothing: its error would be reported once and then forgotten, so the cluster is sought when needed.
func (r *Router) InitPlugin() types.RpcError { return types.RpcError{} }

// Type names the router in the controller's log.
func (r *Router) Type() string {
	if r.options.Name != "" {
		return r.options.Name
	}
	return Names[0]
}

// SetWeight moves weight between the Rollout's destinations on every route that it selects. Its error becomes an Event of
// the Rollout, by way of a format string.
func (r *Router) SetWeight(ro *v1alpha1.Rollout, weight int32, additional []v1alpha1.WeightDestination) types.RpcError {
	err := r.call(ro, weight, additional, (*engine.Engine).SetWeight)
	if err == nil {
		return types.RpcError{}
	}
	return types.RpcError{ErrorString: strings.ReplaceAll(err.Error(), "%", "%%")}
}

// VerifyWeight answers Verified if every selected object is as the last SetWeight was to leave it. It never returns an
// error: that would end the controller's asking, and let a rollout complete unverified.
func (r *Router) VerifyWeight(ro *v1alpha1.Rollout, weight int32, additional []v1alpha1.WeightDestination) (types.RpcVerified, types.RpcError) {
	verified := types.NotVerified
	err := r.call(ro, weight, additional, func(e *engine.Engine, ctx context.Context, in intent.Intent, targets []engine.Target) error {
		ok, why := e.Verify(ctx, in, targets)
		if ok {
			verified = types.Verified
		}
		return why
	})
	if err != nil {
		r.options.Log.Warn("weight not verified", "rollout", ro.Namespace+"/"+ro.Name, "reason", err.Error())
	}
	return verified, types.RpcError{}
}

// UpdateHash has nothing to do.
func (r *Router) UpdateHash(*v1alpha1.Rollout, string, string, []v1alpha1.WeightDestination) types.RpcError {
	return types.RpcError{}
}

// SetHeaderRoute is not supported yet. An empty match asks for a route to be gone, and there is none.
func (r *Router) SetHeaderRoute(_ *v1alpha1.Rollout, route *v1alpha1.SetHeaderRoute) types.RpcError {
	if route == nil || len(route.Match) == 0 {
		return types.RpcError{}
	}
	return types.RpcError{ErrorString: fmt.Sprintf("header route %q: setHeaderRoute is not supported yet; take the step out", route.Name)}
}

// SetMirrorRoute is not supported yet. An empty match asks for a route to be gone, and there is none.
func (r *Router) SetMirrorRoute(_ *v1alpha1.Rollout, route *v1alpha1.SetMirrorRoute) types.RpcError {
	if route == nil || len(route.Match) == 0 {
		return types.RpcError{}
	}
	return types.RpcError{ErrorString: fmt.Sprintf("mirror route %q: setMirrorRoute is not supported yet; take the step out", route.Name)}
}

// RemoveManagedRoutes has nothing to do, as there are no managed routes.
func (r *Router) RemoveManagedRoutes(*v1alpha1.Rollout) types.RpcError { return types.RpcError{} }

// call works out what ro wants and does something about it.
func (r *Router) call(ro *v1alpha1.Rollout, weight int32, additional []v1alpha1.WeightDestination,
	do func(*engine.Engine, context.Context, intent.Intent, []engine.Target) error) error {
	name, block, err := r.block(ro)
	if err != nil {
		return err
	}
	in, err := intent.Of(ro, block, r.options.Bounds, weight, additional)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	targets, err := r.targets(ro, block)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	e, err := r.connected()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	return do(e, ctx, in, targets)
}

// block finds and decodes the plugin's block in ro, and returns the name it stands under.
func (r *Router) block(ro *v1alpha1.Rollout) (string, *config.Config, error) {
	if ro.Spec.Strategy.Canary == nil || ro.Spec.Strategy.Canary.TrafficRouting == nil {
		return "", nil, errors.New("the Rollout has no spec.strategy.canary.trafficRouting")
	}
	names := Names
	if r.options.Name != "" {
		names = []string{r.options.Name}
	}
	plugins := ro.Spec.Strategy.Canary.TrafficRouting.Plugins
	for _, name := range names {
		raw, found := plugins[name]
		if !found {
			continue
		}
		block, err := config.Decode(raw)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", name, err)
		}
		return name, block, nil
	}
	return "", nil, fmt.Errorf("the Rollout has no block %s in spec.strategy.canary.trafficRouting.plugins, only %s; rename it, or set the plugin's flag --name",
		strings.Join(names, " or "), strings.Join(slices.Sorted(maps.Keys(plugins)), ", "))
}

// targets returns the objects that the block selects.
func (r *Router) targets(ro *v1alpha1.Rollout, block *config.Config) ([]engine.Target, error) {
	s := block.RouteTableSelector
	namespace := s.Namespace
	if namespace == "" {
		namespace = ro.Namespace
	}
	if r.options.RouteNamespaces != nil && !slices.Contains(r.options.RouteNamespaces, namespace) {
		return nil, fmt.Errorf("routeTableSelector: namespace %s is not among those that the plugin's flag --route-namespaces allows (%s)",
			namespace, strings.Join(r.options.RouteNamespaces, ", "))
	}
	target := engine.Target{API: gloo.RouteTables{}, Namespace: namespace, Name: s.Name, Routes: block.RouteSelector}
	if labels := s.LabelSelector(); labels != nil {
		selector, err := metav1.LabelSelectorAsSelector(labels)
		if err != nil {
			return nil, fmt.Errorf("routeTableSelector: %w", err)
		}
		target.Selector = selector
	}
	return []engine.Target{target}, nil
}

// connected returns the engine, connecting it to the cluster first if need be.
func (r *Router) connected() (*engine.Engine, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.engine == nil {
		cluster, err := r.options.Connect()
		if err != nil {
			return nil, err
		}
		r.engine = &engine.Engine{Cluster: cluster, Log: r.options.Log}
	}
	return r.engine, nil
}
