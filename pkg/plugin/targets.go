package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gatewayapi"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
)

// APIs returns all routing APIs of whose objects a Rollout's block may select some, in a fixed order: RouteTables, and the Gateway
// API's kinds of routes, each in the version that the cluster prefers.
func APIs() []engine.API {
	return []engine.API{gloo.RouteTables{}, gatewayapi.HTTPRoutes(""), gatewayapi.GRPCRoutes(""), gatewayapi.TCPRoutes(""), gatewayapi.TLSRoutes("")}
}

// apiOf returns the routing API of a kind of objects that a block can name.
func apiOf(kind string) engine.API {
	apis := APIs()
	return apis[slices.IndexFunc(apis, func(a engine.API) bool { return a.Kind() == kind })]
}

// Targets returns the objects that a Rollout's block selects, of all routing APIs. It fails if some are where the plugin may not
// go.
func (o Options) Targets(ro *v1alpha1.Rollout, block *config.Config) ([]engine.Target, error) {
	var targets []engine.Target
	if s := block.RouteTableSelector; s != nil {
		table := engine.Target{API: gloo.RouteTables{}, Name: s.Name, Routes: block.RouteSelector}
		var err error
		if table.Namespace, err = o.namespace("routeTableSelector", s.Namespace, ro); err != nil {
			return nil, err
		}
		if table.Selector, err = selector("routeTableSelector", s.LabelSelector()); err != nil {
			return nil, err
		}
		targets = append(targets, table)
	}
	kinds := block.GatewayRoutes()
	if len(kinds) == 0 {
		return targets, nil
	}
	namespace, err := o.namespace("namespace", block.Namespace, ro)
	if err != nil {
		return nil, err
	}
	for _, kind := range kinds {
		api := apiOf(kind.Kind)
		for _, named := range kind.Named {
			targets = append(targets, engine.Target{API: api, Namespace: namespace, Name: named.Name, NoHeaders: !named.UseHeaderRoutes})
		}
		if kind.Selector == nil {
			continue
		}
		byLabel, err := selector(kind.Field, kind.Selector)
		if err != nil {
			return nil, err
		}
		if key, _ := block.InProgressLabel(); mentions(kind.Selector, key) {
			return nil, fmt.Errorf("%s: it selects by label %s, which comes and goes with each release; select by another, or set inProgressLabelKey or disableInProgressLabel",
				kind.Field, key)
		}
		targets = append(targets, engine.Target{API: api, Namespace: namespace, Selector: byLabel})
	}
	return targets, nil
}

// namespace returns the namespace that a field of the block gives or, if it is empty, the Rollout's.
func (o Options) namespace(field, given string, ro *v1alpha1.Rollout) (string, error) {
	namespace := cmp.Or(given, ro.Namespace)
	if o.RouteNamespaces != nil && !slices.Contains(o.RouteNamespaces, namespace) {
		return "", fmt.Errorf("%s: namespace %s is not among those that the plugin's flag --route-namespaces allows (%s)",
			field, namespace, strings.Join(o.RouteNamespaces, ", "))
	}
	return namespace, nil
}

// selector returns what selects by the labels that a field of the block gives, nil if it gives none.
func selector(field string, given *metav1.LabelSelector) (labels.Selector, error) {
	if given == nil {
		return nil, nil
	}
	s, err := metav1.LabelSelectorAsSelector(given)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return s, nil
}

// mentions reports whether what a selector matches may depend on the label with a key.
func mentions(s *metav1.LabelSelector, key string) bool {
	_, found := s.MatchLabels[key]
	return found || slices.ContainsFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return r.Key == key })
}
