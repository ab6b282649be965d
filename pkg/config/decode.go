package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/agext/levenshtein"
	kjson "sigs.k8s.io/json"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/jsonfault"
)

// Decode reads the block and checks all that can be checked without the Rollout. Its error names every field that is
// unknown, given twice, of a wrong type or senseless, with its full path and, for a near miss, the field that was
// probably meant; one fault is separated from the next by a semicolon.
func Decode(block []byte) (*Config, error) {
	c := &Config{}
	strict, err := kjson.UnmarshalStrict(block, c)
	if err != nil {
		return nil, jsonfault.Explain(err)
	}
	var faults []string
	for _, err := range strict {
		faults = append(faults, fieldFault(err))
	}
	c.adoptFirstSpelling(&faults)
	c.validate(&faults)
	if len(faults) > 0 {
		return nil, errors.New(strings.Join(faults, "; "))
	}
	return c, nil
}

// adoptFirstSpelling moves routeTableName and routeTableNamespace to where they stand today.
func (c *Config) adoptFirstSpelling(faults *[]string) {
	if c.RouteTableName == "" && c.RouteTableNamespace == "" {
		return
	}
	if c.RouteTableSelector != nil {
		*faults = append(*faults, "routeTableName, routeTableNamespace: the first release's spelling; routeTableSelector is set as well, so leave them out")
		return
	}
	c.RouteTableSelector = &RouteTableSelector{Name: c.RouteTableName, Namespace: c.RouteTableNamespace}
	c.RouteTableName, c.RouteTableNamespace = "", ""
}

// fieldFault words an unknown field or one that is given twice.
func fieldFault(err error) string {
	field := kjson.FieldError(nil)
	if !errors.As(err, &field) {
		return err.Error()
	}
	path := field.FieldPath()
	if strings.HasPrefix(err.Error(), "duplicate field") {
		return path + ": given twice"
	}
	if meant := nearest(path); meant != "" {
		return fmt.Sprintf("%s: unknown field; did you mean %s?", path, meant)
	}
	return fmt.Sprintf("%s: unknown field; known here are %s", path, strings.Join(siblings(path), ", "))
}

// nearest returns the known field that differs from the one at path by a slip of the keyboard, or "".
func nearest(path string) string {
	name := strings.ToLower(path[strings.LastIndex(path, ".")+1:])
	best, distance := "", len(name)/3+2
	for _, sibling := range siblings(path) {
		if d := levenshtein.Distance(name, strings.ToLower(sibling), nil); d < distance {
			best, distance = sibling, d
		}
	}
	return best
}

// siblings returns the fields that are known where the field at path stands, sorted.
func siblings(path string) []string {
	t := reflect.TypeFor[Config]()
	steps := strings.Split(path, ".")
	for _, step := range steps[:len(steps)-1] {
		step, _, _ = strings.Cut(step, "[")
		next, found := fieldType(t, step)
		if !found { // the dot is part of the unknown field's name
			break
		}
		t = next
	}
	return jsonfault.FieldNames(t)
}

// fieldType returns the type that holds the fields of a struct's field, itself or as the element of a list; found is false
// for one that has no fields of its own.
func fieldType(t reflect.Type, name string) (of reflect.Type, found bool) {
	for f := range t.Fields() {
		if jsonfault.FieldName(f) != name {
			continue
		}
		of = f.Type
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		return of, of.Kind() == reflect.Struct
	}
	return nil, false
}
