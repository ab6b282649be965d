package jsonfault

import (
	"reflect"
	"testing"

	kjson "sigs.k8s.io/json"
)

type sample struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	Weight *int              `json:"weight"`
	Rules  []struct {
		Port int32 `json:"port"`
	} `json:"rules"`
}

// Whatever comes, it is read as Kubernetes reads it.
func TestReadAsKubernetesDoes(t *testing.T) {
	for name, raw := range map[string]string{
		"plain":            `{"name": "a", "labels": {"b": "c"}, "weight": 5, "rules": [{"port": 80}]}`,
		"unknown fields":   `{"name": "a", "else": {"deep": [1, 2.5, null]}}`,
		"another spelling": `{"Name": "a", "WEIGHT": 1}`,
		"nulls":            `{"name": null, "labels": null, "weight": null, "rules": [null]}`,
		"null":             `null`,
		"twice":            `{"name": "a", "name": "b", "labels": {"x": "1"}, "labels": {"y": "2"}, "weight": 1, "weight": 2}`,
		"twice inside":     `{"labels": {"x": "1", "x": "2"}}`,
		"escapes":          `{"name": "\u00e4\ud83d\ude00\n"}`,
		"half a character": `{"name": "\ud83d"}`,
		"no UTF-8":         "{\"name\": \"\xff\"}",
		"a text":           `{"name": "a", "weight": "5"}`,
		"a fraction":       `{"weight": 2.5}`,
		"a round fraction": `{"weight": 2.0}`,
		"an exponent":      `{"weight": 1e2}`,
		"too large":        `{"rules": [{"port": 4294967296}]}`,
		"a list":           `[]`,
		"a number":         `{"labels": {"b": 1}}`,
		"cut off":          `{"name": "a"`,
		"more behind":      `{"name": "a"} {}`,
		"nothing":          ``,
	} {
		t.Run(name, func(t *testing.T) {
			want := sample{}
			wantErr := Explain(kjson.UnmarshalCaseSensitivePreserveInts([]byte(raw), &want))
			got, err := Read[sample]([]byte(raw))
			if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
				t.Fatalf("got error %v, want %v", err, wantErr)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// One field is read as it is read of the whole.
func TestReadField(t *testing.T) {
	for name, tt := range map[string]struct {
		raw  string
		want string
		ok   bool
	}{
		"the first":       {`{"labels": {"a": "b"}, "more": 1}`, "b", true},
		"behind others":   {`{"kind": "x", "list": [{"labels": {"a": "no"}}], "labels": {"a": "b"}}`, "b", true},
		"cut off behind":  {`{"labels": {"a": "b"}, "mo`, "b", true},
		"cut off within":  {`{"labels": {"a": "b"`, "", false},
		"cut off before":  {`{"kind": "x`, "", false},
		"of another type": {`{"labels": {"a": 5}}`, "", false},
		"missing":         {`{"Labels": {"a": "b"}}`, "", false},
		"no object":       {`["labels", {"a": "b"}]`, "", false},
		"nothing":         {``, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			labels := map[string]string{}
			ok := ReadField([]byte(tt.raw), "labels", &labels)
			if ok != tt.ok || ok && labels["a"] != tt.want {
				t.Errorf("got %v, %v; want a=%s, %v", labels, ok, tt.want, tt.ok)
			}
		})
	}
}
