package intent

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
)

// ManagedRoute is a route that a Rollout adds before each of those that carry its traffic.
type ManagedRoute struct {
	// Name is one of the Rollout's managedRoutes.
	Name string
	// Matches are alternatives: the route takes the requests that fit any of them. There is at least one.
	Matches []RequestMatch
	// Mirror is how many percent of those requests are sent to the canary as well, whose answers nobody sees, while the
	// requests go where they went before. Nil: they all go to the canary instead, whatever its weight.
	Mirror *int
}

// Mirrors reports whether any of the routes is a mirror.
func Mirrors(routes []ManagedRoute) bool {
	return slices.ContainsFunc(routes, func(m ManagedRoute) bool { return m.Mirror != nil })
}

// Mirrored returns the matches of the mirrors among the routes.
func Mirrored(routes []ManagedRoute) []RequestMatch {
	var matches []RequestMatch
	for _, m := range routes {
		if m.Mirror != nil {
			matches = append(matches, m.Matches...)
		}
	}
	return matches
}

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
	steps := managedSteps(replayed(ro))
	last := map[string]managedStep{}
	for _, step := range steps {
		last[step.name()] = step
	}
	var routes []ManagedRoute
	for _, managed := range canary.TrafficRouting.ManagedRoutes {
		step, found := last[managed.Name]
		if delete(last, managed.Name); !found || step.removes() {
			continue
		}
		route, err := step.route()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step, err)
		}
		routes = append(routes, route)
	}
	for _, step := range steps { // in their order, so that the error is always the same one
		if left, found := last[step.name()]; found && !left.removes() {
			return nil, fmt.Errorf("%s: the name is not listed in spec.strategy.canary.trafficRouting.managedRoutes; add it there", left)
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

// MayMirror reports whether any step mirrors traffic, so that something of it may have been left behind.
func MayMirror(ro *v1alpha1.Rollout) bool {
	return slices.ContainsFunc(ro.Spec.Strategy.Canary.Steps, func(s v1alpha1.CanaryStep) bool { return s.SetMirrorRoute != nil })
}

// managedStep is a step that sets or removes a managed route; one of its fields is set.
type managedStep struct {
	header *v1alpha1.SetHeaderRoute
	mirror *v1alpha1.SetMirrorRoute
}

func managedSteps(steps []v1alpha1.CanaryStep) []managedStep {
	var managed []managedStep
	for _, step := range steps {
		if step.SetHeaderRoute != nil || step.SetMirrorRoute != nil {
			managed = append(managed, managedStep{step.SetHeaderRoute, step.SetMirrorRoute})
		}
	}
	return managed
}

func (s managedStep) name() string {
	if s.header != nil {
		return s.header.Name
	}
	return s.mirror.Name
}

// String names the step as errors do.
func (s managedStep) String() string {
	if s.header != nil {
		return fmt.Sprintf("setHeaderRoute %q", s.header.Name)
	}
	return fmt.Sprintf("setMirrorRoute %q", s.mirror.Name)
}

// removes reports whether the step takes its route away: its match is empty.
func (s managedStep) removes() bool {
	if s.header != nil {
		return len(s.header.Match) == 0
	}
	return len(s.mirror.Match) == 0
}

// route returns the route that the step wants.
func (s managedStep) route() (ManagedRoute, error) {
	if s.header != nil {
		return headerRoute(s.header)
	}
	return mirrorRoute(s.mirror)
}

func headerRoute(step *v1alpha1.SetHeaderRoute) (ManagedRoute, error) {
	route := ManagedRoute{Name: step.Name}
	for i, match := range step.Match {
		header, err := headerMatch(match)
		if err != nil {
			return route, fmt.Errorf("match[%d]: %w", i, err)
		}
		route.Matches = append(route.Matches, RequestMatch{Headers: []HeaderMatch{header}})
	}
	return route, nil
}

// mirrorRoute returns the route that mirrors what the step matches. An absent percentage means all of it (Rollout spec,
// setMirrorRoute.percentage); so does 0, which cannot be told from it over RPC.
func mirrorRoute(step *v1alpha1.SetMirrorRoute) (ManagedRoute, error) {
	percentage := 100
	if step.Percentage != nil {
		percentage = int(*step.Percentage)
	}
	route := ManagedRoute{Name: step.Name, Mirror: &percentage}
	if percentage < 0 || percentage > 100 {
		return route, fmt.Errorf("percentage is %d; want 0 to 100", percentage)
	}
	for i, match := range step.Match {
		fits, err := requestMatch(match)
		if err != nil {
			return route, fmt.Errorf("match[%d]: %w", i, err)
		}
		route.Matches = append(route.Matches, fits)
	}
	return route, nil
}

func requestMatch(match v1alpha1.RouteMatch) (RequestMatch, error) {
	fits := RequestMatch{}
	var err error
	if fits.Method, err = optionalMatch("method", match.Method); err != nil {
		return fits, err
	}
	if fits.Path, err = optionalMatch("path", match.Path); err != nil {
		return fits, err
	}
	for _, name := range slices.Sorted(maps.Keys(match.Headers)) {
		value := match.Headers[name]
		header, err := valueMatch("headers."+name, &value)
		if err != nil {
			return fits, err
		}
		fits.Headers = append(fits.Headers, HeaderMatch{name, header})
	}
	return fits, nil
}
