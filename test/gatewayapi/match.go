package gatewayapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// match is one of a rule's alternatives: all of its conditions must hold. That of a TCPRoute or TLSRoute has none.
type match struct {
	path    pathMatch
	method  string // of HTTP; empty: any
	service nameMatch
	call    nameMatch // the method of gRPC
	headers []nameMatch
	queries []nameMatch
}

// pathKind orders path matches by precedence, the strongest last. That of regular expressions is an implementation's own.
type pathKind int

const (
	anyPath pathKind = iota
	prefixPath
	regexpPath
	exactPath
)

type pathMatch struct {
	kind   pathKind
	text   string
	regexp *regexp.Regexp
}

// nameMatch is a condition on a text, which may be that of a header or a query parameter.
type nameMatch struct {
	name   string
	value  string // empty: any, if there is no regexp
	regexp *regexp.Regexp
}

func newMatches(kind string, views []matchView) ([]match, error) {
	if len(views) == 0 {
		views = []matchView{{}}
	}
	var list []match
	for i, view := range views {
		m, err := newMatch(kind, view)
		if err != nil {
			return nil, fmt.Errorf("matches[%d]: %w", i, err)
		}
		list = append(list, m)
	}
	return list, nil
}

func newMatch(kind string, view matchView) (m match, err error) {
	switch kind {
	case HTTP:
		err = m.setHTTP(view)
	case GRPC:
		err = m.setGRPC(view)
	}
	if err != nil {
		return match{}, err
	}
	if m.headers, err = newNameMatches(view.Headers); err != nil {
		return match{}, fmt.Errorf("headers: %w", err)
	}
	if m.queries, err = newNameMatches(view.QueryParams); err != nil {
		return match{}, fmt.Errorf("queryParams: %w", err)
	}
	return m, nil
}

func (m *match) setHTTP(view matchView) (err error) {
	path := typedValue{Type: "PathPrefix", Value: "/"}
	if view.Path != nil {
		path = *view.Path
	}
	if m.path, err = newPathMatch(path); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	if view.Method == nil {
		return nil
	}
	return json.Unmarshal(view.Method, &m.method)
}

func (m *match) setGRPC(view matchView) (err error) {
	if view.Method == nil {
		return nil
	}
	method := methodView{}
	if err := json.Unmarshal(view.Method, &method); err != nil {
		return err
	}
	if m.service, err = newNameMatch(typedValue{Type: method.Type, Value: method.Service}); err != nil {
		return err
	}
	m.call, err = newNameMatch(typedValue{Type: method.Type, Value: method.Method})
	return err
}

func newPathMatch(view typedValue) (pathMatch, error) {
	switch cmp.Or(view.Type, "PathPrefix") {
	case "Exact":
		return pathMatch{kind: exactPath, text: view.Value}, nil
	case "PathPrefix":
		return pathMatch{kind: prefixPath, text: strings.TrimSuffix(view.Value, "/")}, nil
	case "RegularExpression":
		re, err := wholeRegexp(view.Value)
		return pathMatch{kind: regexpPath, text: view.Value, regexp: re}, err
	default:
		return pathMatch{}, fmt.Errorf("unknown type %q", view.Type)
	}
}

func newNameMatches(views []typedValue) ([]nameMatch, error) {
	var list []nameMatch
	for _, view := range views {
		m, err := newNameMatch(view)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

func newNameMatch(view typedValue) (nameMatch, error) {
	switch cmp.Or(view.Type, "Exact") {
	case "Exact":
		return nameMatch{name: view.Name, value: view.Value}, nil
	case "RegularExpression":
		if view.Value == "" {
			return nameMatch{name: view.Name}, nil
		}
		re, err := wholeRegexp(view.Value)
		return nameMatch{name: view.Name, value: view.Value, regexp: re}, err
	default:
		return nameMatch{}, fmt.Errorf("unknown type %q", view.Type)
	}
}

// wholeRegexp compiles an expression that must match a whole value.
func wholeRegexp(expr string) (*regexp.Regexp, error) { return regexp.Compile(`^(?s:` + expr + `)$`) }

func (m match) matches(req *http.Request) bool {
	service, call, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	if !m.path.matches(req.URL.Path) || m.method != "" && m.method != req.Method || !m.service.matches(service) || !m.call.matches(call) {
		return false
	}
	for _, h := range m.headers {
		values := req.Header.Values(h.name)
		if len(values) == 0 || !h.matches(strings.Join(values, ",")) {
			return false
		}
	}
	query := req.URL.Query()
	for _, q := range m.queries {
		if !query.Has(q.name) || !q.matches(query.Get(q.name)) {
			return false
		}
	}
	return true
}

func (m nameMatch) matches(value string) bool {
	if m.regexp != nil {
		return m.regexp.MatchString(value)
	}
	return m.value == "" || m.value == value
}

// matches compares whole elements of a path: prefix /a fits /a and /a/b, and not /ab.
func (p pathMatch) matches(path string) bool {
	switch p.kind {
	case anyPath:
		return true
	case prefixPath:
		rest, found := strings.CutPrefix(path, p.text)
		return found && (rest == "" || rest[0] == '/')
	case regexpPath:
		return p.regexp.MatchString(path)
	case exactPath:
		return path == p.text
	default:
		panic(fmt.Sprintf("path match of kind %d", p.kind))
	}
}
