package gatewayapi

import (
	"encoding/json"
	"fmt"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/jsonfault"
)

// What a route may hold (Gateway API reference, HTTPRouteSpec and GRPCRouteSpec).
const (
	maxRules      = 16
	maxMatches    = 64 // of a rule
	maxAllMatches = 128
	maxHeaders    = 16 // of a match
	maxFilters    = 16 // of a rule
)

// sizeView is what is counted of a rule.
type sizeView struct {
	Matches []struct {
		Headers []json.RawMessage `json:"headers"`
	} `json:"matches"`
	Filters []json.RawMessage `json:"filters"`
}

// checkSize fails if a route cannot hold these rules.
func checkSize(rules []engine.Arranged) error {
	if len(rules) > maxRules {
		return beyond(len(rules), maxRules, "rules")
	}
	all := 0
	for _, r := range rules {
		rule, err := jsonfault.Read[sizeView](r.JSON)
		if err != nil {
			continue // not one of the plugin's
		}
		if n := len(rule.Matches); n > maxMatches {
			return beyond(n, maxMatches, "matches in a rule")
		}
		if n := len(rule.Filters); n > maxFilters {
			return beyond(n, maxFilters, "filters in a rule")
		}
		for _, m := range rule.Matches {
			if n := len(m.Headers); n > maxHeaders {
				return beyond(n, maxHeaders, "headers in a match")
			}
		}
		all += len(rule.Matches)
	}
	if all > maxAllMatches {
		return beyond(all, maxAllMatches, "matches in all its rules")
	}
	return nil
}

func beyond(n, limit int, of string) error {
	return fmt.Errorf("with its header and mirror rules it would have %d %s, and a route may have %d; split the route, or select fewer", n, of, limit)
}
