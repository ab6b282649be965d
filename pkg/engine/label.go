package engine

import (
	"maps"
	"slices"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// label says which label shows on an object that the Rollout has a release under way there, and returns that with the patch
// which sees to it. A label of that key that is somebody else's is left as it is, and is not the Rollout's. One that other
// Rollouts hold as well stays with the value that it has, until the last of them lets go of it.
func (p *planner) label(observed map[string]string, underWay, lost bool) (intent.Label, []Operation) {
	if !p.api.Labelled() {
		return intent.Label{}, nil
	}
	wanted, held := p.in.Label, p.memory.label
	switch {
	case !underWay:
		wanted = intent.Label{}
	case p.in.KeepWeights && wanted.Key == "":
		wanted = held
	}
	if lost {
		held = p.in.Label
	}
	labels := map[string]string{}
	maps.Copy(labels, observed)
	if bears(labels, held) && !slices.Contains(p.memory.labels, held) {
		delete(labels, held.Key)
	}
	if value, taken := labels[wanted.Key]; taken {
		if wanted.Value = value; !slices.Contains(p.memory.labels, wanted) {
			wanted = intent.Label{}
		}
	} else if wanted.Key != "" {
		labels[wanted.Key] = wanted.Value
	}
	return wanted, mapPatch(observed, labels, "metadata", "labels")
}

// isLost reports whether the Rollout is at work on an object, though nothing of that is remembered there: it has managed routes, or
// a route that it moves sends requests to what got some at the last call.
func (p *planner) isLost(routes []Route, plans []routePlan) bool {
	mine := ownerLabelValue(p.in.Owner)
	sends := func(e Entry) bool {
		return given(p.api, e.Weight) > 0 && p.wasUsed(e) && !p.in.Stable.Matches(e.Destination)
	}
	moves := func(rp routePlan) bool { return slices.ContainsFunc(rp.route.Entries, sends) }
	return !p.memory.known && (slices.ContainsFunc(routes, func(r Route) bool { return r.Owner == mine }) ||
		slices.ContainsFunc(plans, moves))
}

func bears(labels map[string]string, l intent.Label) bool {
	value, found := labels[l.Key]
	return found && value == l.Value
}
