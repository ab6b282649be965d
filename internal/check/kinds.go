package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
)

// rolloutsResource is where the API server keeps Rollouts.
var rolloutsResource = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"}

// served is in which versions an API server has a resource.
type served struct {
	schema.GroupVersionResource
	versions []string
	// without is what does not work without it, cure where it comes from, and mark how bad that is.
	without, cure string
	mark          Mark
}

// judge says whether the version that is needed is served.
func (s served) judge() Finding {
	object := "CustomResourceDefinition " + s.GroupResource().String()
	switch {
	case slices.Contains(s.versions, s.Version):
		return Finding{OK, object, s.Version + " is served", ""}
	case s.Version == "" && len(s.versions) > 0: // whichever the cluster prefers
		return Finding{OK, object, strings.Join(s.versions, ", ") + " is served", ""}
	case len(s.versions) == 0:
		return Finding{s.mark, object, "the cluster does not serve it, so " + s.without, s.cure}
	default:
		return Finding{s.mark, object, fmt.Sprintf("the cluster serves %s of it and not %s, so %s", strings.Join(s.versions, ", "), s.Version, s.without), s.cure}
	}
}

// kinds says whether the resources are served that are needed, those for mirroring only if some Rollout does.
func kinds(ctx context.Context, clusters Clusters, apis []engine.API, d demands) []Finding {
	var findings []Finding
	for _, s := range needed(clusters, apis, d) {
		versions, err := s.cluster.Versions(ctx, s.Group, s.Resource)
		if err != nil {
			findings = append(findings, unread("CustomResourceDefinition "+s.GroupResource().String(), "what versions are served", err))
			continue
		}
		s.versions = versions
		findings = append(findings, s.judge())
	}
	return findings
}

// needed returns the resources that are needed, each with where it is.
func needed(clusters Clusters, apis []engine.API, d demands) []placed {
	all := []placed{
		{clusters.Controller, served{GroupVersionResource: rolloutsResource, mark: Fail, without: "there are no Rollouts", cure: "install Argo Rollouts here, or name its cluster"}},
	}
	if d.matters(gloo.RouteTables{}) {
		all = append(all, glooKinds(clusters.Tables, d.mirrors)...)
	}
	for _, api := range apis {
		if api != (gloo.RouteTables{}) && d.matters(api) {
			all = append(all, placed{clusters.Tables, served{GroupVersionResource: api.Resource(), mark: Fail, without: "no weight can be moved on it",
				cure: "install the Gateway API's here, of the channel that has it, or name the cluster of the routes by --kubeconfig"}})
		}
	}
	return all
}

// placed is a resource and where it is needed.
type placed struct {
	cluster Cluster
	served
}

func glooKinds(tables Cluster, mirrors bool) []placed {
	mirroring := served{GroupVersionResource: gloo.RouteTables{}.Policies().Resource, mark: Warn,
		without: "no Rollout could mirror traffic, which none does", cure: "for steps setMirrorRoute install Gloo Platform's"}
	if mirrors {
		mirroring.mark, mirroring.without, mirroring.cure = Fail, "steps setMirrorRoute fail", "install Gloo Platform's"
	}
	return []placed{
		{tables, served{GroupVersionResource: gloo.RouteTables{}.Resource(), mark: Fail, without: "no weight can be moved",
			cure: "install Gloo Platform here, or name the cluster of the RouteTables by --kubeconfig"}},
		{tables, mirroring},
	}
}
