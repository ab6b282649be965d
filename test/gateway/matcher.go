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
	headers []valueMatch
	queries []valueMatch
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

// valueMatch is a condition on the value of a header or a query parameter.
type valueMatch struct {
	name   string
	value  string // empty: any, if only it is there
	regexp *regexp.Regexp
	invert bool
}

func newValueMatch(name, value string, isRegexp bool) (valueMatch, error) {
	if name == "" {
		return valueMatch{}, fmt.Errorf("no name")
	}
	re, err := wholeRegexp(isRegexp && value != "", value)
	return valueMatch{name: name, value: value, regexp: re}, err
}

func newMatcher(m *commonv2.HTTPRequestMatcher) (matcher, error) {
	path, err := newPathMatch(m.GetUri())
	if err != nil {
		return matcher{}, err
	}
	result := matcher{path: path, method: m.GetMethod(), port: m.GetPort()}
	for i, h := range m.GetHeaders() {
		v, err := newValueMatch(h.GetName(), h.GetValue(), h.GetRegex())
		if err != nil {
			return matcher{}, fmt.Errorf("headers[%d]: %w", i, err)
		}
		v.invert = h.GetInvertMatch()
		result.headers = append(result.headers, v)
	}
	for i, q := range m.GetQueryParameters() {
		v, err := newValueMatch(q.GetName(), q.GetValue(), q.GetRegex())
		if err != nil {
			return matcher{}, fmt.Errorf("queryParameters[%d]: %w", i, err)
		}
		result.queries = append(result.queries, v)
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
		if !h.matches(header(req, h.name)) {
			return false
		}
	}
	query := req.URL.Query()
	for _, q := range m.queries {
		if !q.matches(query.Get(q.name), query.Has(q.name)) {
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

func (m valueMatch) matches(value string, found bool) bool {
	var holds bool
	switch {
	case m.regexp != nil:
		holds = m.regexp.MatchString(value)
	case m.value != "":
		holds = m.value == value
	default:
		holds = true
	}
	return (found && holds) != m.invert
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
