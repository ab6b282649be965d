// Package plugin is what the Argo Rollouts controller sees: the RPC surface of a traffic router, and the block of
// configuration that it finds in a Rollout. It knows nothing of routes.
package plugin

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/rollout/trafficrouting/plugin/rpc"
	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	"github.com/hashicorp/go-hclog"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/lru"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/logs"
)

// Options are what the person who installs the plugin decides.
type Options struct {
	// Name is the one the plugin is registered by. Empty: any of [Names].
	Name string
	// Bounds limits the destinations that a Rollout may name.
	Bounds intent.Bounds
	// RouteNamespaces are the namespaces in which a Rollout may name tables. Nil: any.
	RouteNamespaces []string
	// CallTime bounds a call: the controller itself would wait forever. 0: 15 seconds.
	CallTime time.Duration
	// Connect returns the cluster. It is called at the first call that needs it, and again until it succeeds.
	Connect func() (Connection, error)
	Log     hclog.Logger
	// Observe is told of every call: its method, one of the outcomes and how long it took. Nil: nobody is.
	Observe func(verb, outcome string, took time.Duration)
}

// Connection is what the router needs of a cluster.
type Connection struct {
	Cluster engine.Cluster
	// Events is where Events of Rollouts go. Nil: nowhere.
	Events record.EventSink
}

// Names are those that the plugin is known by: today's and the first release's.
var Names = []string{"solo-io/glooplatform", "solo-io/glooplatformAPI"}

// Router answers the controller's calls. It is safe for concurrent use.
type Router struct {
	options Options

	mu       sync.Mutex
	engine   *engine.Engine
	recorder record.EventRecorder

	removed removals
	hashes  hashes
	said    *logs.Repeats
}

var _ rpc.TrafficRouterPlugin = &Router{}

// maxRollouts is of how many Rollouts something is remembered between calls. Without it, their status tells the same a little
// later.
const maxRollouts = 10_000

// NewRouter returns a router. It does not talk to the cluster yet.
func NewRouter(options Options) *Router {
	if options.CallTime == 0 {
		options.CallTime = 15 * time.Second
	}
	return &Router{options: options, removed: removals{lru.New(maxRollouts)}, hashes: hashes{lru.New(maxRollouts)}, said: logs.NewRepeats()}
}

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
	began := time.Now()
	err := r.call(request{verbSetWeight, ro, weight, additional}, func(ctx context.Context, c call) error {
		return c.engine.Set(ctx, c.in, c.targets)
	})
	r.observe(verbSetWeight, began, outcomeOf(err))
	if err == nil {
		return types.RpcError{}
	}
	return types.RpcError{ErrorString: strings.ReplaceAll(err.Error(), "%", "%%")}
}

// VerifyWeight answers Verified if every selected object is as the last SetWeight was to leave it and, unless the block
// says otherwise, its control plane has accepted it. It never returns an error: that would end the controller's asking,
// and let a rollout complete unverified. What a person has to mend becomes an Event.
func (r *Router) VerifyWeight(ro *v1alpha1.Rollout, weight int32, additional []v1alpha1.WeightDestination) (types.RpcVerified, types.RpcError) {
	began := time.Now()
	answer, outcome := types.NotVerified, OutcomeNotVerified
	err := r.call(request{verbVerifyWeight, ro, weight, additional}, func(ctx context.Context, c call) error {
		if c.block.Verify == config.VerifyOff {
			answer, outcome = types.NotImplemented, OutcomeNotImplemented
			return nil
		}
		verdict := c.engine.Verify(ctx, c.in, c.targets, c.block.Verify != config.VerifySpec)
		if verdict.Verified() {
			answer, outcome = types.Verified, OutcomeVerified
		}
		for _, text := range verdict.Waiting {
			r.options.Log.Debug("weight not verified yet", "rollout", c.in.Owner, "reason", text)
		}
		r.warn(verbVerifyWeight, ro, ReasonWarning, append(verdict.Warnings, unnamed(additional)...)...)
		return verdict.Fault()
	})
	if err == nil {
		r.warn(verbVerifyWeight, ro, ReasonNotVerified)
	} else {
		outcome = OutcomeError
		r.warn(verbVerifyWeight, ro, ReasonNotVerified, err.Error())
	}
	r.observe(verbVerifyWeight, began, outcome)
	return answer, types.RpcError{}
}

