package schema

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/invopop/jsonschema"
)

const (
	folder      = "../../schema/"
	blockFile   = "block.schema.json"
	rolloutFile = "rollout.schema.json"
)

// schemas returns what the files are to hold.
func schemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	return map[string]*jsonschema.Schema{blockFile: blockSchema(t), rolloutFile: rolloutSchema()}
}

// With UPDATE set, the schemas are written to their files; look at the difference before it is committed.
func TestFilesAreInStep(t *testing.T) {
	for file, schema := range schemas(t) {
		made := asText(t, schema)
		path := filepath.Join(folder, file)
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(path, made, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if found, err := os.ReadFile(path); err != nil || !bytes.Equal(found, made) {
			t.Errorf("schema/%s is not what the types of the block make (%v): write it by UPDATE=1 go test ./test/schema", file, err)
		}
	}
}

func asText(t *testing.T, schema *jsonschema.Schema) []byte {
	t.Helper()
	text := bytes.Buffer{}
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(schema); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}
