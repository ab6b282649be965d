package rules_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"pgregory.net/rapid"
)

// drawTable draws the spec of a RouteTable.
func drawTable(t *rapid.T) map[string]any {
	spec := map[string]any{"hosts": []any{"a.example.com"}, "future": map[string]any{"id": json.Number("9007199254740993"), "nothing": nil}}
	hasDefault := rapid.Bool().Draw(t, "default")
	if hasDefault {
		spec["defaultDestination"] = map[string]any{"ref": map[string]any{"name": "web"}}
	}
	for _, section := range []string{"http", "tcp", "tls"} {
		var routes []any
		for i := range rapid.IntRange(0, 3).Draw(t, section) {
			routes = append(routes, drawRoute(t, section, i, hasDefault))
		}
		if routes != nil {
			spec[section] = routes
		}
	}
	return spec
}

// drawNames draws the destinations of a route.
func drawNames(t *rapid.T) []string {
	names := rapid.Permutation([]string{"web", "api", "web-canary", "other", "api-canary", "more"}).Draw(t, "names")
	return names[:rapid.IntRange(1, 5).Draw(t, "destinations")]
}

func drawRoute(t *rapid.T, section string, index int, hasDefault bool) map[string]any {
	route := map[string]any{"matchers": []any{map[string]any{"port": index}}}
	if section == "http" && rapid.Bool().Draw(t, "named") {
		route["name"] = fmt.Sprint("r", index)
	}
	if hasDefault && rapid.IntRange(0, 4).Draw(t, "bare") == 0 {
		route["forwardTo"] = map[string]any{"future": "/"}
		if rapid.Bool().Draw(t, "empty") {
			route["forwardTo"] = map[string]any{"destinations": []any{}}
		}
		return route
	}
	if section == "http" && rapid.IntRange(0, 5).Draw(t, "redirects") == 0 {
		route["redirect"] = map[string]any{"hostRedirect": "b.example.com"}
		return route
	}
	names := drawNames(t)
	weights := drawPercent(t, len(names))
	var destinations []any
	for i, name := range names {
		d := map[string]any{"ref": map[string]any{"name": name}, "future": json.Number("9007199254740993")}
		if weights[i] != nil {
			d["weight"] = *weights[i]
		}
		destinations = append(destinations, d)
	}
	route["forwardTo"] = map[string]any{"destinations": destinations}
	return route
}

// drawPercent draws weights that Gloo accepts: they sum to 100, or to less and some are missing.
func drawPercent(t *rapid.T, n int) []*int {
	weights, left := make([]*int, n), 100
	for i := range weights {
		if rapid.IntRange(0, 2).Draw(t, "given") == 0 {
			continue
		}
		weight := rapid.IntRange(0, left).Draw(t, "weight")
		weights[i], left = &weight, left-weight
	}
	if left > 0 && !slices.Contains(weights, nil) {
		*weights[n-1] += left
	}
	return weights
}

func addTableRoute(spec map[string]any, id int) {
	http, _ := spec["http"].([]any)
	added := map[string]any{"matchers": []any{map[string]any{"port": id}}, "directResponse": map[string]any{"status": 404}}
	spec["http"] = append([]any{added}, http...)
}

func eachTableList(spec map[string]any, do func(holder map[string]any, field string)) {
	for _, section := range []string{"http", "tcp", "tls"} {
		list, _ := spec[section].([]any)
		for _, r := range list {
			if forward, found := r.(map[string]any)["forwardTo"].(map[string]any); found {
				do(forward, "destinations")
			}
		}
	}
}

func nameInTable(destination map[string]any) string {
	return destination["ref"].(map[string]any)["name"].(string)
}

func markedInTable(destination map[string]any) bool {
	subset, found := destination["subset"].(map[string]any)
	return found && len(subset) == 0
}
