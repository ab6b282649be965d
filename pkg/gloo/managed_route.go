package gloo

import (
	"encoding/json"
	"maps"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// ManagedRoute returns an http route that stands before source and takes from it the requests that fit one of the matches,
// to these destinations. A route's matchers are alternatives, and inside one all conditions must hold: so for every
// matcher of the source and every match there is that matcher with the match's conditions added. A source without matchers
// takes any request, so the conditions stand alone there. Rewrites, labels and fields that are not known here are the
// source's.
func (RouteTables) ManagedRoute(source engine.Route, destinations []json.RawMessage, matches []intent.RequestMatch, name string, labels map[string]string) (json.RawMessage, error) {
	route, forward := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err := json.Unmarshal(source.JSON, &route); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(route["forwardTo"], &forward); err != nil {
		return nil, err
	}
	matchers, err := narrowed(route["matchers"], matches, present(forward["pathRewrite"]))
	if err != nil || matchers == nil {
		return nil, err
	}
	all := maps.Clone(labels)
	for key, value := range source.Labels {
		if _, ours := all[key]; !ours {
			all[key] = value
		}
	}
	if delete(forward, "destinations"); len(destinations) > 0 {
		if forward["destinations"], err = json.Marshal(destinations); err != nil {
			return nil, err
		}
	}
	for field, value := range map[string]any{"forwardTo": forward, "matchers": matchers, "labels": all, "name": name} {
		if route[field], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return json.Marshal(route)
}
