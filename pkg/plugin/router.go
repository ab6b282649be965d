// Package plugin is what the Argo Rollouts controller sees: the RPC surface of a traffic router, and the block of
// configuration that it finds in a Rollout. It knows nothing of routes.
package plugin

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/rollout/trafficrouting/plugin/rpc"
	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

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
	Connect func() (Connection, error)
	Log     hclog.Logger
}

// Connection is what the router needs of a cluster.
type Connection struct {
	Cluster engine.Cluster
	// Events is where Events of Rollouts go. Nil: nowhere.
	Events record.EventSink
}

// Names are those that the plugin is known by: today's and the first release's.
var Names = []string{"solo-io/glooplatform", "solo-io/glooplatformAPI"}

// callTime bounds one call: the controller itself would wait forever.
const callTime = 15 * time.Second

// Router answers the controller's calls. It is safe for concurrent use.
type Router struct {
	options Options

	mu       sync.Mutex
	engine   *engine.Engine
	recorder record.EventRecorder

	removed removals
	hashes  hashes
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
	err := r.call(ro, weight, additional, func(ctx context.Context, c call) error {
		return c.engine.Set(ctx, c.in, c.targets)
	})
	if err == nil {
		return types.RpcError{}
	}
	return types.RpcError{ErrorString: strings.ReplaceAll(err.Error(), "%", "%%")}
}

// VerifyWeight answers Verified if every selected object is as the last SetWeight was to leave it and, unless the block
// says otherwise, its control plane has accepted it. It never returns an error: that would end the controller's asking,
// and let a rollout complete unverified. What a person has to mend becomes an Event.
func (r *Router) VerifyWeight(ro *v1alpha1.Rollout, weight int32, additional []v1alpha1.WeightDestination) (types.RpcVerified, types.RpcError) {
	answer := types.NotVerified
	err := r.call(ro, weight, additional, func(ctx context.Context, c call) error {
		if c.block.Verify == config.VerifyOff {
			answer = types.NotImplemented
			return nil
		}
		verdict := c.engine.Verify(ctx, c.in, c.targets, c.block.Verify != config.VerifySpec)
		if verdict.Verified() {
			answer = types.Verified
		}
		for _, text := range verdict.Waiting {
			r.options.Log.Debug("weight not verified yet", "rollout", c.in.Owner, "reason", text)
		}
		for _, text := range verdict.Warnings {
			r.warn(ro, ReasonWarning, text)
		}
		return verdict.Fault()
	})
	if err != nil {
		r.warn(ro, ReasonNotVerified, err.Error())
	}
	return answer, types.RpcError{}
}

// warn tells those who look at the Rollout, and those who look at the log.
func (r *Router) warn(ro *v1alpha1.Rollout, reason, text string) {
	r.options.Log.Warn(text, "rollout", ro.Namespace+"/"+ro.Name, "reason", reason)
	r.mu.Lock()
	recorder := r.recorder
	r.mu.Unlock()
	if recorder != nil {
		recorder.Event(reference(ro), corev1.EventTypeWarning, reason, text)
	}
}

// UpdateHash remembers the pod hashes for the SetWeight that follows, which writes hash and weight at once. An error here
// would hold that up.
func (r *Router) UpdateHash(ro *v1alpha1.Rollout, canaryHash, stableHash string, _ []v1alpha1.WeightDestination) types.RpcError {
	r.hashes.note(ro, versions{stable: stableHash, canary: canaryHash})
	return types.RpcError{}
}

// SetHeaderRoute brings the managed routes to what the Rollout's steps say by now, the present one included. It does
// nothing while no update is under way: after an abort the controller calls it for a first step all the same.
func (r *Router) SetHeaderRoute(ro *v1alpha1.Rollout, _ *v1alpha1.SetHeaderRoute) types.RpcError {
	return r.setManaged(ro)
}

