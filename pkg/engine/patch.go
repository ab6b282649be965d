package engine

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Operation is one operation of a JSON Patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// maxOperations is how many operations the API server accepts in one JSON Patch.
const maxOperations = 10_000

// pointer returns the JSON pointer (RFC 6901) that leads through these keys.
func pointer(keys ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	b := &strings.Builder{}
	for _, key := range keys {
		b.WriteByte('/')
		b.WriteString(escape.Replace(key))
	}
	return b.String()
}

// mapPatch returns what makes the map of texts at a path, which is not there where it is empty, be as it is wanted.
func mapPatch(observed, wanted map[string]string, path ...string) []Operation {
	switch {
	case maps.Equal(observed, wanted):
		return nil
	case len(wanted) == 0:
		return []Operation{{Op: "remove", Path: pointer(path...)}}
	case len(observed) == 0:
		return []Operation{{Op: "add", Path: pointer(path...), Value: wanted}}
	}
	var patch []Operation
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if value, found := observed[key]; !found || value != wanted[key] {
			patch = append(patch, Operation{Op: "add", Path: pointer(append(path, key)...), Value: wanted[key]})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(observed)) {
		if _, left := wanted[key]; !left {
			patch = append(patch, Operation{Op: "remove", Path: pointer(append(path, key)...)})
		}
	}
	return patch
}

// at returns the pointer of the element with this index in the list at path.
func at(path string, index int) string { return path + "/" + strconv.Itoa(index) }
