package gateway

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	networkingv2 "github.com/solo-io/solo-apis/client-go/networking.gloo.solo.io/v2"
)

// rewrite is what a route changes in a request before it forwards it.
type rewrite struct {
	path         *string // replaces what the matcher matched
	regexp       *regexp.Regexp
	substitution string // for regexp, in Go's spelling
	host         string
	autoHost     bool
}

var captureGroup = regexp.MustCompile(`\\(\d)`)

func newRewrite(f *networkingv2.ForwardToAction, matchers []matcher) (rewrite, error) {
	r := rewrite{host: f.GetHostRewrite(), autoHost: f.GetAutoHostRewrite()}
	switch p := f.GetPathRewriteSpecifier().(type) {
	case nil:
	case *networkingv2.ForwardToAction_PathRewrite:
		r.path = &p.PathRewrite
		for _, m := range matchers {
			if m.path.kind == regexPath || m.path.kind == suffixPath {
				return rewrite{}, fmt.Errorf("pathRewrite is supported for exact and prefix matchers only")
			}
		}
	case *networkingv2.ForwardToAction_RegexRewrite:
		var err error
		if r.regexp, err = regexp.Compile(p.RegexRewrite.GetPattern().GetRegex()); err != nil {
			return rewrite{}, fmt.Errorf("regexRewrite: %w", err)
		}
		escaped := strings.ReplaceAll(p.RegexRewrite.GetSubstitution(), "$", "$$")
		r.substitution = captureGroup.ReplaceAllString(escaped, "$${$1}")
	default:
		return rewrite{}, fmt.Errorf("unknown path rewrite %T", p)
	}
	return r, nil
}

// apply returns the request as the destination gets it. matched is the path that the route's matcher found.
func (r rewrite) apply(req *http.Request, matched pathMatch, d Destination) *http.Request {
	req = req.Clone(req.Context())
	switch {
	case r.path != nil:
		req.URL.Path = *r.path + unmatched(req.URL.Path, matched)
	case r.regexp != nil:
		req.URL.Path = r.regexp.ReplaceAllString(req.URL.Path, r.substitution)
	}
	req.URL.RawPath = ""
	switch {
	case r.host != "":
		req.Host = r.host
	case r.autoHost:
		req.Host = d.hostname()
	}
	return req
}

// unmatched is the rest of a path behind what the matcher matched. A route that matches any path matches the prefix "/".
func unmatched(path string, matched pathMatch) string {
	switch matched.kind {
	case prefixPath:
		return path[min(len(matched.text), len(path)):]
	case anyPath:
		return strings.TrimPrefix(path, "/")
	default:
		return ""
	}
}