// SetMirrorRoute does the same as SetHeaderRoute: either verb only says that a step is the present one.
func (r *Router) SetMirrorRoute(ro *v1alpha1.Rollout, _ *v1alpha1.SetMirrorRoute) types.RpcError {
	return r.setManaged(ro)
}

func (r *Router) setManaged(ro *v1alpha1.Rollout) types.RpcError {
	return r.answer(ro, r.call(ro, 0, nil, func(ctx context.Context, c call) error {
		c.in.KeepWeights = true
		c.in = c.in.WithHashes(intent.StatusHashes(ro)) // the controller tells of a new version only later in its reconcile
		return c.engine.Set(ctx, c.in, c.targets)
	}))
}

// answer returns an error that the controller only logs, so it becomes an Event as well.
func (r *Router) answer(ro *v1alpha1.Rollout, err error) types.RpcError {
	if err == nil {
		return types.RpcError{}
	}
	r.warn(ro, ReasonError, err.Error())
	return types.RpcError{ErrorString: err.Error()}
}

// RemoveManagedRoutes takes the Rollout's managed routes away at once, wherever they are. The reconcile that calls it ends
// with a SetWeight, which puts none back. It is called before an abort's SetWeight and before the first pods exist, which
// an error would both hold up: so it fails only if a route is known to be there and cannot be removed. A block that makes
// no sense is SetWeight's to report.
func (r *Router) RemoveManagedRoutes(ro *v1alpha1.Rollout) types.RpcError {
	r.removed.note(ro)
	return r.answer(ro, r.removeManaged(ro))
}

func (r *Router) removeManaged(ro *v1alpha1.Rollout) (err error) {
	defer r.guard(ro, &err)
	e, err := r.connected()
	if err != nil {
		r.options.Log.Debug("managed routes not looked for", "rollout", ro.Namespace+"/"+ro.Name, "reason", err.Error())
		return nil
	}
	targets := []engine.Target{{API: gloo.RouteTables{}, Namespace: ro.Namespace}}
	if _, block, err := r.block(ro); err == nil {
		if named, err := r.targets(ro, block); err == nil {
			targets = named
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	in := intent.Intent{Owner: intent.Owner(ro, r.options.Bounds.Cluster), Namespace: ro.Namespace}
	return e.RemoveManaged(ctx, in, targets)
}

// call is one call of the controller, made sense of.
type call struct {
	engine  *engine.Engine
	block   *config.Config
	in      intent.Intent
	targets []engine.Target
}

// guard turns a panic into err, so that what one Rollout brings about does not end the process for all of them.
func (r *Router) guard(ro *v1alpha1.Rollout, err *error) {
	if cause := recover(); cause != nil {
		r.options.Log.Error("panic", "rollout", ro.Namespace+"/"+ro.Name, "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
		*err = fmt.Errorf("the plugin has a bug that this Rollout brings out (%v); its log has the stack", cause)
	}
}

// call works out what ro wants and does something about it.
func (r *Router) call(ro *v1alpha1.Rollout, weight int32, additional []v1alpha1.WeightDestination, do func(context.Context, call) error) (err error) {
	defer r.guard(ro, &err)
	e, err := r.connected()
	if err != nil {
		return err
	}
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
	known := r.hashes.of(ro)
	in = in.WithHashes(known.stable, known.canary)
	if r.removed.justNow(ro) {
		in.Managed = nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	return do(ctx, call{engine: e, block: block, in: in, targets: targets})
}

// block finds and decodes the plugin's block in ro, and returns the name it stands under.
func (r *Router) block(ro *v1alpha1.Rollout) (string, *config.Config, error) {
	if r.options.Name != "" {
		return config.Of(ro, r.options.Name)
	}
	return config.Of(ro, Names...)
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
		connection, err := r.options.Connect()
		if err != nil {
			return nil, err
		}
		r.engine = &engine.Engine{Cluster: connection.Cluster, Log: r.options.Log}
		if connection.Events != nil {
			r.recorder = newRecorder(connection.Events)
		}
	}
	return r.engine, nil
}
