// Package schema holds no code: its tests make the JSON Schemas under schema/ from the Go types of the block, keep them in
// step, and compare what they say of a block with what the plugin says.
package schema

import (
	"maps"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
)

const module = "github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform"

// blockSchema makes the schema of the block: fields, their types and their descriptions from the Go types and their comments, the
// rest from rules_test.go.
func blockSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	r := jsonschema.Reflector{Anonymous: true, ExpandedStruct: true}
	if err := r.AddGoComments(module+"/test/schema", "../../pkg/config", jsonschema.WithFullComment()); err != nil {
		t.Fatal(err)
	}
	comments := r.CommentMap
	r.CommentMap = nil
	r.LookupComment = func(of reflect.Type, field string) string { return description(comments, of, field) }
	s := r.Reflect(config.Config{})
	s.Title = "The block of the Gloo Platform plugin in a Rollout"
	addRules(s)
	return s
}

var firstWord = regexp.MustCompile(`^\w+`)

// description returns the comment of a type or, if field is not empty, of a field of it, for people who know that field by its
// name in YAML.
func description(comments map[string]string, of reflect.Type, field string) string {
	if field == "" {
		return oneLine(comments[of.PkgPath()+"."+of.Name()])
	}
	f, _ := of.FieldByName(field)
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if documented, isKubernetes := reflect.TypeAssert[interface{ SwaggerDoc() map[string]string }](reflect.Zero(of)); isKubernetes {
		return documented.SwaggerDoc()[name]
	}
	return firstWord.ReplaceAllStringFunc(oneLine(comments[of.PkgPath()+"."+of.Name()+"."+field]), func(word string) string {
		if word == field {
			return name
		}
		return word
	})
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Who hovers over a field in an editor is told what it means.
func TestAllFieldsAreDescribed(t *testing.T) {
	block := blockSchema(t)
	defs := map[string]*jsonschema.Schema{"": block}
	maps.Copy(defs, block.Definitions)
	for name, def := range defs {
		for field := def.Properties.Oldest(); field != nil; field = field.Next() {
			if !strings.Contains(field.Value.Description, " ") {
				t.Errorf("%s.%s has the description %q", name, field.Key, field.Value.Description)
			}
		}
	}
}
