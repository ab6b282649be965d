package gatewayapi

import "encoding/json"

// spec is what is read of a route of any kind.
type spec struct {
	ParentRefs []parentRef `json:"parentRefs"`
	Hostnames  []string    `json:"hostnames"`
	Rules      []ruleView  `json:"rules"`
}

// parentRef names what a route is attached to.
type parentRef struct {
	Group       *string `json:"group,omitempty"`
	Kind        *string `json:"kind,omitempty"`
	Namespace   *string `json:"namespace,omitempty"`
	Name        string  `json:"name"`
	SectionName *string `json:"sectionName,omitempty"`
	Port        *int    `json:"port,omitempty"`
}

type ruleView struct {
	Name        string        `json:"name"`
	Matches     []matchView   `json:"matches"`
	Filters     []filterView  `json:"filters"`
	BackendRefs []backendView `json:"backendRefs"`
}

type matchView struct {
	Path        *typedValue     `json:"path"`
	Headers     []typedValue    `json:"headers"`
	QueryParams []typedValue    `json:"queryParams"`
	Method      json.RawMessage `json:"method"` // of HTTP a text, of gRPC an object
}

// typedValue is a condition on a path, or on a header or a query parameter, which have a name.
type typedValue struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

// methodView is a condition on a gRPC method.
type methodView struct {
	Type    string `json:"type"`
	Service string `json:"service"`
	Method  string `json:"method"`
}

type backendView struct {
	Group     string       `json:"group"`
	Kind      *string      `json:"kind"`
	Namespace *string      `json:"namespace"`
	Name      string       `json:"name"`
	Port      int          `json:"port"`
	Weight    *int         `json:"weight"`
	Filters   []filterView `json:"filters"`
}

type filterView struct {
	Type                   string        `json:"type"`
	RequestHeaderModifier  *headerEdit   `json:"requestHeaderModifier"`
	ResponseHeaderModifier *headerEdit   `json:"responseHeaderModifier"`
	RequestMirror          *mirrorView   `json:"requestMirror"`
	RequestRedirect        *redirectView `json:"requestRedirect"`
	URLRewrite             *rewriteView  `json:"urlRewrite"`
}

type mirrorView struct {
	BackendRef backendView `json:"backendRef"`
	Percent    *int        `json:"percent"`
	Fraction   *struct {
		Numerator   int  `json:"numerator"`
		Denominator *int `json:"denominator"`
	} `json:"fraction"`
}

type redirectView struct {
	Hostname   *string   `json:"hostname"`
	Path       *pathEdit `json:"path"`
	StatusCode *int      `json:"statusCode"`
}

type rewriteView struct {
	Hostname *string   `json:"hostname"`
	Path     *pathEdit `json:"path"`
}

// pathEdit is what becomes of a path.
type pathEdit struct {
	Type               string `json:"type"`
	ReplaceFullPath    string `json:"replaceFullPath"`
	ReplacePrefixMatch string `json:"replacePrefixMatch"`
}

// headerEdit is what becomes of headers, in this order.
type headerEdit struct {
	Set    []typedValue `json:"set"`
	Add    []typedValue `json:"add"`
	Remove []string     `json:"remove"`
}
