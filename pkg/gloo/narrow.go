package gloo

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/jsonfault"
)

// matcher is what is read of an HTTPRequestMatcher of the RouteTable API, to add conditions to it.
type matcher struct {
	URI     *uri     `json:"uri"`
	Method  string   `json:"method"`
	Headers []header `json:"headers"`

	// fields is the matcher as it stands, and headers its list of them.
	fields  map[string]json.RawMessage
	headers []json.RawMessage
	// rewritten says that the route replaces the part of the path that the matcher matched.
	rewritten bool
}

// header is a HeaderMatcher of the RouteTable API. Without a value any will do; a regex must match the whole value.
type header struct {
	Name        string `json:"name"`
	Value       string `json:"value,omitempty"`
	Regex       bool   `json:"regex,omitempty"`
	InvertMatch bool   `json:"invertMatch,omitempty"`
}

// errImpossible says that no request can fit a matcher and what is added to it.
var errImpossible = errors.New("no request can fit both")

// narrowed returns the matchers that hold where one of the given ones and one of the matches does; nil if none can.
// A match that Gloo has no way to state beside a matcher is an error.
func narrowed(raw json.RawMessage, matches []intent.RequestMatch, rewritten bool) ([]json.RawMessage, error) {
	given := []json.RawMessage{}
	if present(raw) {
		if err := json.Unmarshal(raw, &given); err != nil {
			return nil, err
		}
	}
	if len(given) == 0 {
		given = append(given, json.RawMessage("{}"))
	}
	var matchers []json.RawMessage
	for i, one := range given {
		m, err := readMatcher(one)
		if err != nil {
			return nil, fmt.Errorf("matchers[%d]: %w", i, err)
		}
		m.rewritten = rewritten
		for _, match := range matches {
			narrow, err := m.with(match)
			if errors.Is(err, errImpossible) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("matchers[%d]: %w", i, err)
			}
			matchers = append(matchers, narrow)
		}
	}
	return matchers, nil
}

// readMatcher reads a matcher; one that is null holds for any request.
func readMatcher(raw json.RawMessage) (matcher, error) {
	if !present(raw) {
		return matcher{fields: map[string]json.RawMessage{}}, nil
	}
	m, err := jsonfault.Read[matcher](raw)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(raw, &m.fields); err != nil {
		return m, err
	}
	if present(m.fields["headers"]) {
		return m, json.Unmarshal(m.fields["headers"], &m.headers)
	}
	return m, nil
}

// with returns the matcher with a match's conditions added.
func (m matcher) with(match intent.RequestMatch) (json.RawMessage, error) {
	narrow := maps.Clone(m.fields)
	for _, add := range []func(map[string]json.RawMessage, intent.RequestMatch) error{m.addMethod, m.addPath, m.addHeaders} {
		if err := add(narrow, match); err != nil {
			return nil, err
		}
	}
	return json.Marshal(narrow)
}

func (m matcher) addMethod(narrow map[string]json.RawMessage, match intent.RequestMatch) error {
	switch {
	case match.Method == nil:
		return nil
	case match.Method.Type != intent.Exact:
		return fmt.Errorf("a method by %s %q cannot be asked for: Gloo compares methods as a whole; use exact", match.Method.Type, match.Method.Value)
	case m.Method == "":
		return set(narrow, "method", match.Method.Value)
	case m.Method != match.Method.Value:
		return errImpossible
	}
	return nil
}

func (m matcher) addPath(narrow map[string]json.RawMessage, match intent.RequestMatch) error {
	if match.Path == nil || match.Path.Type == intent.Prefix && match.Path.Value == "/" { // every path
		return nil
	}
	both, err := m.URI.and(*match.Path)
	if err != nil || m.URI != nil && both == *m.URI {
		return err
	}
	if m.rewritten {
		return fmt.Errorf("path %s %q: the route's pathRewrite replaces what its matcher matched, and would replace another part of the path here; leave path out", match.Path.Type, match.Path.Value)
	}
	return set(narrow, "uri", both)
}

func (m matcher) addHeaders(narrow map[string]json.RawMessage, match intent.RequestMatch) error {
	all := slices.Clip(m.headers)
	for _, h := range match.Headers {
		added := spellHeader(h)
		if slices.ContainsFunc(m.Headers, added.contradicts) {
			return errImpossible
		}
		if slices.ContainsFunc(m.Headers, added.same) {
			continue
		}
		data, err := json.Marshal(added)
		if err != nil {
			return err
		}
		all = append(all, data)
	}
	if len(all) == len(m.headers) {
		return nil
	}
	return set(narrow, "headers", all)
}

func set(object map[string]json.RawMessage, field string, value any) error {
	data, err := json.Marshal(value)
	object[field] = data
	return err
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
