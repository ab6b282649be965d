// Package steps writes what header and mirror steps of Rollouts ask for, as pkg/intent has it.
package steps

import "github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"

// Header returns a header route with one match for each condition.
func Header(route string, conditions ...intent.HeaderMatch) intent.ManagedRoute {
	m := intent.ManagedRoute{Name: route}
	for _, h := range conditions {
		m.Matches = append(m.Matches, intent.RequestMatch{Headers: []intent.HeaderMatch{h}})
	}
	return m
}

// Mirror returns managed route shadow, which mirrors a percentage of the requests that fit.
func Mirror(percentage int, matches ...intent.RequestMatch) intent.ManagedRoute {
	return intent.ManagedRoute{Name: "shadow", Matches: matches, Mirror: &percentage}
}

// HeaderIs returns a condition on a header.
func HeaderIs(name string, is intent.MatchType, value string) intent.HeaderMatch {
	return intent.HeaderMatch{Name: name, ValueMatch: *Is(is, value)}
}

// Exact returns the condition that a header has a value.
func Exact(name, value string) intent.HeaderMatch { return HeaderIs(name, intent.Exact, value) }

// Is returns a condition on a method or path.
func Is(kind intent.MatchType, value string) *intent.ValueMatch {
	return &intent.ValueMatch{Type: kind, Value: value}
}

// Gets returns the match of all GET requests.
func Gets() intent.RequestMatch { return intent.RequestMatch{Method: Is(intent.Exact, "GET")} }
