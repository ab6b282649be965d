package intent

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
)

// ManagedRoute is a route that a Rollout adds beside each of those that carry its traffic.
type ManagedRoute struct {
	// Name is one of the Rollout's managedRoutes.
	Name string
	// Headers are alternatives: requests that fit any of them go to the canary, whatever its weight.
	Headers []HeaderMatch
}

// HeaderMatch is a condition on a request's header.
type HeaderMatch struct {
	Name string
	Type MatchType
	// Value is what the header is compared with; it is never empty.
	Value string
}

// MatchType is how a value is compared.
type MatchType string

// A value is compared as a whole, by its beginning, or as a whole with an RE2 expression.
const (
	Exact  MatchType = "exact"
	Prefix MatchType = "prefix"
	Regex  MatchType = "regex"
)

// revisionAnnotation is where the controller keeps the number of a Rollout's revision (argo-rollouts,
// utils/annotations.RevisionAnnotation).
const revisionAnnotation = "rollout.argoproj.io/revision"

// managedRoutes returns the managed routes that should exist now, in the order of spec's managedRoutes, which is their
// precedence. It replays the steps up to the present one, whatever calls were made or missed: per name the last step
// counts, and one with an empty match takes the route away. There are none at the first revision, once the update is
// aborted or promoted in full, and when the wanted version is the stable one.
func managedRoutes(ro *v1alpha1.Rollout) ([]ManagedRoute, error) {
	canary := ro.Spec.Strategy.Canary
	if canary.TrafficRouting == nil || !isUpdating(ro) {
		return nil, nil
	}
	wanted := map[string]*v1alpha1.SetHeaderRoute{}
	for _, step := range replayed(ro) {
		if step.SetHeaderRoute != nil {
			wanted[step.SetHeaderRoute.Name] = step.SetHeaderRoute
		}
	}
	var routes []ManagedRoute
	for _, managed := range canary.TrafficRouting.ManagedRoutes {
		step := wanted[managed.Name]
		delete(wanted, managed.Name)
		if step == nil || len(step.Match) == 0 {
			continue
		}
		route := ManagedRoute{Name: managed.Name}
		for i, match := range step.Match {
			header, err := headerMatch(match)
			if err != nil {
				return nil, fmt.Errorf("setHeaderRoute %q: match[%d]: %w", step.Name, i, err)
			}
			route.Headers = append(route.Headers, header)
		}
		routes = append(routes, route)
	}
	for _, step := range replayed(ro) { // in their order, so that the error is always the same one
		if step.SetHeaderRoute != nil && wanted[step.SetHeaderRoute.Name] != nil && len(step.SetHeaderRoute.Match) > 0 {
			return nil, fmt.Errorf("setHeaderRoute %q: the name is not listed in spec.strategy.canary.trafficRouting.managedRoutes; add it there", step.SetHeaderRoute.Name)
		}
	}
	return routes, nil
}

// isUpdating reports whether a version other than the stable one is being released.
func isUpdating(ro *v1alpha1.Rollout) bool {
	revision, err := strconv.Atoi(ro.Annotations[revisionAnnotation])
	return err == nil && revision > 1 && !ro.Status.Abort && !ro.Status.PromoteFull && ro.Status.StableRS != ro.Status.CurrentPodHash
}

// replayed returns the steps up to the present one, which is the first if the status names none.
func replayed(ro *v1alpha1.Rollout) []v1alpha1.CanaryStep {
	steps, current := ro.Spec.Strategy.Canary.Steps, 0
	if index := ro.Status.CurrentStepIndex; index != nil {
		current = int(*index)
	}
	return steps[:min(current+1, len(steps))]
}

func headerMatch(match v1alpha1.HeaderRoutingMatch) (HeaderMatch, error) {
	if match.HeaderName == "" {
		return HeaderMatch{}, fmt.Errorf("headerName is not set")
	}
	value := match.HeaderValue
	if value == nil {
		value = &v1alpha1.StringMatch{}
	}
	var headers []HeaderMatch
	for _, given := range []HeaderMatch{{match.HeaderName, Exact, value.Exact}, {match.HeaderName, Prefix, value.Prefix}, {match.HeaderName, Regex, value.Regex}} {
		if given.Value != "" {
			headers = append(headers, given)
		}
	}
	if len(headers) != 1 {
		return HeaderMatch{}, fmt.Errorf("headerValue of %s has %d of exact, prefix and regex; set one", match.HeaderName, len(headers))
	}
	if headers[0].Type == Regex {
		if _, err := regexp.Compile(value.Regex); err != nil {
			return HeaderMatch{}, fmt.Errorf("headerValue.regex of %s is no RE2 expression: %w", match.HeaderName, err)
		}
	}
	return headers[0], nil
}
