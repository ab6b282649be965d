package plugin_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/rollout/trafficrouting"
	"github.com/argoproj/argo-rollouts/rollout/trafficrouting/plugin/rpc"
	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// replicas is spec.replicas of every modelled Rollout.
const replicas = 4

// controlled is a Rollout and what the controller knows of it. Its methods are the parts of a canary's reconcile that a
// traffic router gets to see, in the controller's order (argo-rollouts v1.10, rollout/canary.go, trafficrouting.go, sync.go).
type controlled struct {
	ro *v1alpha1.Rollout
	// template is the hash of the pod template that the spec has now.
	template     string
	revision     int
	stepsChanged bool
	// missing is how many of the pods are not available, by the hash of their template.
	missing map[string]int32
	// service is that of the experiment that runs at the last experiment step; "" while it has none, nil if none runs.
	service *string
	router  rpc.TrafficRouterPlugin
	// version counts the changes of ro.
	version int
}

// reconciled is what one reconcile asked of the router, as far as it came.
type reconciled struct {
	// done says that the weight was set and verified; if not, err may say why.
	done bool
	err  error
	// cleared says that the managed routes were removed.
	cleared    bool
	weight     int32
	additional []v1alpha1.WeightDestination
	verified   types.RpcVerified
}

// errCut is of a reconcile that ends because the controller does.
var errCut = errors.New("cut short")

// newControlled returns a Rollout that was just created.
func newControlled(name string, canary *v1alpha1.CanaryStrategy) *controlled {
	c := &controlled{ro: &v1alpha1.Rollout{}, missing: map[string]int32{}, service: new(name + "-exp")}
	c.ro.Namespace, c.ro.Name, c.ro.UID = "apps", name, apitypes.UID(name)
	c.ro.Spec.Replicas = new(int32(replicas))
	c.ro.Spec.Strategy.Canary = canary
	c.newRevision()
	return c
}

func (c *controlled) canary() *v1alpha1.CanaryStrategy { return c.ro.Spec.Strategy.Canary }

// max is maxTrafficWeight.
func (c *controlled) max() int32 {
	return ptr.Deref(c.canary().TrafficRouting.MaxTrafficWeight, 100)
}

// touch gives the Rollout another resourceVersion, as each change of it does.
func (c *controlled) touch() {
	c.version++
	c.ro.ResourceVersion = strconv.Itoa(c.version)
}

// pods is how many pods of a version are available.
func (c *controlled) pods(hash string) int32 { return replicas - c.missing[hash] }

func (c *controlled) newRevision() {
	c.revision++
	c.template = fmt.Sprint("v", c.revision)
	c.touch()
}

// rollBack makes the spec's template the stable one again.
func (c *controlled) rollBack() {
	c.revision++
	c.template = c.ro.Status.StableRS
	c.touch()
}

// isUpdating reports whether the controller is at work on a version other than the stable one.
func (c *controlled) isUpdating() bool { return c.ro.Status.StableRS != c.ro.Status.CurrentPodHash }

// step returns the current step, nil if there is none, and its index.
func (c *controlled) step() (*v1alpha1.CanaryStep, int) {
	index := int(ptr.Deref(c.ro.Status.CurrentStepIndex, 0))
	if steps := c.canary().Steps; index < len(steps) {
		return &steps[index], index
	}
	return nil, len(c.canary().Steps)
}

// weightUpTo returns the weight of the last setWeight step up to an index, 0 without one.
func (c *controlled) weightUpTo(index int) int32 {
	for ; index >= 0; index-- {
		if weight := c.canary().Steps[index].SetWeight; weight != nil {
			return *weight
		}
	}
	return 0
}

// atDesiredCount reports whether the canary has the pods that the steps so far want.
func (c *controlled) atDesiredCount() bool {
	_, index := c.step()
	weight := c.max()
	if index < len(c.canary().Steps) {
		weight = c.weightUpTo(index)
	}
	for i := min(index, len(c.canary().Steps)-1); i >= 0 && index < len(c.canary().Steps); i-- {
		if scale := c.canary().Steps[i].SetCanaryScale; scale != nil && scale.Weight != nil {
			weight = *scale.Weight * c.max() / 100
			break
		}
	}
	return c.pods(c.ro.Status.CurrentPodHash)*c.max() >= weight*replicas
}

