package schema

import (
	"github.com/invopop/jsonschema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
)

// addGatewayRules says what concerns routes of the Gateway API, and returns a schema of blocks that select some.
func addGatewayRules(block *jsonschema.Schema) *jsonschema.Schema {
	named, selector := block.Definitions["NamedRoute"], block.Definitions["LabelSelector"]
	isName(named, "name")
	field(named, "name").MinLength = new(uint64(1))
	areLabels(field(selector, "matchLabels"))
	hasOneOf(selector, "matchLabels", "matchExpressions")
	isName(block, "namespace")
	key := field(block, "inProgressLabelKey")
	key.Pattern, key.MaxLength = `^((`+subdomain+`/)?`+labelText+`)?$`, new(uint64(253+1+63))
	field(block, "inProgressLabelValue").Pattern = labelValue

	selecting := &jsonschema.Schema{}
	for _, kind := range []string{"httpRoute", "grpcRoute", "tcpRoute", "tlsRoute"} {
		isName(block, kind)
		selecting.AnyOf = append(selecting.AnyOf, notEmpty(block, kind), notEmpty(block, kind+"s"), given(kind+"Selector"))
	}
	return selecting
}

// backends returns what stable and canary may be where the Gateway API has to say it.
func backends() *jsonschema.Schema {
	service := &jsonschema.Schema{Const: config.KindService}
	destination := with("kind", service)
	destination.Properties.Set("cluster", &jsonschema.Schema{MaxLength: new(uint64(0))})
	destination.Properties.Set("subset", &jsonschema.Schema{MaxProperties: new(uint64(0))})
	destination.Properties.Set("port", &jsonschema.Schema{Not: given("name")})
	s := with("destinationKind", service)
	s.Properties.Set("subsetLabel", jsonschema.FalseSchema)
	s.Properties.Set("stable", destination)
	s.Properties.Set("canary", destination)
	return s
}
