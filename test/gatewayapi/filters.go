package gatewayapi

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
)

// filters are those of a rule.
type filters struct {
	request, response []headerEdit
	rewrite           *rewriteView
	redirect          *redirectView
	mirrors           []Mirror
}

func newFilters(namespace string, views []filterView) (filters, error) {
	var f filters
	for i, view := range views {
		switch {
		case view.RequestHeaderModifier != nil:
			f.request = append(f.request, *view.RequestHeaderModifier)
		case view.ResponseHeaderModifier != nil:
			f.response = append(f.response, *view.ResponseHeaderModifier)
		case view.URLRewrite != nil:
			f.rewrite = view.URLRewrite
		case view.RequestRedirect != nil:
			f.redirect = view.RequestRedirect
		case view.RequestMirror != nil:
			f.mirrors = append(f.mirrors, newMirror(namespace, *view.RequestMirror))
		default:
			return filters{}, fmt.Errorf("filters[%d]: %s is not supported by this stand-in", i, view.Type)
		}
	}
	return f, nil
}

// edit returns the request as a backend gets it. matched is the condition that its path met.
func (f filters) edit(req *http.Request, matched pathMatch) *http.Request {
	edited := req.Clone(req.Context())
	for _, e := range f.request {
		e.apply(edited.Header)
	}
	if f.rewrite == nil {
		return edited
	}
	if f.rewrite.Hostname != nil {
		edited.Host = *f.rewrite.Hostname
	}
	if f.rewrite.Path != nil {
		edited.URL.Path, edited.URL.RawPath = f.rewrite.Path.apply(req.URL.Path, matched), ""
	}
	return edited
}

func (e headerEdit) apply(h http.Header) {
	for _, set := range e.Set {
		h.Set(set.Name, set.Value)
	}
	for _, add := range e.Add {
		h.Add(add.Name, add.Value)
	}
	for _, name := range e.Remove {
		h.Del(name)
	}
}

// apply returns the path in place of one that met the condition matched. A prefix may be replaced only where one was met.
func (e pathEdit) apply(path string, matched pathMatch) string {
	if e.Type == "ReplaceFullPath" {
		return e.ReplaceFullPath
	}
	if matched.kind != prefixPath {
		return path
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(path, matched.text), "/")
	prefix := strings.TrimSuffix(e.ReplacePrefixMatch, "/")
	if rest == "" {
		return cmp.Or(prefix, "/")
	}
	return prefix + "/" + rest
}

// apply returns the status and the place that a redirect leads to.
func (r redirectView) apply(req *http.Request, matched pathMatch) (int, string) {
	status := http.StatusFound
	if r.StatusCode != nil {
		status = *r.StatusCode
	}
	url := *req.URL
	url.Scheme, url.Host = "http", req.Host
	if r.Hostname != nil {
		url.Host = *r.Hostname
	}
	if r.Path != nil {
		url.Path, url.RawPath = r.Path.apply(req.URL.Path, matched), ""
	}
	return status, url.String()
}