// experiments are the destinations of the experiment that runs, beside a canary of this weight.
func (c *controlled) experiments(weight int32) []v1alpha1.WeightDestination {
	steps := c.canary().Steps
	_, index := c.step()
	for i := min(index, len(steps)-1); i >= 0 && index < len(steps); i-- {
		if experiment := steps[i].Experiment; experiment != nil && c.service != nil && weight <= c.max()/2 {
			return []v1alpha1.WeightDestination{{ServiceName: *c.service, Weight: *experiment.Templates[0].Weight}}
		}
	}
	return nil
}

// backing is the weight on the way back to stable: 0, or with dynamicStableScale what stable has no pods for yet.
func (c *controlled) backing() int32 {
	weights := c.ro.Status.Canary.Weights
	if !c.canary().DynamicStableScale || weights == nil {
		return 0
	}
	return min(weights.Canary.Weight, max(0, c.max()-c.max()*c.pods(c.ro.Status.StableRS)/replicas))
}

// isBacking reports whether a Rollout with dynamicStableScale is on its way back to the stable version.
func (c *controlled) isBacking() bool {
	status := c.ro.Status
	return !c.isUpdating() && c.canary().DynamicStableScale && status.Canary.Weights != nil &&
		status.Canary.Weights.Canary.PodTemplateHash != status.CurrentPodHash && c.pods(status.CurrentPodHash) < replicas
}

// reconcile is one reconcile. It ends before the router's call number cut, counted from 0, if that is not negative. What
// the router did is looked at before the rest of the reconcile.
func (c *controlled) reconcile(cut int, look func(reconciled)) {
	if c.template != c.ro.Status.CurrentPodHash || c.stepsChanged {
		c.restart()
		return
	}
	status := c.ro.Status.DeepCopy()
	r := c.routeTraffic(cut, status)
	look(r)
	if r.err == nil {
		c.sync(status, r)
	}
}

// restart begins with another template, or with other steps.
func (c *controlled) restart() {
	status := &c.ro.Status
	c.ro.Annotations = map[string]string{"rollout.argoproj.io/revision": strconv.Itoa(c.revision)}
	status.CurrentPodHash, c.stepsChanged = c.template, false
	status.Abort, status.PromoteFull, status.CurrentStepIndex = false, false, nil
	if steps := len(c.canary().Steps); steps > 0 {
		status.CurrentStepIndex = new(int32(0))
		if !c.isUpdating() {
			status.CurrentStepIndex = new(int32(steps))
		}
	}
	c.touch()
}

// routeTraffic is reconcileTrafficRouting. The weights that it set are noted in status.
func (c *controlled) routeTraffic(cut int, status *v1alpha1.RolloutStatus) (r reconciled) {
	ro, calls := overRPC(c.ro), 0
	call := func(do func() types.RpcError) bool {
		if r.err == nil && calls == cut {
			r.err = errCut
		}
		if calls++; r.err != nil {
			return false
		}
		if answer := do(); answer.HasError() {
			r.err = answer
		}
		return r.err == nil
	}
	remove := func() types.RpcError { r.cleared = true; return c.router.RemoveManagedRoutes(ro) }
	step, index := c.step()
	canaryPods := c.pods(status.CurrentPodHash)
	canaryHash := status.CurrentPodHash
	switch {
	case c.isBacking():
		r.weight, canaryHash = c.backing(), status.Canary.Weights.Canary.PodTemplateHash
	case !c.isUpdating():
		call(remove)
	case status.Abort:
		r.weight = c.backing()
		call(remove)
	case canaryPods == 0:
		r.additional = c.experiments(0)
		call(remove)
	case status.PromoteFull:
		if c.canary().DynamicStableScale {
			r.weight = c.max() * canaryPods / replicas
		} else if status.Canary.Weights != nil {
			r.weight = status.Canary.Weights.Canary.Weight
		}
		call(remove)
	case len(c.canary().Steps) > 0 && !c.atDesiredCount():
		r.weight = c.weightUpTo(index - 1)
		r.additional = c.experiments(r.weight)
	case step != nil:
		r.weight = c.weightUpTo(index)
		r.additional = c.experiments(r.weight)
	case len(c.canary().Steps) > 0:
		r.weight = c.max()
	}
	if status.StableRS == "" || c.pods(status.StableRS) < (c.max()-r.weight)*replicas/c.max() {
		return r
	}
	if step != nil && c.ro.Annotations["rollout.argoproj.io/revision"] != "1" {
		if step.SetHeaderRoute != nil {
			call(func() types.RpcError { return c.router.SetHeaderRoute(ro, step.SetHeaderRoute) })
		}
		if step.SetMirrorRoute != nil {
			call(func() types.RpcError { return c.router.SetMirrorRoute(ro, step.SetMirrorRoute) })
		}
	}
	setWeight := func() types.RpcError { return c.router.SetWeight(ro, r.weight, r.additional) }
	if canaryPods == 0 && status.Canary.Weights != nil && status.Canary.Weights.Canary.Weight > 0 {
		call(setWeight)
	}
	call(func() types.RpcError { return c.router.UpdateHash(ro, canaryHash, status.StableRS, r.additional) })
	if !call(setWeight) {
		return r
	}
	status.Canary.Weights = c.weights(canaryHash, r)
	var answer types.RpcError
	if !call(func() types.RpcError {
		r.verified, answer = c.router.VerifyWeight(ro, r.weight, r.additional)
		return answer
	}) {
		return r
	}
	if r.done = true; r.verified == types.NotVerified && r.weight == c.max() {
		r.err = fmt.Errorf("end of rollout, desired weight %d not yet verified", r.weight)
	}
	return r
}

