package faults

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/rollout/trafficrouting/plugin/rpc"
	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	"sigs.k8s.io/yaml"
)

// rolloutText is a Rollout that selects tables by a label of its own name.
const rolloutText = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: %[1]s, namespace: %[2]s, uid: %[2]s-%[1]s}
spec:
  replicas: 4
  strategy:
    canary:
      stableService: %[1]s
      canaryService: %[1]s-canary
      trafficRouting:
        managedRoutes: [{name: %[1]s-beta}, {name: %[1]s-copy}]
        plugins: {solo-io/glooplatform: {routeTableSelector: {labels: {%[1]s: served}}}}
      steps:
        - setHeaderRoute: {name: %[1]s-beta, match: [{headerName: x-beta, headerValue: {exact: "yes"}}]}
        - setWeight: 10
        - setMirrorRoute: {name: %[1]s-copy, percentage: 35, match: [{method: {exact: GET}}]}
        - setWeight: 50
        - setWeight: 100
`

// Where a release is after the steps that set these weights.
const (
	at10  = 2
	at50  = 4
	atEnd = 5
)

// release is a small model of what the Argo Rollouts controller makes of a Rollout: which calls it makes of a traffic router,
// in which order, and when it goes on to the next step. One caller at a time.
type release struct {
	name    string
	tables  []string
	rollout *v1alpha1.Rollout

	step     int32
	revision int
	version  int // of the Rollout, as long as its status stays
	over     bool

	calls, failed int

	mu    sync.Mutex
	asked []int // canary weights in the order in which they were asked for, without repetitions
}

// errNotVerified says that a weight is not verified yet.
var errNotVerified = errors.New("not verified")

func newRelease(namespace, name string, tables ...string) (*release, error) {
	r := &release{name: name, tables: tables, revision: 2, asked: []int{0}}
	return r, yaml.UnmarshalStrict(fmt.Appendf(nil, rolloutText, name, namespace), &r.rollout)
}

// next goes on to the next step, or past the last one: the new version is the stable one then.
func (r *release) next() {
	r.version++
	if r.over = r.step == atEnd; !r.over {
		r.step++
	}
}

// abort ends the release at the step where it is.
func (r *release) abort() {
	r.version++
	r.over = true
	r.rollout.Status.Abort = true
}

// again begins another release of the same Rollout, at its first step.
func (r *release) again() {
	r.version++
	r.step, r.revision, r.over = 0, r.revision+1, false
	r.rollout.Status.Abort = false
}

// observed is the Rollout as the controller passes it.
func (r *release) observed() *v1alpha1.Rollout {
	ro := r.rollout.DeepCopy()
	ro.ResourceVersion = strconv.Itoa(r.version + 1)
	ro.Generation = int64(r.revision)
	ro.Annotations = map[string]string{"rollout.argoproj.io/revision": strconv.Itoa(r.revision)}
	ro.Status.CurrentStepIndex = new(r.step)
	ro.Status.CurrentPodHash, ro.Status.StableRS = r.hashes()
	return ro
}

func (r *release) hashes() (canary, stable string) {
	canary, stable = fmt.Sprintf("hash-%d", r.revision), fmt.Sprintf("hash-%d", r.revision-1)
	if r.over && !r.rollout.Status.Abort {
		stable = canary
	}
	return canary, stable
}

// current is the step where the release is; nil: past the last one.
func (r *release) current() *v1alpha1.CanaryStep {
	if r.over || r.step >= atEnd {
		return nil
	}
	return &r.rollout.Spec.Strategy.Canary.Steps[r.step]
}

// weight is the canary's at the present step.
func (r *release) weight() int32 {
	var weight int32
	if r.over {
		return 0
	}
	for i, step := range r.rollout.Spec.Strategy.Canary.Steps {
		if step.SetWeight != nil && i <= int(r.step) {
			weight = *step.SetWeight
		}
	}
	return weight
}

// managed are the routes that the plugin keeps at the present step, by whether they are to be there.
func (r *release) managed() map[string]bool {
	return map[string]bool{r.name + "-beta": !r.over, r.name + "-copy": !r.over && r.step >= at10}
}

// reconcile makes the calls of one reconcile. Its error is why the controller would begin another.
func (r *release) reconcile(router rpc.TrafficRouterPlugin) error {
	err := r.callAll(router)
	if err != nil {
		r.failed++
	}
	return err
}

func (r *release) callAll(router rpc.TrafficRouterPlugin) error {
	ro, step, weight := r.observed(), r.current(), r.weight()
	canary, stable := r.hashes()
	call := func(verb string, do func() types.RpcError) error {
		r.calls++
		if err := do(); err.HasError() {
			return fmt.Errorf("%s: %w", verb, err)
		}
		return nil
	}
	if r.over {
		if err := call("RemoveManagedRoutes", func() types.RpcError { return router.RemoveManagedRoutes(ro) }); err != nil {
			return err
		}
	}
	if step != nil && step.SetHeaderRoute != nil {
		if err := call("SetHeaderRoute", func() types.RpcError { return router.SetHeaderRoute(ro, step.SetHeaderRoute) }); err != nil {
			return err
		}
	}
	if step != nil && step.SetMirrorRoute != nil {
		if err := call("SetMirrorRoute", func() types.RpcError { return router.SetMirrorRoute(ro, step.SetMirrorRoute) }); err != nil {
			return err
		}
	}
	if err := call("UpdateHash", func() types.RpcError { return router.UpdateHash(ro, canary, stable, nil) }); err != nil {
		return err
	}
	r.asks(int(weight))
	if err := call("SetWeight", func() types.RpcError { return router.SetWeight(ro, weight, nil) }); err != nil {
		return err
	}
	verified := types.NotVerified
	err := call("VerifyWeight", func() (err types.RpcError) { verified, err = router.VerifyWeight(ro, weight, nil); return err })
	if err == nil && verified != types.Verified {
		return errNotVerified
	}
	return err
}

func (r *release) asks(weight int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked[len(r.asked)-1] != weight {
		r.asked = append(r.asked, weight)
	}
}

// place returns which of the weights that were asked for a table shows, if it showed one before: that or a later one.
func (r *release) place(weight, before int) (place int, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.asked[before:], weight)
	return before + i, i >= 0
}
