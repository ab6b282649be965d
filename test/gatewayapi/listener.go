package gatewayapi

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ClassName is the GatewayClass of the Gateways that this stand-in serves, and ControllerName what it calls itself in statuses.
const (
	ClassName      = "stand-in"
	ControllerName = "example.com/stand-in"
)

const group = "gateway.networking.k8s.io"

// Listener is one of a Gateway's listeners.
type Listener struct{ Namespace, Gateway, Name string }

// Gateways are those to serve, and the names of their listeners.
type Gateways map[Listener]bool

// newGateways takes those of the class. A Listener without a name stands for the Gateway itself.
func newGateways(objects []*unstructured.Unstructured) Gateways {
	all := Gateways{}
	for _, obj := range objects {
		class, _, _ := unstructured.NestedString(obj.Object, "spec", "gatewayClassName")
		if class != ClassName {
			continue
		}
		all[Listener{obj.GetNamespace(), obj.GetName(), ""}] = true
		listeners, _, _ := unstructured.NestedSlice(obj.Object, "spec", "listeners")
		for _, l := range listeners {
			if name, _, _ := unstructured.NestedString(asMap(l), "name"); name != "" {
				all[Listener{obj.GetNamespace(), obj.GetName(), name}] = true
			}
		}
	}
	return all
}

func asMap(value any) map[string]any {
	m, _ := value.(map[string]any)
	return m
}

// listener is what a route in a namespace names, if that is a Gateway or one of its listeners.
func (p parentRef) listener(namespace string) (Listener, bool) {
	if p.Group != nil && *p.Group != group || p.Kind != nil && *p.Kind != "Gateway" {
		return Listener{}, false
	}
	l := Listener{Namespace: namespace, Gateway: p.Name}
	if p.Namespace != nil {
		l.Namespace = *p.Namespace
	}
	if p.SectionName != nil {
		l.Name = *p.SectionName
	}
	return l, true
}

// attachedTo reports whether a route names the listener, or its Gateway as a whole.
func (r *Route) attachedTo(l Listener) bool {
	return slices.ContainsFunc(r.parents, func(p parentRef) bool {
		named, ok := p.listener(r.Namespace)
		return ok && (named == l || named == Listener{l.Namespace, l.Gateway, ""})
	})
}
