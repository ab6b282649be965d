package rules_test

import (
	"pgregory.net/rapid"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gatewayapi"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/oracle"
)

// driver draws objects of one routing API, and knows their shape.
type driver struct {
	api engine.API
	// percent says that the weights of a route sum to 100, and marks that the entries of the plugin's have a mark.
	percent, marks bool
	// draw draws the spec of a valid object.
	draw func(*rapid.T) map[string]any
	// check fails for what is no object of the API.
	check func(objects.T, engine.Object)
	// addRoute puts a route that forwards to nothing before the others.
	addRoute func(spec map[string]any, id int)
	// eachList calls do for every place of a spec where there is or may be a list of destinations: a field of its holder.
	eachList func(spec map[string]any, do func(holder map[string]any, field string))
	// name is the destination's of an entry, and marked says that the entry bears the plugin's mark.
	name   func(entry map[string]any) string
	marked func(entry map[string]any) bool
}

var drivers = []driver{
	{
		api: gloo.RouteTables{}, percent: true, marks: true,
		draw: drawTable, check: oracle.RouteTable, addRoute: addTableRoute, eachList: eachTableList,
		name: nameInTable, marked: markedInTable,
	},
	ruled(gatewayapi.HTTPRoutes("v1"), true),
	ruled(gatewayapi.TCPRoutes("v1alpha2"), false),
}

// ruled drives a kind of routes of the Gateway API.
func ruled(api gatewayapi.Routes, marks bool) driver {
	return driver{
		api: api, marks: marks, draw: drawRules, check: checkRules, addRoute: addRule, eachList: eachBackendRefs,
		name: func(ref map[string]any) string { return ref["name"].(string) },
		marked: func(ref map[string]any) bool {
			filters, found := ref["filters"].([]any)
			return found && len(filters) == 0
		},
	}
}
