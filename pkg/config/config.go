// Package config holds the plugin's block in a Rollout: what may stand in it, and its strict decoding.
//
// The block stands in spec.strategy.canary.trafficRouting.plugins, under the name by which the plugin is registered:
//
//	solo-io/glooplatform:
//	  routeTableSelector: {name: default, namespace: gloo-mesh}
//	  routeSelector: {labels: {route: demo}}
//	  httpRoute: demo
package config

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Config is the block. It says which routes carry the Rollout's traffic and, where the Rollout's services do not say it,
// what its stable and canary destinations are.
type Config struct {
	// RouteTableSelector says which Gloo RouteTables are concerned. It or a route of the Gateway API is required; with both,
	// all of them move together.
	RouteTableSelector *RouteTableSelector `json:"routeTableSelector,omitempty"`

	// RouteSelector narrows the selected tables to some of their routes. Default: every route that forwards to the stable
	// destination. No route left is an error, and nothing is written.
	RouteSelector *RouteSelector `json:"routeSelector,omitempty"`

	// DestinationKind is the kind of the stable and canary destinations: SERVICE, VIRTUAL_DESTINATION or
	// EXTERNAL_SERVICE. Default: SERVICE.
	DestinationKind string `json:"destinationKind,omitempty"`

	// DestinationNamespace is the namespace of the stable and canary destinations. Default: the Rollout's. Destinations of
	// kind SERVICE must be in the Rollout's own.
	DestinationNamespace string `json:"destinationNamespace,omitempty"`

	// Stable describes the stable destination where it is not simply the Rollout's stableService.
	Stable *Destination `json:"stable,omitempty"`

	// Canary describes the canary destination where it is not simply the Rollout's canaryService.
	Canary *Destination `json:"canary,omitempty"`

	// SubsetLabel, if set, is the label of pods by which stable and canary are told apart behind one Service, stable.name:
	// its value on each destination's subset is the pod hash of that version, as the Rollout goes from one to the next. It
	// must be rollouts-pod-template-hash, which Argo Rollouts puts on pods.
	SubsetLabel string `json:"subsetLabel,omitempty"`

	// Verify says what a step waits for: Accepted, until Gloo has accepted the tables as they were written; Spec, until the
	// tables hold the weights; Off, for nothing. Default: Accepted.
	Verify Verification `json:"verify,omitempty"`

	// HTTPRoute names one HTTPRoute of the Gateway API. It must exist and must forward to the stable Service.
	HTTPRoute string `json:"httpRoute,omitempty"`

	// GRPCRoute names one GRPCRoute.
	GRPCRoute string `json:"grpcRoute,omitempty"`

	// TCPRoute names one TCPRoute.
	TCPRoute string `json:"tcpRoute,omitempty"`

	// TLSRoute names one TLSRoute.
	TLSRoute string `json:"tlsRoute,omitempty"`

	// HTTPRoutes names several HTTPRoutes.
	HTTPRoutes []NamedRoute `json:"httpRoutes,omitempty"`

	// GRPCRoutes names several GRPCRoutes.
	GRPCRoutes []NamedRoute `json:"grpcRoutes,omitempty"`

	// TCPRoutes names several TCPRoutes.
	TCPRoutes []NamedRoute `json:"tcpRoutes,omitempty"`

	// TLSRoutes names several TLSRoutes.
	TLSRoutes []NamedRoute `json:"tlsRoutes,omitempty"`

	// HTTPRouteSelector selects HTTPRoutes by their labels. Those that never forward to the stable Service are passed over,
	// but at least one must be left.
	HTTPRouteSelector *metav1.LabelSelector `json:"httpRouteSelector,omitempty"`

	// GRPCRouteSelector selects GRPCRoutes by their labels, as httpRouteSelector does.
	GRPCRouteSelector *metav1.LabelSelector `json:"grpcRouteSelector,omitempty"`

	// TCPRouteSelector selects TCPRoutes by their labels, as httpRouteSelector does.
	TCPRouteSelector *metav1.LabelSelector `json:"tcpRouteSelector,omitempty"`

	// TLSRouteSelector selects TLSRoutes by their labels, as httpRouteSelector does.
	TLSRouteSelector *metav1.LabelSelector `json:"tlsRouteSelector,omitempty"`

	// Namespace is that of the Gateway API's routes. Default: the Rollout's.
	Namespace string `json:"namespace,omitempty"`

	// DisableInProgressLabel says that the Gateway API's routes get no label while a release is under way. Default: false.
	DisableInProgressLabel bool `json:"disableInProgressLabel,omitempty"`

	// InProgressLabelKey is the key of that label. Default: rollouts.argoproj.io/gatewayapi-canary. None of the selectors of
	// this block may mention it.
	InProgressLabelKey string `json:"inProgressLabelKey,omitempty"`

	// InProgressLabelValue is the value of that label. Default: in-progress.
	InProgressLabelValue string `json:"inProgressLabelValue,omitempty"`

	// ConfigMap is taken and means nothing: some plugins for the Gateway API kept notes there, and this one needs none.
	ConfigMap string `json:"configMap,omitempty"`

	// RouteTableName is the first release's spelling of routeTableSelector.name.
	RouteTableName string `json:"routeTableName,omitempty"`

	// RouteTableNamespace is the first release's spelling of routeTableSelector.namespace.
	RouteTableNamespace string `json:"routeTableNamespace,omitempty"`
}

