package check

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/restore"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// use is a Rollout that uses the plugin, by one of its registrations.
type use struct {
	ro     *v1alpha1.Rollout
	plugin Plugin
	// block is the decoded block, and in what it and the Rollout at rest want; targets are the tables that it selects.
	block   *config.Config
	in      intent.Intent
	targets []engine.Target
	// fault says why there are none; then block may be nil.
	fault error
}

func rolloutName(ro *v1alpha1.Rollout) string { return "Rollout " + ro.Namespace + "/" + ro.Name }

// readRollouts returns the Rollouts of a namespace, or of all if it is empty, sorted; nil if they cannot be read.
func readRollouts(ctx context.Context, cluster Cluster, namespace string) ([]*v1alpha1.Rollout, []Finding) {
	what := "Rollouts"
	listed, err := cluster.List(ctx, rolloutsResource, namespace, labels.Everything())
	if err != nil {
		if namespace == "" {
			what = "Rollouts of all namespaces (-n names one)"
		}
		return nil, []Finding{unread("Rollouts", what, err)}
	}
	rollouts := []*v1alpha1.Rollout{}
	var findings []Finding
	for _, o := range listed {
		ro := &v1alpha1.Rollout{}
		if err := json.Unmarshal(o.JSON, ro); err != nil {
			findings = append(findings, unread("Rollout "+o.Namespace+"/"+o.Name, "it", err))
			continue
		}
		rollouts = append(rollouts, ro)
	}
	slices.SortFunc(rollouts, func(a, b *v1alpha1.Rollout) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return rollouts, findings
}

// usesOf returns the Rollouts that use one of the plugins, and what is to be said of those that would and cannot. Registered
// are all traffic routers of the controller, nil if they are not known.
func usesOf(rollouts []*v1alpha1.Rollout, plugins []Plugin, registered []types.PluginItem) ([]use, []Finding) {
	var uses []use
	var findings []Finding
	for _, ro := range rollouts {
		if ro.Spec.Strategy.Canary == nil || ro.Spec.Strategy.Canary.TrafficRouting == nil {
			continue
		}
		blocks := ro.Spec.Strategy.Canary.TrafficRouting.Plugins
		for _, p := range plugins {
			if _, found := blocks[p.Name]; !found {
				continue
			}
			if ro.Spec.Strategy.BlueGreen != nil {
				findings = append(findings, Finding{Warn, rolloutName(ro), fmt.Sprintf("it is blue-green, and of those no traffic router is ever asked: block %s does nothing", p.Name),
					"take the block out, or spec.strategy.blueGreen"})
				continue
			}
			uses = append(uses, newUse(ro, p))
		}
		for _, name := range slices.Sorted(maps.Keys(blocks)) {
			if registered != nil && !slices.ContainsFunc(registered, func(e types.PluginItem) bool { return e.Name == name }) {
				findings = append(findings, Finding{Fail, rolloutName(ro), fmt.Sprintf("its block is for plugin %s, and no traffic router of that name is registered", name),
					"rename the block, or register the plugin by that name, " + restart})
			}
		}
	}
	return uses, findings
}

// newUse understands a Rollout as the plugin does.
func newUse(ro *v1alpha1.Rollout, p Plugin) use {
	u := use{ro: ro, plugin: p}
	as := restore.Plugin{Names: []string{p.Name}, Bounds: p.Bounds, Targets: p.Targets}
	u.block, u.in, u.targets, u.fault = as.Understand(ro)
	return u
}

// demandsOf returns what Rollouts need of the plugin's rights. Namespaces are further ones of objects and of Rollouts that are
// known to matter.
func demandsOf(uses []use, tables, rollouts []string) demands {
	d := demands{rollouts: slices.Clone(rollouts), objects: map[string][]string{}, byLabel: map[string]bool{}}
	for _, u := range uses {
		d.rollouts = append(d.rollouts, u.ro.Namespace)
		d.mirrors = d.mirrors || intent.MayMirror(u.ro)
		for _, target := range u.targets {
			resource := target.API.Resource().Resource
			d.objects[resource] = append(d.objects[resource], target.Namespace)
			d.byLabel[resource] = d.byLabel[resource] || target.Name == ""
		}
	}
	if tablesAre := (gloo.RouteTables{}).Resource().Resource; len(d.objects) == 0 {
		d.objects[tablesAre] = nil // nobody says otherwise
	}
	for resource, names := range d.objects {
		d.objects[resource] = sorted(append(names, tables...))
	}
	d.rollouts = sorted(d.rollouts)
	return d
}

// sorted returns the names that are not empty, each once.
func sorted(names []string) []string {
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return strings.TrimSpace(name) == "" })
}
