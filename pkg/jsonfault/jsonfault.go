// Package jsonfault words the errors of decoding JSON for people who know what they wrote and know no Go.
package jsonfault

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Explain returns err in words if it is a value of the wrong type, with the field's path, what was found and what was
// wanted. Other errors, and nil, it returns as they are.
func Explain(err error) error {
	wrong := (*json.UnmarshalTypeError)(nil)
	if !errors.As(err, &wrong) {
		return err
	}
	if wrong.Field == "" {
		return fmt.Errorf("found %s where fields were expected", article(wrong.Value))
	}
	return fmt.Errorf("%s: found %s, want %s", wrong.Field, article(wrong.Value), typeName(wrong.Type))
}

// article puts the right article before the name of a JSON type, as encoding/json words it ("number 5", "array").
func article(value string) string {
	if strings.HasPrefix(value, "array") || strings.HasPrefix(value, "object") {
		return "an " + value
	}
	return "a " + value
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		return "a list"
	case reflect.Map:
		return "a map"
	case reflect.Struct:
		return "the fields " + strings.Join(FieldNames(t), ", ")
	case reflect.Int, reflect.Int64:
		return "a whole number"
	default:
		return "a " + t.Kind().String()
	}
}

// FieldNames returns the names that a struct's fields have in JSON, sorted.
func FieldNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		names = append(names, FieldName(f))
	}
	slices.Sort(names)
	return names
}

// FieldName returns the name that a field of a struct has in JSON.
func FieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
