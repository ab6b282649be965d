package gatewayapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Kinds of routes.
const (
	HTTP = "HTTPRoute"
	GRPC = "GRPCRoute"
	TCP  = "TCPRoute"
	TLS  = "TLSRoute"
)

// Route is a route of any kind, ready to serve. It does not change; methods that alter it return another one.
type Route struct {
	Kind, Namespace, Name string
	Created               time.Time
	Hostnames             []string // none: any
	Rules                 []*Rule

	parents []parentRef
}

// Rule is a rule of a route.
type Rule struct {
	Index int
	Name  string
	// Fault says why the rule cannot be served. It answers 500 in its place.
	Fault error

	matches  []match // at least one
	backends split
	filters  filters
}

// String is the place of the rule in its route.
func (r *Rule) String() string {
	place := fmt.Sprintf("rules[%d]", r.Index)
	if r.Name != "" {
		place += fmt.Sprintf(" %q", r.Name)
	}
	return place
}

// String is the name that messages use.
func (r *Route) String() string { return r.Namespace + "/" + r.Name }

// Decode reads a route. Fields that this stand-in does not know are passed over; a rule that cannot be served has a Fault.
func Decode(obj *unstructured.Unstructured) (*Route, error) {
	raw, err := json.Marshal(obj.Object["spec"])
	if err != nil {
		return nil, err
	}
	view := spec{}
	if err := json.Unmarshal(raw, &view); err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	r := &Route{
		Kind:      obj.GetKind(),
		Namespace: obj.GetNamespace(),
		Name:      obj.GetName(),
		Created:   obj.GetCreationTimestamp().Time,
		Hostnames: view.Hostnames,
		parents:   view.ParentRefs,
	}
	for i, rule := range view.Rules {
		r.Rules = append(r.Rules, r.decodeRule(i, rule))
	}
	return r, nil
}

func (r *Route) decodeRule(index int, view ruleView) *Rule {
	rule := &Rule{Index: index, Name: view.Name}
	var matchFault, backendFault, filterFault error
	rule.matches, matchFault = newMatches(r.Kind, view.Matches)
	rule.backends, backendFault = newSplit(r.Namespace, view.BackendRefs)
	rule.filters, filterFault = newFilters(r.Namespace, view.Filters)
	rule.Fault = errors.Join(matchFault, backendFault, filterFault)
	return rule
}

// byAge orders routes that are equally good: the oldest first, then by name.
func byAge(a, b *Route) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
