// Package gatewayapi knows the routes of the Kubernetes Gateway API: how to see them as rules with weighted backends, how to
// spell new backends, and what their status says. It reads through small views of its own, and never writes a decoded route
// back, so that whatever it does not know survives.
//
// What the engine calls an object is a route here, and what it calls a route is one of its rules.
package gatewayapi

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// group is that of the routes, and of what they refer to where they name none.
const group = "gateway.networking.k8s.io"

// Routes is the routing API of one kind of routes.
type Routes struct {
	relative
	kind, resource, version string
	// filtered says that rules and backendRefs of this kind may have filters, and rules matches by headers.
	filtered bool
}

const httpRoute = "HTTPRoute"

var _ engine.API = Routes{}

// HTTPRoutes are HTTPRoutes of a version that the cluster serves: v1 or v1beta1.
func HTTPRoutes(version string) Routes {
	return Routes{kind: httpRoute, resource: "httproutes", version: version, filtered: true}
}

// GRPCRoutes are GRPCRoutes of a version that the cluster serves: v1.
func GRPCRoutes(version string) Routes {
	return Routes{kind: "GRPCRoute", resource: "grpcroutes", version: version, filtered: true}
}

// TCPRoutes are TCPRoutes of a version that the cluster serves: v1alpha2.
func TCPRoutes(version string) Routes {
	return Routes{kind: "TCPRoute", resource: "tcproutes", version: version}
}

// TLSRoutes are TLSRoutes of a version that the cluster serves: v1alpha2 or v1alpha3.
func TLSRoutes(version string) Routes {
	return Routes{kind: "TLSRoute", resource: "tlsroutes", version: version}
}

// Kind returns the routes' kind, such as "HTTPRoute".
func (a Routes) Kind() string { return a.kind }

// Words returns those of the Gateway API.
func (Routes) Words() engine.Words {
	return engine.Words{Object: "route", Route: "rule", Namespace: "namespace", Headed: "an HTTPRoute or a GRPCRoute"}
}

// Resource returns the routes' resource of group gateway.networking.k8s.io.
func (a Routes) Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: a.version, Resource: a.resource}
}

// Labelled says that routes carry a label while a release is under way.
func (Routes) Labelled() bool { return true }

// Policies returns none: a route mirrors by its own filters.
func (Routes) Policies() engine.PolicyKind { return engine.PolicyKind{} }

// MirrorPolicy fails: there are no such policies.
func (Routes) MirrorPolicy(map[string]string, json.RawMessage, int) (json.RawMessage, error) {
	return nil, errors.New("routes of the Gateway API mirror by their own filters")
}
