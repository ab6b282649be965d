package check

import (
	"bytes"
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/preview"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// source is what was read and concerns one Rollout, for a release that is played on it.
type source struct {
	tables, policies []engine.Object
	// services are by name, those of the Rollout's namespace. Another is taken to exist: what is missing was said before.
	services map[string]intent.Service
	// unknown are the tables that could not be read, as Rollouts select them; allUnknown: none could.
	unknown    map[string]bool
	allUnknown bool
}

// sees reports whether all tables that a Rollout selects could be read.
func (s source) sees(u use) bool {
	return !s.allUnknown && !slices.ContainsFunc(u.targets, func(t engine.Target) bool { return s.unknown[targetName(t)] })
}

func targetName(t engine.Target) string { return t.Namespace + "/" + t.Name }

var _ preview.Source = source{}

func (s source) of(resource schema.GroupVersionResource) []engine.Object {
	if resource == (gloo.RouteTables{}).Policies().Resource {
		return s.policies
	}
	return s.tables
}

// Get returns a table or a policy.
func (s source) Get(_ context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	for _, o := range s.of(resource) {
		if o.Namespace == namespace && o.Name == name {
			return o, nil
		}
	}
	return engine.Object{}, apierrors.NewNotFound(resource.GroupResource(), name)
}

// List returns the tables or policies that a selector matches.
func (s source) List(_ context.Context, resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]engine.Object, error) {
	var found []engine.Object
	for _, o := range s.of(resource) {
		if (namespace == "" || o.Namespace == namespace) && selector.Matches(labels.Set(o.Labels)) {
			found = append(found, o)
		}
	}
	return found, nil
}

// Service returns a Service of the Rollout's namespace.
func (s source) Service(_ context.Context, _, name string) (intent.Service, error) {
	if service, read := s.services[name]; read {
		return service, nil
	}
	return intent.Service{Assumed: true}, nil
}

// readTables returns the RouteTables and MirrorPolicies of all namespaces or, where those may not be listed, of those that
// Rollouts name, or the tables alone that they name.
func readTables(ctx context.Context, cluster Cluster, uses []use) (source, []Finding) {
	s, resource := source{}, gloo.RouteTables{}.Resource()
	var findings []Finding
	var err error
	if s.tables, err = cluster.List(ctx, resource, "", labels.Everything()); apierrors.IsForbidden(err) {
		findings = append(findings, unread("RouteTables", "RouteTables of all namespaces", err))
		s.readNamed(ctx, cluster, uses)
	} else if err != nil {
		s.allUnknown = true
		findings = append(findings, unread("RouteTables", "RouteTables", err))
	}
	policies := gloo.RouteTables{}.Policies()
	if s.policies, err = cluster.List(ctx, policies.Resource, "", labels.Everything()); apierrors.IsForbidden(err) {
		findings = append(findings, unread("MirrorPolicies", "MirrorPolicies of all namespaces", err))
	}
	return s, findings
}

// readNamed reads the tables that Rollouts name, and the others of those namespaces that may be listed.
func (s *source) readNamed(ctx context.Context, cluster Cluster, uses []use) {
	listed, named := map[string]bool{}, map[string]bool{}
	s.unknown = map[string]bool{}
	for _, u := range uses {
		for _, target := range u.targets {
			if listed[target.Namespace] || named[targetName(target)] {
				continue
			}
			tables, err := cluster.List(ctx, target.API.Resource(), target.Namespace, labels.Everything())
			if err == nil {
				listed[target.Namespace] = true
				s.tables = append(s.tables, tables...)
				continue
			}
			named[targetName(target)] = true
			o, err := cluster.Get(ctx, target.API.Resource(), target.Namespace, target.Name)
			switch {
			case target.Name == "" || err != nil && !apierrors.IsNotFound(err):
				s.unknown[targetName(target)] = true
			case err == nil:
				s.tables = append(s.tables, o)
			}
		}
	}
}

// narrowed returns the tables that a Rollout selects or that mention what is its own. If it selects none, all are left for
// the plugin to name.
func (s source) narrowed(u use) source {
	words := [][]byte{[]byte(`"` + u.in.Stable.Name + `"`), []byte(`"` + u.in.Canary.Name + `"`), []byte(u.in.Owner)}
	mentions := func(o engine.Object) bool {
		return slices.ContainsFunc(words, func(word []byte) bool { return bytes.Contains(o.JSON, word) })
	}
	tables := []engine.Object{}
	found := false
	for _, o := range s.tables {
		if u.selects(o) || mentions(o) {
			tables = append(tables, o)
			found = found || u.selects(o)
		}
	}
	if found {
		s.tables = tables
	}
	return s
}

// selects reports whether a Rollout's block selects a table.
func (u use) selects(o engine.Object) bool {
	return slices.ContainsFunc(u.targets, func(t engine.Target) bool { return t.Selects(o) })
}
