package gatewayapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// CheckManaged fails if a route cannot hold rules so arranged, or if a managed one would take requests that reach another rule than
// its source without it: its match may be preferred to that one's where the source's is not.
func (a Routes) CheckManaged(rules []engine.Arranged) error {
	if err := checkSize(rules); err != nil {
		return err
	}
	matches := make([][]ruleMatch, len(rules))
	for i, r := range rules {
		view := struct {
			Matches json.RawMessage `json:"matches"`
		}{}
		if json.Unmarshal(r.JSON, &view) == nil {
			matches[i], _ = a.readMatches(view.Matches) // what cannot be read is not served
		}
	}
	order := arrangement{rules, matches}
	for i, managed := range rules {
		if managed.Managed == "" {
			continue
		}
		for n, other := range rules {
			if other.Managed == "" && other.Source != managed.Source && order.takesFrom(i, n) {
				return fmt.Errorf("%s: managed route %q would take requests that reach %s, since it asks for more; ask for less, or give that rule a condition that they do not meet, or one more of the kind",
					managed.Place, managed.Managed, other.Place)
			}
		}
	}
	return nil
}

// arrangement is the rules of a route in their order, with the matches of each.
type arrangement struct {
	rules   []engine.Arranged
	matches [][]ruleMatch
}

// takesFrom reports whether a managed rule gets requests that another one gets as long as the managed one's source has no managed
// rules.
func (o arrangement) takesFrom(managed, other int) bool {
	source := o.sourceOf(managed)
	for _, m := range o.matches[managed] {
		for _, theirs := range o.matches[other] {
			known := m.isRanked(theirs)
			if m.excludes(theirs) || known && !o.prefers(managed, m, other, theirs) {
				continue
			}
			wasSources := slices.ContainsFunc(o.matches[source], func(s ruleMatch) bool {
				if !known && s.Path != nil && *s.Path == *m.Path { // what is added decides nothing
					return s.covers(m)
				}
				return s.covers(m) && s.isRanked(theirs) && o.prefers(source, s, other, theirs)
			})
			if !wasSources && !o.answered(managed, m, other, theirs) {
				return true
			}
		}
	}
	return false
}

// sourceOf returns which rule is the source of a managed one.
func (o arrangement) sourceOf(managed int) int {
	return slices.IndexFunc(o.rules, func(r engine.Arranged) bool { return r.Managed == "" && r.Source == o.rules[managed].Source })
}

// answered reports whether a managed rule that was made from the other one gets those requests.
func (o arrangement) answered(managed int, m ruleMatch, other int, theirs ruleMatch) bool {
	for n, r := range o.rules {
		if r.Managed == "" || r.Source != o.rules[other].Source {
			continue
		}
		for _, made := range o.matches[n] {
			if made.covers(m, theirs) && made.isRanked(m) && o.prefers(n, made, managed, m) {
				return true
			}
		}
	}
	return false
}

// prefers reports whether a request that fits a match of rule i and one of rule n is taken by i (Gateway API reference,
// HTTPRouteRule.matches and GRPCRouteRule.matches): by the path, or service and method, then the method of HTTP, then by how many
// headers and query parameters are asked for, then by the order.
func (o arrangement) prefers(i int, a ruleMatch, n int, b ruleMatch) bool {
	if order := slices.Compare(a.rank(), b.rank()); order != 0 {
		return order > 0
	}
	return i < n
}

// isRanked reports whether the API says which of two matches counts more: how an expression for the path counts beside others is
// for each implementation to say.
func (m ruleMatch) isRanked(other ruleMatch) bool {
	return m.Path == nil || other.Path == nil || *m.Path == *other.Path || m.Path.Type != regularExpression && other.Path.Type != regularExpression
}

// rank is what counts of a match, the most important first.
func (m ruleMatch) rank() []int {
	rank := []int{0, 0, 0, len(m.Headers), len(m.QueryParams)}
	if m.Path != nil {
		rank[0], rank[1] = slices.Index([]string{pathPrefix, exact}, m.Path.Type), len(strings.TrimSuffix(m.Path.Value, "/"))
	} else if m.call != nil {
		rank[0], rank[1] = len(m.call.Service), len(m.call.Method)
	}
	if m.method != "" {
		rank[2] = 1
	}
	return rank
}

// grpcMethod is a GRPCMethodMatch.
type grpcMethod struct {
	Type    string `json:"type"`
	Service string `json:"service"`
	Method  string `json:"method"`
}

// readCall reads the method of a match, which is any if there is none; nil if it cannot be read.
func readCall(raw json.RawMessage) *grpcMethod {
	call := &grpcMethod{}
	if present(raw) && json.Unmarshal(raw, call) != nil {
		return nil
	}
	call.Type = cmp.Or(call.Type, exact)
	return call
}

// excludes reports whether no request can fit both of two matches, where that is plain to see.
func (m ruleMatch) excludes(other ruleMatch) bool {
	if m.method != "" && other.method != "" && m.method != other.method || m.Headers.excludes(other.Headers) || m.QueryParams.excludes(other.QueryParams) {
		return true
	}
	if m.Path != nil && other.Path != nil {
		return m.Path.excludes(*other.Path)
	}
	return m.call != nil && other.call != nil && m.call.excludes(*other.call)
}

// excludes reports whether two matches ask for two services or methods of gRPC.
func (c grpcMethod) excludes(other grpcMethod) bool {
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	return c.Type == exact && other.Type == exact &&
		(differ(c.Service, other.Service) || differ(c.Method, other.Method))
}

// excludes reports whether two lists of conditions ask for two values of one name.
func (hs headers) excludes(others headers) bool {
	for _, h := range hs {
		for _, other := range others {
			if strings.EqualFold(h.Name, other.Name) && h.Type == exact && other.Type == exact && h.Value != other.Value {
				return true
			}
		}
	}
	return false
}

func (p pathMatch) excludes(other pathMatch) bool {
	if p.Type == regularExpression || other.Type == regularExpression {
		return false
	}
	return !p.covers(other) && !other.covers(p)
}

// covers reports whether every request that fits all of some other matches fits this one, where that is plain to see.
func (m ruleMatch) covers(others ...ruleMatch) bool {
	one := func(does func(other ruleMatch) bool) bool { return slices.ContainsFunc(others, does) }
	return one(m.coversTarget) &&
		(m.method == "" || one(func(other ruleMatch) bool { return other.method == m.method })) &&
		!slices.ContainsFunc(m.Headers, func(h header) bool { return !one(func(other ruleMatch) bool { return other.Headers.has(h) }) }) &&
		!slices.ContainsFunc(m.QueryParams, func(h header) bool { return !one(func(other ruleMatch) bool { return other.QueryParams.has(h) }) })
}

// coversTarget is covers for the path or, of gRPC, for the service and its method.
func (m ruleMatch) coversTarget(other ruleMatch) bool {
	if m.Path != nil && other.Path != nil {
		return m.Path.covers(*other.Path)
	}
	return m.call != nil && other.call != nil &&
		(m.call.Service == "" || m.call.Service == other.call.Service) && (m.call.Method == "" || m.call.Method == other.call.Method)
}

func (p pathMatch) covers(other pathMatch) bool {
	return p == other || p.isAny() || p.Type == pathPrefix && other.Type != regularExpression && hasElements(other.Value, p.Value)
}

// has reports whether a condition is among these.
func (hs headers) has(h header) bool {
	return slices.ContainsFunc(hs, func(other header) bool {
		return strings.EqualFold(h.Name, other.Name) && h.Value == other.Value && h.Type == other.Type
	})
}
