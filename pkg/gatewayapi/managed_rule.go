package gatewayapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Unlabelled says that rules have no labels.
func (Routes) Unlabelled() bool { return true }

// SpellRoute returns a rule that takes from source's requests those that fit m. A rule's matches are alternatives, and inside one
// all conditions must hold: so there is every match of the source with the conditions added. Of a header route, those of all
// its matches have to hold, as users of argoproj-labs/gatewayAPI rely on. Filters, timeouts and fields that are not known here are
// the source's. Defaults that the API server would fill in are spelt out, so that the rule reads back as it was written.
//
// Of two rules that match, the one with more conditions counts, and of equal ones the first (Gateway API reference,
// HTTPRouteRule.matches): so the rule has to stand before its source where a match of that has all of the conditions already.
func (a Routes) SpellRoute(source engine.Route, m engine.ManagedRoute) (managed json.RawMessage, before bool, err error) {
	rule := map[string]json.RawMessage{}
	if err := json.Unmarshal(source.JSON, &rule); err != nil {
		return nil, false, err
	}
	matches, before, err := a.matchesOf(rule, m)
	if err != nil || matches == nil {
		return nil, false, err
	}
	refs := make([]json.RawMessage, len(m.Destinations))
	for i, raw := range m.Destinations {
		if refs[i], err = withWeight(raw); err != nil {
			return nil, false, err
		}
	}
	fields := map[string]any{"name": m.Name, "matches": matches, "backendRefs": refs}
	if m.Mirror != nil {
		if fields["filters"], err = mirrored(rule["filters"], m.Canary, *m.Mirror); err != nil {
			return nil, false, err
		}
	}
	for field, value := range fields {
		if err := set(rule, field, value); err != nil {
			return nil, false, err
		}
	}
	managed, err = json.Marshal(rule)
	return managed, before, err
}

// matchesOf returns the matches of a managed rule. A header route takes the requests of mirrors as well, by matches that have more
// conditions than those of the mirrors.
func (a Routes) matchesOf(source map[string]json.RawMessage, m engine.ManagedRoute) (matches []json.RawMessage, before bool, err error) {
	rewritten, err := rewrites(source)
	if err != nil {
		return nil, false, err
	}
	if m.Mirror != nil {
		matches, before, err = a.narrowed(source["matches"], m.Matches, rewritten)
	} else {
		matches, before, err = a.headed(source["matches"], m, rewritten)
	}
	if n := len(matches); err == nil && rewritten && n > 1 {
		err = fmt.Errorf("a filter of the rule replaces the prefix that its match matched, so it may have one match, and it would have %d; ask for one match, and for no header route beside a mirror", n)
	}
	return matches, before, err
}

// headed returns the matches of a header route.
func (a Routes) headed(source json.RawMessage, m engine.ManagedRoute, rewritten bool) (matches []json.RawMessage, before bool, err error) {
	all, err := together(m.Matches)
	if err != nil {
		return nil, false, err
	}
	given, _, err := a.narrowed(source, append([]intent.RequestMatch{{}}, m.Over...), rewritten)
	if err != nil {
		return nil, false, err
	}
	raw, err := json.Marshal(given)
	if err != nil {
		return nil, false, err
	}
	return a.narrowed(raw, []intent.RequestMatch{all}, rewritten)
}

// together makes of a step's matches one condition, in which all of them hold.
func together(matches []intent.RequestMatch) (intent.RequestMatch, error) {
	all, spelt := intent.RequestMatch{}, headers{}
	for _, m := range matches {
		for _, h := range m.Headers {
			more, err := spelt.with(h)
			if errors.Is(err, errImpossible) {
				err = fmt.Errorf("header %s is to have two values at once: all matches of a step hold together here; use one step for each", h.Name)
			}
			if err != nil {
				return all, err
			}
			if len(more) > len(spelt) {
				all.Headers, spelt = append(all.Headers, h), more
			}
		}
	}
	return all, nil
}

// withWeight returns a backendRef with the weight by which it counts.
func withWeight(raw json.RawMessage) (json.RawMessage, error) {
	ref := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &ref); err != nil {
		return nil, err
	}
	if !present(ref["weight"]) {
		if err := set(ref, "weight", relative{}.Unset()); err != nil {
			return nil, err
		}
	}
	return json.Marshal(ref)
}

// mirrorFilter is an HTTPRouteFilter or GRPCRouteFilter of type RequestMirror.
type mirrorFilter struct {
	Type          string        `json:"type"`
	RequestMirror requestMirror `json:"requestMirror"`
}

// requestMirror is an HTTPRequestMirrorFilter. Without Percent all requests are mirrored.
type requestMirror struct {
	BackendRef mirrorRef `json:"backendRef"`
	Percent    *int      `json:"percent,omitempty"`
}

// mirrorRef is a BackendObjectReference.
type mirrorRef struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	Port      int    `json:"port,omitempty"`
}

// mirrored returns a rule's filters and one more, by which a percentage of the requests is sent to a backend as well.
func mirrored(filters, backend json.RawMessage, percentage int) ([]json.RawMessage, error) {
	var all []json.RawMessage
	if present(filters) {
		if err := json.Unmarshal(filters, &all); err != nil {
			return nil, err
		}
	}
	filter := mirrorFilter{Type: "RequestMirror", RequestMirror: requestMirror{BackendRef: mirrorRef{Kind: "Service"}}}
	if err := json.Unmarshal(backend, &filter.RequestMirror.BackendRef); err != nil {
		return nil, err
	}
	if percentage != 100 {
		filter.RequestMirror.Percent = &percentage
	}
	raw, err := json.Marshal(filter)
	return append(all, raw), err
}

// pathFilter is what is read of a filter that may replace paths.
type pathFilter struct {
	URLRewrite      pathReplacement `json:"urlRewrite"`
	RequestRedirect pathReplacement `json:"requestRedirect"`
}

type pathReplacement struct {
	Path struct {
		Type string `json:"type"`
	} `json:"path"`
}

// rewrites reports whether a filter of a rule or of one of its backends replaces the part of the path that the rule's match
// matched. Such a rule may have one match only (Gateway API reference, HTTPRouteRule).
func rewrites(rule map[string]json.RawMessage) (bool, error) {
	filters := []json.RawMessage{rule["filters"]}
	if present(rule["backendRefs"]) {
		var refs []struct {
			Filters json.RawMessage `json:"filters"`
		}
		if err := json.Unmarshal(rule["backendRefs"], &refs); err != nil {
			return false, err
		}
		for _, ref := range refs {
			filters = append(filters, ref.Filters)
		}
	}
	return slices.ContainsFunc(filters, replacesPrefix), nil
}

// replacesPrefix reports whether one of some filters does.
func replacesPrefix(filters json.RawMessage) bool {
	var views []pathFilter
	if !present(filters) || json.Unmarshal(filters, &views) != nil {
		return false
	}
	for _, f := range views {
		if f.URLRewrite.Path.Type == "ReplacePrefixMatch" || f.RequestRedirect.Path.Type == "ReplacePrefixMatch" {
			return true
		}
	}
	return false
}

func set(object map[string]json.RawMessage, field string, value any) error {
	data, err := json.Marshal(value)
	object[field] = data
	return err
}
