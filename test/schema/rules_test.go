package schema

import (
	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/invopop/jsonschema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
)

// What names, keys and values of labels look like to Kubernetes (k8s.io/apimachinery/pkg/util/validation). A name that is empty counts
// as not given.
const (
	subdomain  = `[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*`
	labelText  = `[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?`
	objectName = `^(` + subdomain + `)?$`
	labelKey   = `^(` + subdomain + `/)?` + labelText + `$`
	labelValue = `^(` + labelText + `)?$`
)

// addRules says in the schema what the types do not say, and config's validation demands.
func addRules(block *jsonschema.Schema) {
	defs := block.Definitions
	tables, destination, requirement := defs["RouteTableSelector"], defs["Destination"], defs["LabelSelectorRequirement"]

	isName(block, "destinationNamespace", "routeTableName", "routeTableNamespace")
	isName(tables, "name", "namespace")
	isName(destination, "name", "namespace")
	areLabels(field(tables, "labels"))
	areLabels(field(destination, "subset"))
	isOneOf(field(block, "destinationKind"), config.KindService, config.KindVirtualDestination, config.KindExternalService)
	isOneOf(field(destination, "kind"), config.KindService, config.KindVirtualDestination, config.KindExternalService)
	isOneOf(field(block, "verify"), config.VerifyAccepted, config.VerifySpec, config.VerifyOff, false)
	field(block, "subsetLabel").Const = v1alpha1.DefaultRolloutUniqueLabelKey
	for _, name := range []string{"routeTableName", "routeTableNamespace"} {
		field(block, name).Deprecated = true
		field(block, name).MinLength = new(uint64(1))
	}

	firstSpelling := &jsonschema.Schema{AnyOf: []*jsonschema.Schema{given("routeTableName"), given("routeTableNamespace")}}
	gatewayAPI := addGatewayRules(block)
	block.OneOf = []*jsonschema.Schema{
		{Required: []string{"routeTableSelector"}, Not: firstSpelling},
		{Required: []string{"routeTableName"}, Not: given("routeTableSelector")},
		{AnyOf: gatewayAPI.AnyOf, Not: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{given("routeTableSelector"), firstSpelling, given("routeSelector")}}},
	}
	block.AllOf = []*jsonschema.Schema{
		{If: given("subsetLabel"), Then: subsetsByHash(destination)},
		{If: gatewayAPI, Then: backends()},
	}
	hasOneOf(tables, "name", "labels", "matchExpressions")
	hasOneOf(defs["RouteSelector"], "name", "labels")
	isPort(defs["Port"])
	isRequirement(requirement)
}

// subsetsByHash returns what goes with subsetLabel.
func subsetsByHash(destination *jsonschema.Schema) *jsonschema.Schema {
	stable := notEmpty(destination, "name")
	stable.Not = given("subset")
	s := with("stable", stable)
	s.Required = []string{"stable"}
	s.Properties.Set("canary", jsonschema.FalseSchema)
	return s
}

func isPort(port *jsonschema.Schema) {
	number := field(port, "number")
	number.Minimum, number.Maximum = "1", "65535"
	field(port, "name").MinLength = new(uint64(1))
	port.OneOf = []*jsonschema.Schema{given("number"), given("name")}
}

// isRequirement says what metav1.LabelSelectorAsSelector demands.
func isRequirement(requirement *jsonschema.Schema) {
	field(requirement, "key").Pattern, field(requirement, "key").MaxLength = labelKey, new(uint64(253+1+63))
	field(requirement, "values").Items.Pattern = labelValue
	isOneOf(field(requirement, "operator"), metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)
	requirement.If = with("operator", &jsonschema.Schema{Enum: []any{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn}})
	requirement.Then = notEmpty(requirement, "values")
	requirement.Else = with("values", &jsonschema.Schema{MaxItems: new(uint64(0))})
}

func isName(of *jsonschema.Schema, names ...string) {
	for _, name := range names {
		field(of, name).Pattern, field(of, name).MaxLength = objectName, new(uint64(253))
	}
}

func areLabels(s *jsonschema.Schema) {
	s.PropertyNames = &jsonschema.Schema{Pattern: labelKey, MaxLength: new(uint64(253 + 1 + 63))}
	s.AdditionalProperties.Pattern = labelValue
}

// isOneOf makes values the only ones, of whatever types they are.
func isOneOf(s *jsonschema.Schema, values ...any) {
	s.Type, s.Enum = "", values
}

// given says that a field is there.
func given(name string) *jsonschema.Schema { return &jsonschema.Schema{Required: []string{name}} }

// hasOneOf says that at least one of some fields is there, and is not empty.
func hasOneOf(of *jsonschema.Schema, names ...string) {
	for _, name := range names {
		of.AnyOf = append(of.AnyOf, notEmpty(of, name))
	}
}

// notEmpty says that a field is there, a text, a list or a map, and that it is not empty.
func notEmpty(of *jsonschema.Schema, name string) *jsonschema.Schema {
	value := &jsonschema.Schema{}
	switch field(of, name).Type {
	case "string":
		value.MinLength = new(uint64(1))
	case "array":
		value.MinItems = new(uint64(1))
	case "object":
		value.MinProperties = new(uint64(1))
	default:
		panic(name + " is of a type that cannot be empty")
	}
	s := with(name, value)
	s.Required = []string{name}
	return s
}

// with says something of a field, if it is there.
func with(name string, value *jsonschema.Schema) *jsonschema.Schema {
	s := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	s.Properties.Set(name, value)
	return s
}

// field returns what is said of a field. A field that is not there is a slip in this file.
func field(of *jsonschema.Schema, name string) *jsonschema.Schema {
	s, found := of.Properties.Get(name)
	if !found {
		panic("no field " + name)
	}
	return s
}
