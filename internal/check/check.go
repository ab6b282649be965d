package check

import (
	"context"
	"slices"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/rollout/trafficrouting/plugin/rpc"
	"github.com/argoproj/argo-rollouts/utils/defaults"
	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Plugin is the plugin as one entry of the controller's ConfigMap has it.
type Plugin struct {
	// Name is the one that it is registered by, and its block's in Rollouts.
	Name   string
	Bounds intent.Bounds
	// RouteNamespaces are those in which Rollouts may name RouteTables. Nil: any.
	RouteNamespaces []string
	// Elsewhere says that its args name a kubeconfig of the RouteTables' cluster.
	Elsewhere bool
	// Targets returns the objects that a Rollout's block selects.
	Targets func(*v1alpha1.Rollout, *config.Config) ([]engine.Target, error)
	// Router returns the plugin at work on a cluster.
	Router func(engine.Cluster) rpc.TrafficRouterPlugin
}

// Options are what a check is told.
type Options struct {
	// Namespace is that of the Rollouts. Empty: all.
	Namespace string
	// ControllerNamespace and ServiceAccount are those of the Argo Rollouts controller.
	ControllerNamespace, ServiceAccount string
	// Names are those that the plugin is known by, and Given the plugin under each, for where no registration is known.
	Names []string
	Given []Plugin
	Self  Self
	// Registered returns the plugin as an entry with this name and these args has it. It fails if the binary does not take them.
	Registered func(name string, args []string) (Plugin, error)
	// APIs are all routing APIs of whose objects Rollouts may select some.
	APIs []engine.API
}

// Run looks at the clusters and reports what it found.
func Run(ctx context.Context, clusters Clusters, o Options) Report {
	registry, findings := register(ctx, clusters, o)
	version, finding := controllerVersion(ctx, clusters.Controller, o.ControllerNamespace)
	findings = append(findings, finding)

	rollouts, unread := readRollouts(ctx, clusters.Controller, o.Namespace)
	uses, useless := usesOf(rollouts, registry.plugins, registry.all)
	d := demandsOf(uses, registry.routeNamespaces(), []string{o.Namespace})
	findings = slices.Concat(findings,
		kinds(ctx, clusters, o.APIs, d),
		rights(ctx, clusters, o.ControllerNamespace, o.ServiceAccount, d, d.rights(o.APIs)),
		unread, useless)
	all, unread := readObjects(ctx, clusters.Tables, o.APIs, uses, d)
	findings = append(findings, unread...)
	for _, u := range uses {
		findings = slices.Concat(findings, judgeUse(ctx, clusters.Controller, u, all), judgeFeatures(u.ro, version), leftByUse(ctx, u, all))
	}
	findings = append(findings, judgeObjects(uses, all)...)
	if rollouts != nil { // else it is not known which are gone
		findings = append(findings, leftByOthers(ctx, uses, rollouts, all, o.Namespace, registry.clusters())...)
	}
	return Report{findings}
}

// registry is what the controller's ConfigMap registers.
type registry struct {
	// plugins are this plugin's registrations or, if none is known, the plugin under each of its names.
	plugins []Plugin
	// all are the controller's traffic routers; nil: they are not known.
	all []types.PluginItem
}

// routeNamespaces returns the namespaces that tables are bounded to.
func (r registry) routeNamespaces() []string {
	var all []string
	for _, p := range r.plugins {
		all = append(all, p.RouteNamespaces...)
	}
	return all
}

// clusters returns the names by which the plugin knows its own cluster.
func (r registry) clusters() []string {
	var all []string
	for _, p := range r.plugins {
		all = append(all, p.Bounds.Cluster)
	}
	return all
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// register reads the controller's ConfigMap.
func register(ctx context.Context, clusters Clusters, o Options) (registry, []Finding) {
	name := "ConfigMap " + o.ControllerNamespace + "/" + defaults.DefaultRolloutsConfigMapName
	r, findings := registry{}, []Finding{}
	configMap, err := clusters.Controller.Get(ctx, configMaps, o.ControllerNamespace, defaults.DefaultRolloutsConfigMapName)
	switch {
	case apierrors.IsNotFound(err):
		findings = append(findings, Finding{Fail, name, "it does not exist, so no traffic router is registered", "make it as deploy/by-url does, " + restart + "; another namespace is named by --controller-namespace"})
	case err != nil:
		findings = append(findings, unread(name, "it", err))
	default:
		r.all, findings = entriesOf(name, configMap)
		entries := ours(r.all, o.Names, o.Self)
		if len(entries) == 0 && r.all != nil {
			findings = append(findings, unregistered(name, r.all, o.Names))
		}
		for _, entry := range entries {
			p, misfit := o.Registered(entry.Name, entry.Args)
			findings = append(findings, judgeEntry(name, entry, o.Self, misfit)...)
			if misfit == nil {
				r.plugins = append(r.plugins, p)
			}
			if misfit == nil && p.Elsewhere && !clusters.Apart {
				findings = append(findings, Finding{Warn, name + ": " + entry.Name, "its args name a kubeconfig, so its RouteTables are in another cluster than is looked at here",
					"give that cluster by --kubeconfig, and this one by --controller-kubeconfig"})
			}
		}
	}
	if len(r.plugins) > 0 {
		return r, findings
	}
	r.plugins = o.Given
	return r, findings
}
