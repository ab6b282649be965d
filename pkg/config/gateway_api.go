package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// NamedRoute is a route of the Gateway API, by its name.
type NamedRoute struct {
	// Name of the route. It must exist and must forward to the stable Service.
	Name string `json:"name"`

	// UseHeaderRoutes says that steps setHeaderRoute add rules to this route. The route that httpRoute or grpcRoute names, and those
	// that a selector finds, have them anyway. Default: false.
	UseHeaderRoutes bool `json:"useHeaderRoutes,omitempty"`
}

// GatewayRoutes is what the block selects of one kind of the Gateway API's routes.
type GatewayRoutes struct {
	// Kind is HTTPRoute, GRPCRoute, TCPRoute or TLSRoute.
	Kind string
	// Named are the routes that are given by name, each once.
	Named []NamedRoute
	// Field is the one in which Selector stands. Selector is nil if there is none.
	Field    string
	Selector *metav1.LabelSelector
}

// gatewayFields are the fields that select one kind of routes.
type gatewayFields struct {
	kind     string
	single   string
	named    []NamedRoute
	selector *metav1.LabelSelector
}

// field returns the name of one of the fields: that of the single route with what is added to it.
func (f gatewayFields) field(ending string) string {
	return strings.ToLower(strings.TrimSuffix(f.kind, "Route")) + "Route" + ending
}

func (c *Config) gatewayFields() []gatewayFields {
	return []gatewayFields{
		{"HTTPRoute", c.HTTPRoute, c.HTTPRoutes, c.HTTPRouteSelector},
		{"GRPCRoute", c.GRPCRoute, c.GRPCRoutes, c.GRPCRouteSelector},
		{"TCPRoute", c.TCPRoute, c.TCPRoutes, c.TCPRouteSelector},
		{"TLSRoute", c.TLSRoute, c.TLSRoutes, c.TLSRouteSelector},
	}
}

// GatewayRoutes returns the kinds of the Gateway API's routes of which the block selects some, in a fixed order. The one
// that a field such as httpRoute names may have header rules: there it cannot be said that it is not to.
func (c *Config) GatewayRoutes() []GatewayRoutes {
	var kinds []GatewayRoutes
	for _, f := range c.gatewayFields() {
		routes := GatewayRoutes{Kind: f.kind, Field: f.field("Selector"), Selector: f.selector}
		if f.single != "" {
			routes.Named = append(routes.Named, NamedRoute{f.single, true})
		}
		for _, named := range f.named {
			if i := slices.IndexFunc(routes.Named, func(r NamedRoute) bool { return r.Name == named.Name }); i >= 0 {
				routes.Named[i].UseHeaderRoutes = routes.Named[i].UseHeaderRoutes || named.UseHeaderRoutes
				continue
			}
			routes.Named = append(routes.Named, named)
		}
		if len(routes.Named) > 0 || routes.Selector != nil {
			kinds = append(kinds, routes)
		}
	}
	return kinds
}

// InProgressLabel returns the label that the Gateway API's routes carry while a release is under way; no key: they get none.
func (c *Config) InProgressLabel() (key, value string) {
	if c.DisableInProgressLabel || len(c.GatewayRoutes()) == 0 {
		return "", ""
	}
	return cmp.Or(c.InProgressLabelKey, "rollouts.argoproj.io/gatewayapi-canary"), cmp.Or(c.InProgressLabelValue, "in-progress")
}

// validateGatewayRoutes checks the fields that concern routes of the Gateway API.
func (c *Config) validateGatewayRoutes(report func(string, ...any)) {
	for _, f := range c.gatewayFields() {
		checkName(report, f.field(""), f.single)
		for i, named := range f.named {
			if named.Name == "" {
				report("%s[%d].name: missing", f.field("s"), i)
			}
			checkName(report, fmt.Sprintf("%s[%d].name", f.field("s"), i), named.Name)
		}
		if s := f.selector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
			report("%s: empty; set matchLabels or matchExpressions", f.field("Selector"))
		} else if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
			report("%s: it is no selector: %v", f.field("Selector"), err)
		}
	}
	checkName(report, "namespace", c.Namespace)
	if key := c.InProgressLabelKey; key != "" && len(validation.IsQualifiedName(key)) > 0 {
		report("inProgressLabelKey: %q is not a key that a label can have", key)
	}
	if value := c.InProgressLabelValue; len(validation.IsValidLabelValue(value)) > 0 {
		report("inProgressLabelValue: %q is not a value that a label can have", value)
	}
	if len(c.GatewayRoutes()) > 0 {
		c.checkSayable(report)
	}
}

// checkSayable refuses what routes of the Gateway API cannot say of a destination, while some are selected.
func (c *Config) checkSayable(report func(string, ...any)) {
	const why = "routes of the Gateway API forward to Services of the Rollout's namespace, and know no %s; leave it out, or the routes"
	refuse := func(field string, given bool, what string) {
		if given {
			report("%s: "+why, field, what)
		}
	}
	other := func(kind string) bool { return kind != "" && kind != KindService }
	refuse("destinationKind", other(c.DestinationKind), "other kinds")
	refuse("subsetLabel", c.SubsetLabel != "", "subsets")
	for _, d := range []struct {
		field string
		*Destination
	}{{"stable", c.Stable}, {"canary", c.Canary}} {
		if d.Destination == nil {
			continue
		}
		refuse(d.field+".kind", other(d.Kind), "other kinds")
		refuse(d.field+".cluster", d.Cluster != "", "clusters")
		refuse(d.field+".subset", len(d.Subset) > 0, "subsets")
		refuse(d.field+".port.name", d.Port != nil && d.Port.Name != "", "names of ports")
	}
}