// weights are those that the status keeps of a reconcile.
func (c *controlled) weights(canaryHash string, r reconciled) *v1alpha1.TrafficWeights {
	stable := c.max() - r.weight
	for _, a := range r.additional {
		stable -= a.Weight
	}
	return &v1alpha1.TrafficWeights{
		Canary:     v1alpha1.WeightDestination{Weight: r.weight, PodTemplateHash: canaryHash, ServiceName: c.canary().CanaryService},
		Stable:     v1alpha1.WeightDestination{Weight: stable, PodTemplateHash: c.ro.Status.StableRS, ServiceName: c.canary().StableService},
		Additional: r.additional,
	}
}

// sync is syncRolloutStatusCanary: what comes next is noted in the status, which is kept.
func (c *controlled) sync(status *v1alpha1.RolloutStatus, r reconciled) {
	step, index := c.step()
	last := (*int32)(nil)
	if steps := len(c.canary().Steps); steps > 0 {
		last = new(int32(steps))
	}
	if status.PromoteFull {
		status.Abort, status.CurrentStepIndex = false, last
	}
	status.AvailableReplicas = 0
	for _, hash := range slices.Compact([]string{status.CurrentPodHash, status.StableRS}) {
		status.AvailableReplicas += c.pods(hash)
	}
	switch {
	case c.isComplete(status):
		c.promote(status)
		status.CurrentStepIndex = last
	case status.Abort:
		if status.CurrentStepIndex = last; last != nil && c.isUpdating() {
			status.CurrentStepIndex = new(int32(0))
		}
	case step != nil && !status.PromoteFull && c.isStepDone(step, r):
		status.CurrentStepIndex = new(int32(index + 1))
	}
	if !reflect.DeepEqual(*status, c.ro.Status) {
		c.ro.Status = *status
		c.touch()
	}
}

// isComplete reports whether the current version becomes the stable one.
func (c *controlled) isComplete(status *v1alpha1.RolloutStatus) bool {
	if status.StableRS == "" {
		return true
	}
	step, _ := c.step()
	return !status.Abort && c.pods(status.CurrentPodHash) >= replicas && (step == nil || status.PromoteFull || !c.isUpdating())
}

// promote makes the current version the stable one.
func (c *controlled) promote(status *v1alpha1.RolloutStatus) {
	status.PromoteFull = false
	if status.StableRS == status.CurrentPodHash {
		return
	}
	if trafficrouting.IsPingPongEnabled(c.ro) {
		now := v1alpha1.PPPing
		if trafficrouting.IsStablePing(c.ro) {
			now = v1alpha1.PPPong
		}
		status.Canary.StablePingPong = now
	}
	status.StableRS = status.CurrentPodHash
}

// isStepDone reports whether the controller leaves a step by itself. Others wait for a person, or for an experiment.
func (c *controlled) isStepDone(step *v1alpha1.CanaryStep, r reconciled) bool {
	switch {
	case step.SetHeaderRoute != nil, step.SetMirrorRoute != nil:
		return true
	case step.Pause != nil, step.Experiment != nil:
		return false
	case step.SetCanaryScale != nil:
		return c.atDesiredCount()
	default:
		return c.atDesiredCount() && r.verified != types.NotVerified
	}
}

// skipStep is what a person does at a pause.
func (c *controlled) skipStep() {
	if step, index := c.step(); step != nil {
		c.ro.Status.CurrentStepIndex = new(int32(index + 1))
		c.touch()
	}
}

func (c *controlled) abort() {
	c.ro.Status.Abort = true
	c.touch()
}

func (c *controlled) retry() {
	c.ro.Status.Abort = false
	c.touch()
}

func (c *controlled) promoteFull() {
	c.ro.Status.PromoteFull = true
	c.touch()
}
