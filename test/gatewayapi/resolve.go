package gatewayapi

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Reasons of condition ResolvedRefs, as the API spells them.
const (
	backendNotFound = "BackendNotFound"
	invalidKind     = "InvalidKind"
	refNotPermitted = "RefNotPermitted"
)

// Surroundings are what backends of routes are looked up in.
type Surroundings struct {
	// Service looks a Service up, and returns nil if there is none.
	Service func(namespace, name string) *corev1.Service
	Grants  []Grant
}

// Grant is a ReferenceGrant, as far as it concerns references to Services.
type Grant struct {
	Namespace string
	from      []grantFrom
	to        []string // names of Services; an empty one stands for all
}

// grantFrom is who may refer.
type grantFrom struct{ kind, namespace string }

func newGrant(obj *unstructured.Unstructured) Grant {
	g := Grant{Namespace: obj.GetNamespace()}
	from, _, _ := unstructured.NestedSlice(obj.Object, "spec", "from")
	for _, f := range from {
		if m := asMap(f); m["group"] == group {
			kind, _ := m["kind"].(string)
			namespace, _ := m["namespace"].(string)
			g.from = append(g.from, grantFrom{kind, namespace})
		}
	}
	to, _, _ := unstructured.NestedSlice(obj.Object, "spec", "to")
	for _, t := range to {
		if m := asMap(t); m["group"] == "" && m["kind"] == "Service" {
			name, _ := m["name"].(string)
			g.to = append(g.to, name)
		}
	}
	return g
}

// permits reports whether a kind of route in a namespace may refer to a Service.
func (g Grant) permits(kind, namespace string, b Backend) bool {
	return g.Namespace == b.Namespace && slices.Contains(g.from, grantFrom{kind, namespace}) &&
		(slices.Contains(g.to, "") || slices.Contains(g.to, b.Name))
}

// Resolved returns the route with a Fault on every backend that cannot be used, mirrors included.
func (r *Route) Resolved(s Surroundings) *Route {
	copied := *r
	copied.Rules = nil
	for _, rule := range r.Rules {
		resolved := *rule
		resolved.backends = slices.Clone(rule.backends)
		for i, b := range rule.backends {
			resolved.backends[i] = s.resolve(r, b)
		}
		resolved.filters.mirrors = slices.Clone(rule.filters.mirrors)
		for i, m := range rule.filters.mirrors {
			resolved.filters.mirrors[i].Backend = s.resolve(r, m.Backend)
		}
		copied.Rules = append(copied.Rules, &resolved)
	}
	return &copied
}

// resolve returns the backend of a route with its Fault, if it has one.
func (s Surroundings) resolve(r *Route, b Backend) Backend {
	if b.Kind != "Service" {
		b.Reason, b.Fault = invalidKind, fmt.Errorf("%s: only Services are backends", b)
		return b
	}
	if b.Namespace != r.Namespace && !slices.ContainsFunc(s.Grants, func(g Grant) bool { return g.permits(r.Kind, r.Namespace, b) }) {
		b.Reason, b.Fault = refNotPermitted, fmt.Errorf("%s: no ReferenceGrant permits a %s in %s to refer to it", b, r.Kind, r.Namespace)
		return b
	}
	service := s.Service(b.Namespace, b.Name)
	if service == nil {
		b.Reason, b.Fault = backendNotFound, fmt.Errorf("%s does not exist", b)
		return b
	}
	if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return int(p.Port) == b.Port }) {
		b.Reason, b.Fault = backendNotFound, fmt.Errorf("%s has no port %d", b, b.Port)
	}
	return b
}

// unresolved returns the first backend with a Fault.
func (r *Route) unresolved() (Backend, bool) {
	for _, rule := range r.Rules {
		for _, b := range rule.backends {
			if b.Fault != nil {
				return b, true
			}
		}
		for _, m := range rule.filters.mirrors {
			if m.Backend.Fault != nil {
				return m.Backend, true
			}
		}
	}
	return Backend{}, false
}

// fault returns that of the first rule that cannot be served.
func (r *Route) fault() error {
	for _, rule := range r.Rules {
		if rule.Fault != nil {
			return fmt.Errorf("%s: %w", rule, rule.Fault)
		}
	}
	return nil
}
