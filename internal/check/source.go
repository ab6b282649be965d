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
	// objects are those of all routing APIs, and policies those beside them.
	objects  []preview.Object
	policies []engine.Object
	// services are by name, those of the Rollout's namespace. Another is taken to exist: what is missing was said before.
	services map[string]intent.Service
	// unknown are the kinds of objects, and the objects as Rollouts select them, that could not be read.
	unknown map[string]bool
}

// sees reports whether all objects that a Rollout selects could be read.
func (s source) sees(u use) bool {
	return !slices.ContainsFunc(u.targets, func(t engine.Target) bool { return s.unknown[t.API.Kind()] || s.unknown[targetName(t)] })
}

func targetName(t engine.Target) string { return t.API.Kind() + " " + t.Namespace + "/" + t.Name }

var _ preview.Source = source{}

func (s source) of(resource schema.GroupVersionResource) []engine.Object {
	if resource == (gloo.RouteTables{}).Policies().Resource {
		return s.policies
	}
	var objects []engine.Object
	for _, o := range s.objects {
		if o.API.Resource() == resource {
			objects = append(objects, o.Object)
		}
	}
	return objects
}

// apis returns the routing APIs of the objects, each once.
func (s source) apis() []engine.API {
	var apis []engine.API
	for _, o := range s.objects {
		if !slices.Contains(apis, o.API) {
			apis = append(apis, o.API)
		}
	}
	return apis
}

// Get returns an object or a policy.
func (s source) Get(_ context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	for _, o := range s.of(resource) {
		if o.Namespace == namespace && o.Name == name {
			return o, nil
		}
	}
	return engine.Object{}, apierrors.NewNotFound(resource.GroupResource(), name)
}

// List returns the objects or policies that a selector matches.
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

// readObjects returns the objects and policies of all namespaces or, where those may not be listed, of those that Rollouts name, or
// the objects alone that they name. Kinds that no Rollout selects are read as far as they are there and may be.
func readObjects(ctx context.Context, cluster Cluster, apis []engine.API, uses []use, d demands) (source, []Finding) {
	s := source{unknown: map[string]bool{}}
	var findings []Finding
	for _, api := range apis {
		kind := api.Kind()
		listed, err := cluster.List(ctx, api.Resource(), "", labels.Everything())
		s.add(api, listed...)
		if err == nil || !d.matters(api) {
			continue
		}
		if apierrors.IsForbidden(err) {
			findings = append(findings, unread(kind+"s", kind+"s of all namespaces", err))
			s.readNamed(ctx, cluster, api, uses)
		} else {
			s.unknown[kind] = true
			findings = append(findings, unread(kind+"s", kind+"s", err))
		}
	}
	var err error
	policies := gloo.RouteTables{}.Policies()
	if s.policies, err = cluster.List(ctx, policies.Resource, "", labels.Everything()); apierrors.IsForbidden(err) && d.matters(gloo.RouteTables{}) {
		findings = append(findings, unread("MirrorPolicies", "MirrorPolicies of all namespaces", err))
	}
	return s, findings
}

func (s *source) add(api engine.API, objects ...engine.Object) {
	for _, o := range objects {
		s.objects = append(s.objects, preview.Object{API: api, Object: o})
	}
}

// readNamed reads the objects of a kind that Rollouts name, and the others of those namespaces that may be listed.
func (s *source) readNamed(ctx context.Context, cluster Cluster, api engine.API, uses []use) {
	listed, named := map[string]bool{}, map[string]bool{}
	for _, u := range uses {
		for _, target := range u.targets {
			if target.API != api || listed[target.Namespace] || named[targetName(target)] {
				continue
			}
			objects, err := cluster.List(ctx, api.Resource(), target.Namespace, labels.Everything())
			if err == nil {
				listed[target.Namespace] = true
				s.add(api, objects...)
				continue
			}
			named[targetName(target)] = true
			o, err := cluster.Get(ctx, api.Resource(), target.Namespace, target.Name)
			switch {
			case target.Name == "" || err != nil && !apierrors.IsNotFound(err):
				s.unknown[targetName(target)] = true
			case err == nil:
				s.add(api, o)
			}
		}
	}
}

// narrowed returns the objects that a Rollout selects or that mention what is its own. If it selects none, all are left for
// the plugin to name.
func (s source) narrowed(u use) source {
	words := [][]byte{[]byte(`"` + u.in.Stable.Name + `"`), []byte(`"` + u.in.Canary.Name + `"`), []byte(u.in.Owner)}
	mentions := func(o preview.Object) bool {
		return slices.ContainsFunc(words, func(word []byte) bool { return bytes.Contains(o.JSON, word) })
	}
	objects := []preview.Object{}
	found := false
	for _, o := range s.objects {
		if u.selects(o) || mentions(o) {
			objects = append(objects, o)
			found = found || u.selects(o)
		}
	}
	if found {
		s.objects = objects
	}
	return s
}

// selects reports whether a Rollout's block selects an object.
func (u use) selects(o preview.Object) bool {
	return slices.ContainsFunc(u.targets, func(t engine.Target) bool { return t.API == o.API && t.Selects(o.Object) })
}
