package gateway

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	commonv2 "github.com/solo-io/solo-apis/client-go/common.gloo.solo.io/v2"
)

// matcher is one of a route's alternatives: all of its conditions must hold.
type matcher struct {
	path    pathMatch
	headers []headerMatch
	queries []queryMatch
	method  string
	port    uint32 // 0: any
}

// pathKind tells path matches apart where a rewrite depends on it.
type pathKind int

const (
	anyPath pathKind = iota
	exactPath
	prefixPath
	suffixPath
	regexPath
)

type pathMatch struct {
	kind   pathKind
	text   string
	fold   bool
	regexp *regexp.Regexp
}

type headerMatch struct {
	name   string
	value  string // empty: the header must be there
	regexp *regexp.Regexp
	invert bool
}

type queryMatch struct {
	name   string
	value  string // empty: the parameter must be there
	regexp *regexp.Regexp
}

func newMatcher(m *commonv2.HTTPRequestMatcher) (matcher, error) {
	path, err := newPathMatch(m.GetUri())
	if err != nil {
		return matcher{}, err
	}
	result := matcher{path: path, method: m.GetMethod(), port: m.GetPort()}
	for _, h := range m.GetHeaders() {
		re, err := wholeRegexp(h.GetRegex() && h.GetValue() != "", h.GetValue())
		if err != nil {
			return matcher{}, fmt.Errorf("header %s: %w", h.GetName(), err)
		}
		if h.GetName() == "" {
			return matcher{}, fmt.Errorf("a header matcher has no name")
		}
		result.headers = append(result.headers, headerMatch{h.GetName(), h.GetValue(), re, h.GetInvertMatch()})
	}
	for _, q := range m.GetQueryParameters() {
		re, err := wholeRegexp(q.GetRegex() && q.GetValue() != "", q.GetValue())
		if err != nil {
			return matcher{}, fmt.Errorf("query parameter %s: %w", q.GetName(), err)
		}
		if q.GetName() == "" {
			return matcher{}, fmt.Errorf("a query parameter matcher has no name")
		}
		result.queries = append(result.queries, queryMatch{q.GetName(), q.GetValue(), re})
	}
	return result, nil
}

func newPathMatch(uri *commonv2.StringMatch) (pathMatch, error) {
	if uri == nil {
		return pathMatch{}, nil
	}
	switch m := uri.GetMatchType().(type) {
	case nil:
		return pathMatch{}, nil
	case *commonv2.StringMatch_Exact:
		return pathMatch{kind: exactPath, text: m.Exact, fold: uri.GetIgnoreCase()}, nil
	case *commonv2.StringMatch_Prefix:
		return pathMatch{kind: prefixPath, text: m.Prefix, fold: uri.GetIgnoreCase()}, nil
	case *commonv2.StringMatch_Suffix:
		return pathMatch{kind: suffixPath, text: m.Suffix, fold: uri.GetIgnoreCase()}, nil
	case *commonv2.StringMatch_Regex:
		re, err := wholeRegexp(true, m.Regex)
		if err != nil {
			return pathMatch{}, fmt.Errorf("uri: %w", err)
		}
		return pathMatch{kind: regexPath, regexp: re}, nil
	default:
		return pathMatch{}, fmt.Errorf("uri: unknown match %T", m)
	}
}

// wholeRegexp compiles an expression that must match a whole value, or returns nil if none is wanted.
func wholeRegexp(wanted bool, expr string) (*regexp.Regexp, error) {
	if !wanted {
		return nil, nil
	}
	return regexp.Compile(`^(?s:` + expr + `)$`)
}

func (m matcher) matches(req *http.Request, port uint32) bool {
	if !m.path.matches(req.URL.Path) || m.method != "" && m.method != req.Method || m.port != 0 && m.port != port {
		return false
	}
	for _, h := range m.headers {
		if !h.matches(req) {
			return false
		}
	}
	query := req.URL.Query()
	for _, q := range m.queries {
		if values, found := query[q.name]; !found || !q.matches(values[0]) {
			return false
		}
	}
	return true
}

func (p pathMatch) matches(path string) bool {
	text := p.text
	if p.fold {
		path, text = strings.ToLower(path), strings.ToLower(text)
	}
	switch p.kind {
	case anyPath:
		return true
	case exactPath:
		return path == text
	case prefixPath:
		return strings.HasPrefix(path, text)
	case suffixPath:
		return strings.HasSuffix(path, text)
	case regexPath:
		return p.regexp.MatchString(path)
	default:
		panic(fmt.Sprintf("path match of kind %d", p.kind))
	}
}

func (h headerMatch) matches(req *http.Request) bool {
	value, found := header(req, h.name)
	return (found && matchesValue(value, h.value, h.regexp)) != h.invert
}

func (q queryMatch) matches(value string) bool { return matchesValue(value, q.value, q.regexp) }

func matchesValue(value, want string, re *regexp.Regexp) bool {
	switch {
	case re != nil:
		return re.MatchString(value)
	case want != "":
		return value == want
	default:
		return true
	}
}

// header returns the values of a header joined by commas. The pseudo headers of HTTP/2 exist for HTTP/1 as well.
func header(req *http.Request, name string) (string, bool) {
	switch strings.ToLower(name) {
	case ":authority", "host":
		return req.Host, true
	case ":method":
		return req.Method, true
	case ":path":
		return req.URL.RequestURI(), true
	}
	values := req.Header.Values(name)
	return strings.Join(values, ","), len(values) > 0
}
