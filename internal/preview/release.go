// Package preview shows what a release would do, by letting the plugin itself do it to objects in memory.
package preview

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"slices"
	"strings"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/rollout/trafficrouting"
	"github.com/argoproj/argo-rollouts/rollout/trafficrouting/plugin/rpc"
	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	"github.com/argoproj/argo-rollouts/utils/weightutil"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Moment is a time of a release.
type Moment struct {
	// Step is the step's number, counted from 1 as people do; 0 before the first and after the last.
	Step int
	// Name says what happens then, such as "setWeight 10".
	Name string
	// Weight is the canary's, out of maxTrafficWeight, and Max that.
	Weight, Max int
	// Rollout is the Rollout as the controller would send it.
	Rollout *v1alpha1.Rollout
	// Error is the plugin's, with which the release stays where it is. Empty: there is none.
	Error string
	// Objects are all of the routing APIs of which the block selects some, afterwards, and Policies those beside them, each in the
	// source's order.
	Objects  []Object
	Policies []engine.Object
}

// Object is one of a routing API.
type Object struct {
	API engine.API
	engine.Object
}

// String names the object as errors do.
func (o Object) String() string { return o.API.Kind() + " " + o.Namespace + "/" + o.Name }

// The hashes of a preview's two versions of pods.
const (
	oldVersion = "stable"
	newVersion = "canary"
)

// Play lets the plugin release a new version of ro, step by step, as the controller would: at rest, each step, all traffic on
// the canary, and at rest again with that as stable. It ends early where the plugin refuses. The targets are the objects that the
// Rollout's block selects.
func Play(ctx context.Context, router rpc.TrafficRouterPlugin, cluster *Cluster, ro *v1alpha1.Rollout, targets []engine.Target) ([]Moment, error) {
	if ro.Spec.Strategy.Canary == nil {
		return nil, fmt.Errorf("Rollout %s/%s has no spec.strategy.canary; traffic is moved for canary Rollouts only", ro.Namespace, ro.Name)
	}
	p := &play{ctx: ctx, router: router, cluster: cluster, ro: ro.DeepCopy(), apis: APIs(targets)}
	p.begin()
	p.moment(0, "at rest", 0, nil)
	p.ro.Status.CurrentPodHash = newVersion
	for i, step := range p.ro.Spec.Strategy.Canary.Steps {
		index := int32(i)
		p.ro.Status.CurrentStepIndex = &index
		p.moment(i+1, stepName(step), p.weightAt(i), &step)
	}
	end := int32(len(p.ro.Spec.Strategy.Canary.Steps))
	p.ro.Status.CurrentStepIndex = &end
	p.moment(0, "all steps done", int(weightutil.MaxTrafficWeight(p.ro)), nil)
	p.promote()
	p.moment(0, "promoted", 0, nil)
	return p.moments, p.err
}

// play is a release that is under way.
type play struct {
	ctx     context.Context
	router  rpc.TrafficRouterPlugin
	cluster *Cluster
	ro      *v1alpha1.Rollout
	apis    []engine.API
	moments []Moment
	refused bool
	err     error
}

// begin makes the Rollout one that is at rest after its first revision.
func (p *play) begin() {
	p.ro.UID = "preview"
	if p.ro.Annotations == nil {
		p.ro.Annotations = map[string]string{}
	}
	p.ro.Annotations["rollout.argoproj.io/revision"] = "2"
	p.ro.Status = v1alpha1.RolloutStatus{StableRS: oldVersion, CurrentPodHash: oldVersion}
	if trafficrouting.IsPingPongEnabled(p.ro) {
		p.ro.Status.Canary.StablePingPong = v1alpha1.PPPing
	}
}

// promote makes the canary stable.
func (p *play) promote() {
	p.ro.Status.StableRS = newVersion
	if trafficrouting.IsPingPongEnabled(p.ro) {
		p.ro.Status.Canary.StablePingPong = v1alpha1.PPPong
	}
}

// weightAt returns the canary's weight at a step: that of the last setWeight.
func (p *play) weightAt(index int) int {
	steps := p.ro.Spec.Strategy.Canary.Steps
	for _, step := range slices.Backward(steps[:index+1]) {
		if step.SetWeight != nil {
			return int(*step.SetWeight)
		}
	}
	return 0
}

// moment calls the plugin as a reconcile does, and notes what comes of it.
func (p *play) moment(number int, name string, weight int, step *v1alpha1.CanaryStep) {
	if p.refused || p.err != nil {
		return
	}
	m := Moment{Step: number, Name: name, Weight: weight, Max: int(weightutil.MaxTrafficWeight(p.ro))}
	p.ro.ResourceVersion = fmt.Sprintf("preview-%d", len(p.moments)) // one for each reconcile
	additional := p.experiments(number-1, step)
	if m.Rollout, p.err = overRPC(p.ro); p.err != nil {
		return
	}
	m.Error = p.reconcile(m.Rollout, int32(weight), additional, step)
	p.refused = m.Error != ""
	if p.err = p.look(&m); p.err != nil {
		return
	}
	p.moments = append(p.moments, m)
	p.ro.Status.Canary.Weights = &v1alpha1.TrafficWeights{
		Canary:     v1alpha1.WeightDestination{Weight: int32(weight), ServiceName: p.ro.Spec.Strategy.Canary.CanaryService, PodTemplateHash: newVersion},
		Additional: additional,
	}
}