// RouteTableSelector selects RouteTables of one namespace, by name or by labels. With both, the named table must carry
// the labels.
type RouteTableSelector struct {
	// Name selects one table. It must exist and must forward to the stable destination.
	Name string `json:"name,omitempty"`

	// Namespace is the tables' namespace. Default: the Rollout's.
	Namespace string `json:"namespace,omitempty"`

	// Labels selects the tables that carry all of these labels. Tables that never forward to the stable destination are
	// passed over, but at least one must be left.
	Labels map[string]string `json:"labels,omitempty"`

	// MatchExpressions selects by label as a metav1.LabelSelector does, in addition to labels.
	MatchExpressions []metav1.LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// LabelSelector returns Labels and MatchExpressions as one selector, or nil if neither is set.
func (s RouteTableSelector) LabelSelector() *metav1.LabelSelector {
	if len(s.Labels) == 0 && len(s.MatchExpressions) == 0 {
		return nil
	}
	return &metav1.LabelSelector{MatchLabels: s.Labels, MatchExpressions: s.MatchExpressions}
}

// RouteSelector selects routes inside the selected tables. A route must satisfy everything that is set here, so one that
// lacks the name or one of the labels does not match; tcp and tls routes have neither and never do.
type RouteSelector struct {
	// Name is the route's name.
	Name string `json:"name,omitempty"`

	// Labels are labels that the route carries.
	Labels map[string]string `json:"labels,omitempty"`
}

// Destination describes a destination of a route. What is not set is not compared when a destination is looked for in a
// table, but for the kind and the namespace, which have defaults.
type Destination struct {
	// Name of the Service or other object. Default: the Rollout's stableService or canaryService.
	Name string `json:"name,omitempty"`

	// Namespace of the object. Default: destinationNamespace.
	Namespace string `json:"namespace,omitempty"`

	// Cluster that the object lives in, as the table names it. Default: any.
	Cluster string `json:"cluster,omitempty"`

	// Kind of the object. Default: destinationKind.
	Kind string `json:"kind,omitempty"`

	// Port of the object, by number or by name. Default: any; of a canary that is added, the stable destination's.
	Port *Port `json:"port,omitempty"`

	// Subset holds the labels that tell the destination's pods apart from others behind the same object. Default: any; an
	// empty map says that the destination has none.
	Subset map[string]string `json:"subset,omitempty"`
}
