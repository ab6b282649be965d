package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Kinds of destination that a RouteTable can forward to and that a Rollout can move (RouteTable API reference,
// DestinationKind).
const (
	KindService            = "SERVICE"
	KindVirtualDestination = "VIRTUAL_DESTINATION"
	KindExternalService    = "EXTERNAL_SERVICE"
)

var kinds = []string{KindService, KindVirtualDestination, KindExternalService}

// validate adds what is senseless about c to faults, in the order of the fields.
func (c *Config) validate(faults *[]string) {
	report := func(format string, args ...any) { *faults = append(*faults, fmt.Sprintf(format, args...)) }

	switch s := c.RouteTableSelector; {
	case s == nil && len(c.GatewayRoutes()) == 0:
		report("routeTableSelector: missing; it says which RouteTables are concerned, by name or by labels; for routes of the Gateway API set httpRoute, grpcRoute, tcpRoute or tlsRoute")
	case s == nil:
	case s.Name == "" && s.LabelSelector() == nil:
		report("routeTableSelector: empty; set name, labels or matchExpressions")
	default:
		checkName(report, "routeTableSelector.name", s.Name)
		checkName(report, "routeTableSelector.namespace", s.Namespace)
		if _, err := metav1.LabelSelectorAsSelector(s.LabelSelector()); err != nil {
			report("routeTableSelector: labels and matchExpressions are no selector: %v", err)
		}
	}
	if c.RouteSelector != nil && c.RouteTableSelector == nil && len(c.GatewayRoutes()) > 0 {
		report("routeSelector: it narrows RouteTables, and none is selected; leave it out")
	}
	if s := c.RouteSelector; s != nil && s.Name == "" && len(s.Labels) == 0 {
		report("routeSelector: empty; set name or labels, or leave it out to take every route that forwards to stable")
	}
	checkOneOf(report, "destinationKind", c.DestinationKind, kinds)
	checkName(report, "destinationNamespace", c.DestinationNamespace)
	checkDestination(report, "stable", c.Stable)
	checkDestination(report, "canary", c.Canary)
	c.checkSubsetLabel(report)
	checkOneOf(report, "verify", string(c.Verify), verifications)
	c.validateGatewayRoutes(report)
}

// checkSubsetLabel checks what goes with subsetLabel, by which one Service serves both versions.
func (c *Config) checkSubsetLabel(report func(string, ...any)) {
	if c.SubsetLabel == "" {
		return
	}
	if c.SubsetLabel != v1alpha1.DefaultRolloutUniqueLabelKey {
		report("subsetLabel: found %q, want %s: it is the one that Argo Rollouts puts on pods", c.SubsetLabel, v1alpha1.DefaultRolloutUniqueLabelKey)
	}
	if c.Stable == nil || c.Stable.Name == "" {
		report("subsetLabel: the two versions share one Service; name it in stable.name")
	}
	if c.Stable != nil && c.Stable.Subset != nil {
		report("stable.subset: subsetLabel adds the pod hash to what the table has; leave subset out")
	}
	if c.Canary != nil {
		report("canary: with subsetLabel it is the same Service as stable; leave it out")
	}
}

func checkDestination(report func(string, ...any), path string, d *Destination) {
	if d == nil {
		return
	}
	checkName(report, path+".name", d.Name)
	checkName(report, path+".namespace", d.Namespace)
	checkOneOf(report, path+".kind", d.Kind, kinds)
	if p := d.Port; p != nil && ((p.Name == "") == (p.Number == 0) || p.Number < 0 || p.Number > 65535) {
		report("%s.port: want number, from 1 to 65535, or name", path)
	}
	for _, key := range slices.Sorted(maps.Keys(d.Subset)) {
		if len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(d.Subset[key])) > 0 {
			report("%s.subset: %q: %q is not a label that a pod can have", path, key, d.Subset[key])
		}
	}
}

func checkOneOf(report func(string, ...any), path, value string, values []string) {
	if value != "" && !slices.Contains(values, value) {
		report("%s: found %q, want one of %s", path, value, strings.Join(values, ", "))
	}
}

func checkName(report func(string, ...any), path, name string) {
	if name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		report("%s: %q is not a name that a Kubernetes object can have", path, name)
	}
}