// look notes the objects as they are.
func (p *play) look(m *Moment) error {
	for _, api := range p.apis {
		objects, err := p.cluster.List(p.ctx, api.Resource(), "", labels.Everything())
		if err != nil {
			return fmt.Errorf("%ss: %w", api.Kind(), err)
		}
		for _, o := range objects {
			m.Objects = append(m.Objects, Object{api, o})
		}
		if api.Policies().Kind == "" || !intent.MayMirror(p.ro) {
			continue
		}
		policies, err := p.cluster.List(p.ctx, api.Policies().Resource, "", labels.Everything())
		if err != nil {
			return fmt.Errorf("%s: %w", api.Policies().Kind, err)
		}
		m.Policies = append(m.Policies, policies...)
	}
	return nil
}

// APIs returns the routing APIs of the targets, each once.
func APIs(targets []engine.Target) []engine.API {
	var apis []engine.API
	for _, t := range targets {
		if !slices.Contains(apis, t.API) {
			apis = append(apis, t.API)
		}
	}
	return apis
}

// reconcile makes the controller's calls in its order, and returns the first error.
func (p *play) reconcile(ro *v1alpha1.Rollout, weight int32, additional []v1alpha1.WeightDestination, step *v1alpha1.CanaryStep) string {
	calls := []func() types.RpcError{}
	if ro.Status.StableRS == ro.Status.CurrentPodHash {
		calls = append(calls, func() types.RpcError { return p.router.RemoveManagedRoutes(ro) })
	}
	if step != nil && step.SetHeaderRoute != nil {
		calls = append(calls, func() types.RpcError { return p.router.SetHeaderRoute(ro, step.SetHeaderRoute) })
	}
	if step != nil && step.SetMirrorRoute != nil {
		calls = append(calls, func() types.RpcError { return p.router.SetMirrorRoute(ro, step.SetMirrorRoute) })
	}
	calls = append(calls,
		func() types.RpcError {
			return p.router.UpdateHash(ro, ro.Status.CurrentPodHash, ro.Status.StableRS, additional)
		},
		func() types.RpcError {
			err := p.router.SetWeight(ro, weight, additional)
			err.ErrorString = strings.ReplaceAll(err.ErrorString, "%%", "%") // the controller takes it for a format
			return err
		},
	)
	for _, call := range calls {
		if err := call(); err.HasError() {
			return err.ErrorString
		}
	}
	return ""
}

// experiments returns the weighted services of an experiment step, which are there while it is the present one. They are
// named as the controller would, and have the ports of the Rollout's containers.
func (p *play) experiments(index int, step *v1alpha1.CanaryStep) []v1alpha1.WeightDestination {
	if step == nil || step.Experiment == nil {
		return nil
	}
	ports := intent.Service{}
	for _, container := range p.ro.Spec.Template.Spec.Containers {
		for _, port := range container.Ports {
			ports.Ports = append(ports.Ports, intent.ServicePort{Number: int(port.ContainerPort), Name: port.Name, Target: fmt.Sprint(port.ContainerPort)})
		}
	}
	var additional []v1alpha1.WeightDestination
	for _, template := range step.Experiment.Templates {
		if template.Weight == nil {
			continue
		}
		name := fmt.Sprintf("%s-%s-2-%d-%s", p.ro.Name, newVersion, index, template.Name)
		if template.Service != nil && template.Service.Name != "" {
			name = template.Service.Name
		}
		p.cluster.services[name] = ports
		additional = append(additional, v1alpha1.WeightDestination{ServiceName: name, PodTemplateHash: template.Name, Weight: *template.Weight})
	}
	return additional
}

// overRPC returns the Rollout as it arrives over the controller's RPC, which loses pointers to zero values.
func overRPC(ro *v1alpha1.Rollout) (*v1alpha1.Rollout, error) {
	buffer, arrived := bytes.Buffer{}, &v1alpha1.Rollout{}
	if err := gob.NewEncoder(&buffer).Encode(ro); err != nil {
		return nil, err
	}
	return arrived, gob.NewDecoder(&buffer).Decode(arrived)
}

// stepName says what a step does.
func stepName(step v1alpha1.CanaryStep) string {
	switch {
	case step.SetWeight != nil:
		return fmt.Sprintf("setWeight %d", *step.SetWeight)
	case step.SetHeaderRoute != nil:
		return managedName("setHeaderRoute", step.SetHeaderRoute.Name, len(step.SetHeaderRoute.Match))
	case step.SetMirrorRoute != nil:
		return managedName("setMirrorRoute", step.SetMirrorRoute.Name, len(step.SetMirrorRoute.Match))
	case step.SetCanaryScale != nil:
		return "setCanaryScale"
	case step.Experiment != nil:
		return "experiment"
	case step.Analysis != nil:
		return "analysis"
	case step.Plugin != nil:
		return "plugin " + step.Plugin.Name
	case step.Pause != nil && step.Pause.Duration != nil:
		return "pause " + step.Pause.Duration.String()
	case step.Pause != nil:
		return "pause"
	default: // a step with nothing in it
		return "setWeight 0"
	}
}

func managedName(verb, name string, matches int) string {
	if matches == 0 {
		return fmt.Sprintf("%s %s: none", verb, name)
	}
	return fmt.Sprintf("%s %s", verb, name)
}
