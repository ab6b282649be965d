package gloo

import (
	"encoding/json"
	"maps"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// Unlabelled says that managed routes have labels.
func (RouteTables) Unlabelled() bool { return false }

// CheckManaged accepts any routes: a table has no limits of its own, and of two routes that match the first one counts.
func (RouteTables) CheckManaged([]engine.Arranged) error { return nil }

// SpellRoute returns an http route that stands before source and takes from it the requests that fit one of m's matches. A
// route's matchers are alternatives, and inside one all conditions must hold: so for every matcher of the source and every
// match there is that matcher with the match's conditions added. A source without matchers takes any request, so the
// conditions stand alone there. Rewrites, labels and fields that are not known here are the source's.
func (RouteTables) SpellRoute(source engine.Route, m engine.ManagedRoute) (managed json.RawMessage, before bool, err error) {
	route, forward := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err := json.Unmarshal(source.JSON, &route); err != nil {
		return nil, false, err
	}
	if err := json.Unmarshal(route["forwardTo"], &forward); err != nil {
		return nil, false, err
	}
	matchers, err := narrowed(route["matchers"], m.Matches, present(forward["pathRewrite"]))
	if err != nil || matchers == nil {
		return nil, false, err
	}
	all := maps.Clone(m.Labels)
	for key, value := range source.Labels {
		if _, ours := all[key]; !ours {
			all[key] = value
		}
	}
	if delete(forward, "destinations"); len(m.Destinations) > 0 {
		if forward["destinations"], err = json.Marshal(m.Destinations); err != nil {
			return nil, false, err
		}
	}
	for field, value := range map[string]any{"forwardTo": forward, "matchers": matchers, "labels": all, "name": m.Name} {
		if route[field], err = json.Marshal(value); err != nil {
			return nil, false, err
		}
	}
	managed, err = json.Marshal(route)
	return managed, true, err
}