// UpdateHash remembers the pod hashes for the SetWeight that follows, which writes hash and weight at once. An error here
// would hold that up.
func (r *Router) UpdateHash(ro *v1alpha1.Rollout, canaryHash, stableHash string, _ []v1alpha1.WeightDestination) types.RpcError {
	began := time.Now()
	r.hashes.note(ro, versions{stable: stableHash, canary: canaryHash})
	r.observe(verbUpdateHash, began, OutcomeDone)
	return types.RpcError{}
}

// SetHeaderRoute brings the managed routes to what the Rollout's steps say by now, the present one included. It does
// nothing while no update is under way: after an abort the controller calls it for a first step all the same.
func (r *Router) SetHeaderRoute(ro *v1alpha1.Rollout, _ *v1alpha1.SetHeaderRoute) types.RpcError {
	return r.setManaged(verbSetHeaderRoute, ro)
}

// SetMirrorRoute does the same as SetHeaderRoute: either verb only says that a step is the present one.
func (r *Router) SetMirrorRoute(ro *v1alpha1.Rollout, _ *v1alpha1.SetMirrorRoute) types.RpcError {
	return r.setManaged(verbSetMirrorRoute, ro)
}

func (r *Router) setManaged(verb string, ro *v1alpha1.Rollout) types.RpcError {
	began := time.Now()
	err := r.call(request{verb: verb, ro: ro}, func(ctx context.Context, c call) error {
		c.in.KeepWeights = true
		c.in = c.in.WithHashes(intent.StatusHashes(ro)) // the controller tells of a new version only later in its reconcile
		return c.engine.Set(ctx, c.in, c.targets)
	})
	r.observe(verb, began, outcomeOf(err))
	return r.answer(verb, ro, err)
}

// answer returns an error that the controller only logs, so it becomes an Event as well.
func (r *Router) answer(verb string, ro *v1alpha1.Rollout, err error) types.RpcError {
	if err == nil {
		r.warn(verb, ro, ReasonError)
		return types.RpcError{}
	}
	r.warn(verb, ro, ReasonError, err.Error())
	return types.RpcError{ErrorString: err.Error()}
}

// RemoveManagedRoutes takes the Rollout's managed routes away at once, wherever they are. The reconcile that calls it ends
// with a SetWeight, which puts none back. It is called before an abort's SetWeight and before the first pods exist, which
// an error would both hold up: so it fails only if a route is known to be there and cannot be removed. A block that makes
// no sense is SetWeight's to report.
func (r *Router) RemoveManagedRoutes(ro *v1alpha1.Rollout) types.RpcError {
	began := time.Now()
	r.removed.note(ro)
	err := r.removeManaged(ro)
	r.observe(verbRemoveManagedRoutes, began, outcomeOf(err))
	return r.answer(verbRemoveManagedRoutes, ro, err)
}

func (r *Router) removeManaged(ro *v1alpha1.Rollout) (err error) {
	defer r.guard(verbRemoveManagedRoutes, ro, &err)
	e, err := r.connected()
	if err != nil {
		r.options.Log.Debug("managed routes not looked for", "rollout", r.owner(ro), "reason", err.Error())
		return nil
	}
	targets := []engine.Target{{API: gloo.RouteTables{}, Namespace: ro.Namespace}}
	if _, block, err := r.block(ro); err == nil {
		if named, err := r.options.Targets(ro, block); err == nil {
			targets = named
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.options.CallTime)
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

// request is what the controller asks for.
type request struct {
	verb       string
	ro         *v1alpha1.Rollout
	weight     int32
	additional []v1alpha1.WeightDestination
}

// call works out what the Rollout of a request wants and does something about it.
func (r *Router) call(q request, do func(context.Context, call) error) (err error) {
	ro := q.ro
	defer r.guard(q.verb, ro, &err)
	e, err := r.connected()
	if err != nil {
		return err
	}
	name, block, err := r.block(ro)
	if err != nil {
		return err
	}
	in, err := intent.Of(ro, block, r.options.Bounds, q.weight, q.additional)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	targets, err := r.options.Targets(ro, block)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	known := r.hashes.of(ro)
	in = in.WithHashes(known.stable, known.canary)
	if r.removed.justNow(ro) {
		in.Managed = nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.options.CallTime)
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

// connected returns the engine, connecting it to the cluster first if need be.
func (r *Router) connected() (*engine.Engine, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.engine == nil {
		connection, err := r.options.Connect()
		if err != nil {
			return nil, err
		}
		r.engine = engine.New(connection.Cluster, r.options.Log, APIs()...)
		if connection.Events != nil {
			r.recorder = newRecorder(connection.Events)
		}
	}
	return r.engine, nil
}
