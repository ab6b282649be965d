package engine

import (
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

// at returns the pointer of the element with this index in the list at path.
func at(path string, index int) string { return path + "/" + strconv.Itoa(index) }
