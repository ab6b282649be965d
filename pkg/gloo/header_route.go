package gloo

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/jsonfault"
)

// header is a HeaderMatcher of the RouteTable API. Without a value any will do; a regex must match the whole value.
type header struct {
	Name        string `json:"name"`
	Value       string `json:"value,omitempty"`
	Regex       bool   `json:"regex,omitempty"`
	InvertMatch bool   `json:"invertMatch,omitempty"`
}

// HeaderRoute returns an http route that stands before source and takes from it the requests that fit one of m's headers.
// A route's matchers are alternatives, and inside one all conditions must hold: so for every matcher of the source and
// every header there is that matcher with the header added. A source without matchers takes any request, so the header
// stands alone there. Rewrites, labels and fields that are not known here are the source's.
func (RouteTables) HeaderRoute(source engine.Route, canary json.RawMessage, m intent.ManagedRoute, name string, labels map[string]string) (json.RawMessage, error) {
	route := map[string]json.RawMessage{}
	if err := json.Unmarshal(source.JSON, &route); err != nil {
		return nil, err
	}
	matchers, err := narrowed(route["matchers"], m.Headers)
	if err != nil || matchers == nil {
		return nil, err
	}
	forward := map[string]json.RawMessage{}
	if err := json.Unmarshal(route["forwardTo"], &forward); err != nil {
		return nil, err
	}
	entry := map[string]json.RawMessage{}
	if err := json.Unmarshal(canary, &entry); err != nil {
		return nil, err
	}
	delete(entry, "weight")
	all := maps.Clone(labels)
	maps.Copy(all, source.Labels)
	for _, set := range []struct {
		in    map[string]json.RawMessage
		field string
		value any
	}{
		{forward, "destinations", []any{entry}},
		{route, "forwardTo", forward},
		{route, "matchers", matchers},
		{route, "labels", all},
		{route, "name", name},
	} {
		if set.in[set.field], err = json.Marshal(set.value); err != nil {
			return nil, err
		}
	}
	return json.Marshal(route)
}

// narrowed returns the matchers that hold where one of the given ones and one of the headers does; nil if none can.
func narrowed(raw json.RawMessage, headers []intent.HeaderMatch) ([]json.RawMessage, error) {
	given := []map[string]json.RawMessage{}
	if present(raw) {
		if err := json.Unmarshal(raw, &given); err != nil {
			return nil, err
		}
	}
	if len(given) == 0 {
		given = append(given, map[string]json.RawMessage{})
	}
	var matchers []json.RawMessage
	for i, matcher := range given {
		asked, list := []header{}, []json.RawMessage{}
		if present(matcher["headers"]) {
			if err := jsonfault.Explain(kjson.UnmarshalCaseSensitivePreserveInts(matcher["headers"], &asked)); err != nil {
				return nil, fmt.Errorf("matchers[%d].headers: %w", i, err)
			}
			if err := json.Unmarshal(matcher["headers"], &list); err != nil {
				return nil, err
			}
		}
		for _, h := range headers {
			added := spellHeader(h)
			if slices.ContainsFunc(asked, added.contradicts) {
				continue
			}
			narrow, err := withHeader(matcher, list, added, slices.ContainsFunc(asked, added.same))
			if err != nil {
				return nil, err
			}
			matchers = append(matchers, narrow)
		}
	}
	return matchers, nil
}

// withHeader returns a matcher with a header beside those that it has in list, or as it is if it asks for that already.
func withHeader(matcher map[string]json.RawMessage, list []json.RawMessage, added header, asked bool) (json.RawMessage, error) {
	narrow := map[string]json.RawMessage{} // a matcher that is null holds for any request
	maps.Copy(narrow, matcher)
	if !asked {
		data, err := json.Marshal(added)
		if err != nil {
			return nil, err
		}
		if narrow["headers"], err = json.Marshal(append(slices.Clip(list), data)); err != nil {
			return nil, err
		}
	}
	return json.Marshal(narrow)
}

// spellHeader returns a header match as Gloo reads it. It has no prefixes, so those are expressions.
func spellHeader(h intent.HeaderMatch) header {
	switch h.Type {
	case intent.Prefix:
		return header{Name: h.Name, Value: regexp.QuoteMeta(h.Value) + ".*", Regex: true}
	case intent.Regex:
		return header{Name: h.Name, Value: h.Value, Regex: true}
	default:
		return header{Name: h.Name, Value: h.Value}
	}
}

// same reports whether two conditions are one.
func (h header) same(other header) bool {
	return strings.EqualFold(h.Name, other.Name) && h.Value == other.Value && h.Regex == other.Regex && h.InvertMatch == other.InvertMatch
}

// contradicts reports whether no request can meet both conditions, where that is plain to see: two values of one header,
// or a value and its opposite.
func (h header) contradicts(other header) bool {
	if !strings.EqualFold(h.Name, other.Name) || h.Regex || other.Regex || h.Value == "" {
		return false
	}
	if other.InvertMatch {
		return other.Value == "" || other.Value == h.Value
	}
	return other.Value != "" && other.Value != h.Value
}
