package gatewayapi

import (
	"bytes"
	"cmp"
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

// ruleMatch is what is read of an HTTPRouteMatch or GRPCRouteMatch, to add conditions to it.
type ruleMatch struct {
	Path        *pathMatch      `json:"path"`
	Method      json.RawMessage `json:"method"` // of HTTP a text, of gRPC an object
	Headers     headers         `json:"headers"`
	QueryParams headers         `json:"queryParams"`

	// fields is the match as it stands, and list its headers. Its method is one of HTTP, or of a call of gRPC; that is nil if it
	// cannot be read.
	fields map[string]json.RawMessage
	list   []json.RawMessage
	method string
	call   *grpcMethod
}

// errImpossible says that no request can fit a match and what is added to it.
var errImpossible = errors.New("no request can fit both")

// narrowed returns the matches that hold where one of the given ones and one of the conditions does; nil if none can. What the
// API has no way to state beside a match is an error. Whole says that a given match has all of a condition already.
func (a Routes) narrowed(raw json.RawMessage, conditions []intent.RequestMatch, rewritten bool) (matches []json.RawMessage, whole bool, err error) {
	given, err := a.readMatches(raw)
	if err != nil {
		return nil, false, err
	}
	for i, m := range given {
		for _, condition := range conditions {
			narrow, err := a.with(m, condition, rewritten)
			if errors.Is(err, errImpossible) {
				continue
			}
			if err != nil {
				return nil, false, fmt.Errorf("matches[%d]: %w", i, err)
			}
			raw, err := json.Marshal(narrow)
			if err != nil {
				return nil, false, err
			}
			whole = whole || maps.EqualFunc(narrow, m.fields, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
			if !slices.ContainsFunc(matches, func(m json.RawMessage) bool { return bytes.Equal(m, raw) }) {
				matches = append(matches, raw)
			}
		}
	}
	return matches, whole, nil
}

// readMatches reads those of a rule. One that has none takes any request.
func (a Routes) readMatches(raw json.RawMessage) ([]ruleMatch, error) {
	given := []json.RawMessage{}
	if present(raw) {
		if err := json.Unmarshal(raw, &given); err != nil {
			return nil, fmt.Errorf("matches: %w", jsonfault.Explain(err))
		}
	}
	if len(given) == 0 {
		given = append(given, json.RawMessage("{}"))
	}
	matches := make([]ruleMatch, len(given))
	for i, one := range given {
		var err error
		if matches[i], err = a.readMatch(one); err != nil {
			return nil, fmt.Errorf("matches[%d]: %w", i, err)
		}
	}
	return matches, nil
}

// readMatch reads a match; one that is null holds for any request.
func (a Routes) readMatch(raw json.RawMessage) (ruleMatch, error) {
	m := ruleMatch{fields: map[string]json.RawMessage{}}
	if present(raw) {
		var err error
		if m, err = jsonfault.Read[ruleMatch](raw); err != nil {
			return m, err
		}
		if err := json.Unmarshal(raw, &m.fields); err != nil {
			return m, err
		}
	}
	if list := m.fields["headers"]; present(list) {
		if err := json.Unmarshal(list, &m.list); err != nil {
			return m, err
		}
	}
	m.Headers.spellTypes()
	m.QueryParams.spellTypes()
	if a.kind != httpRoute {
		m.call = readCall(m.Method)
		return m, nil
	}
	if m.Path == nil { // its default (Gateway API reference, HTTPRouteMatch.path)
		m.Path = &pathMatch{pathPrefix, "/"}
		if err := set(m.fields, "path", m.Path); err != nil {
			return m, err
		}
	}
	m.Path.Type = cmp.Or(m.Path.Type, pathPrefix)
	if !present(m.Method) {
		return m, nil
	}
	return m, jsonfault.Explain(json.Unmarshal(m.Method, &m.method))
}

// with returns the fields of a match with a condition added.
func (a Routes) with(m ruleMatch, condition intent.RequestMatch, rewritten bool) (map[string]json.RawMessage, error) {
	narrow := maps.Clone(m.fields)
	if condition.Method != nil || condition.Path != nil {
		if a.kind != httpRoute {
			return nil, fmt.Errorf("a %s cannot ask for a method or path of HTTP: its calls have a service and a method of their own; leave method and path out", a.kind)
		}
		if err := m.addMethod(narrow, condition.Method); err != nil {
			return nil, err
		}
		if err := m.addPath(narrow, condition.Path, rewritten); err != nil {
			return nil, err
		}
	}
	return narrow, m.addHeaders(narrow, condition.Headers)
}

func (m ruleMatch) addMethod(narrow map[string]json.RawMessage, method *intent.ValueMatch) error {
	switch {
	case method == nil:
		return nil
	case method.Type != intent.Exact:
		return fmt.Errorf("a method by %s %q cannot be asked for: an HTTPRoute compares methods as a whole; use exact", method.Type, method.Value)
	case m.method == "":
		return set(narrow, "method", method.Value)
	case m.method != method.Value:
		return errImpossible
	}
	return nil
}

func (m ruleMatch) addPath(narrow map[string]json.RawMessage, path *intent.ValueMatch, rewritten bool) error {
	if path == nil {
		return nil
	}
	both, err := m.Path.and(*path)
	if err != nil || both == *m.Path {
		return err
	}
	if rewritten {
		return fmt.Errorf("path %s %q: a filter of the rule replaces the prefix that its match matched, and would replace another part of the path here; leave path out", path.Type, path.Value)
	}
	return set(narrow, "path", both)
}

func (m ruleMatch) addHeaders(narrow map[string]json.RawMessage, conditions []intent.HeaderMatch) error {
	all, list := m.Headers, slices.Clip(m.list)
	for _, condition := range conditions {
		added, err := all.with(condition)
		if err != nil {
			return err
		}
		if len(added) == len(all) {
			continue
		}
		raw, err := json.Marshal(spellHeader(condition))
		if err != nil {
			return err
		}
		all, list = added, append(list, raw)
	}
	if len(list) == len(m.list) {
		return nil
	}
	return set(narrow, "headers", list)
}

// header is an HTTPHeaderMatch or GRPCHeaderMatch.
type header struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

// headers are the conditions of one match. A name stands there once.
type headers []header

// spellTypes gives a condition that says no type its default.
func (hs headers) spellTypes() {
	for i := range hs {
		hs[i].Type = cmp.Or(hs[i].Type, exact)
	}
}

const (
	exact             = "Exact"
	regularExpression = "RegularExpression"
	pathPrefix        = "PathPrefix"
)

// spellHeader returns a header condition as the API states it. It has no prefixes, so those are expressions. Whether an
// expression has to fit the whole value is the implementation's choice; these mean the same either way.
func spellHeader(h intent.HeaderMatch) header {
	switch h.Type {
	case intent.Prefix:
		return header{regularExpression, h.Name, "^" + regexp.QuoteMeta(h.Value) + ".*"}
	case intent.Regex:
		return header{regularExpression, h.Name, h.Value}
	default:
		return header{exact, h.Name, h.Value}
	}
}

// with returns the conditions and one more. One that says no more than what is there already is not added. It fails with
// errImpossible where no value can fit both, and otherwise where both would have to be stated.
func (hs headers) with(condition intent.HeaderMatch) (headers, error) {
	added := spellHeader(condition)
	for _, h := range hs {
		if !strings.EqualFold(h.Name, added.Name) {
			continue
		}
		switch {
		case h.Type == added.Type && h.Value == added.Value:
			return hs, nil
		case h.Type == exact && condition.Type == intent.Prefix && strings.HasPrefix(h.Value, condition.Value):
			return hs, nil
		case h.Type == exact && condition.Type != intent.Regex:
			return nil, errImpossible
		default:
			return nil, fmt.Errorf("header %s cannot be asked to be %s %q: a match names a header once, and it is to be %s %q already; ask for another header",
				added.Name, condition.Type, condition.Value, h.Type, h.Value)
		}
	}
	return append(slices.Clip(hs), added), nil
}

// pathMatch is an HTTPPathMatch.
type pathMatch struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// and returns the condition that holds where p and a match both do. A prefix is of whole elements of the path. It fails with
// errImpossible where no path can fit both, and otherwise where the API, which asks for one condition, cannot state both.
func (p pathMatch) and(match intent.ValueMatch) (pathMatch, error) {
	added := spellPath(match)
	switch {
	case p == added || added.isAny():
		return p, nil
	case p.isAny():
		return added, nil
	case p.Type == regularExpression || added.Type == regularExpression:
		return pathMatch{}, fmt.Errorf("path %s %q cannot be asked for beside path %s %q: a match takes one condition on the path; leave path out", match.Type, match.Value, p.Type, p.Value)
	case p.Type == pathPrefix && hasElements(added.Value, p.Value):
		return added, nil
	case added.Type == pathPrefix && hasElements(p.Value, added.Value):
		return p, nil
	default:
		return pathMatch{}, errImpossible
	}
}

// isAny reports whether every path fits.
func (p pathMatch) isAny() bool { return p == pathMatch{pathPrefix, "/"} }

func spellPath(match intent.ValueMatch) pathMatch {
	switch match.Type {
	case intent.Prefix:
		return pathMatch{pathPrefix, match.Value}
	case intent.Regex:
		return pathMatch{regularExpression, match.Value}
	default:
		return pathMatch{exact, match.Value}
	}
}

// hasElements reports whether a path begins with all elements of a prefix.
func hasElements(path, prefix string) bool {
	rest, found := strings.CutPrefix(path, strings.TrimSuffix(prefix, "/"))
	return found && (rest == "" || rest[0] == '/')
}
