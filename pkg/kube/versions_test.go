package kube_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
)

func TestVersions(t *testing.T) {
	c, _ := client(t, func(w http.ResponseWriter, r *http.Request) {
		answers := map[string]string{
			"/apis/networking.gloo.solo.io":    `{"versions": [{"version": "v2"}, {"version": "v3"}, {"version": "v1"}]}`,
			"/apis/networking.gloo.solo.io/v2": `{"resources": [{"name": "routetables"}, {"name": "routetables/status"}]}`,
			"/apis/networking.gloo.solo.io/v3": `{"resources": [{"name": "gateways"}]}`,
			"/apis/networking.gloo.solo.io/v1": `{"resources": [{"name": "routetables"}]}`,
		}
		if answer, found := answers[r.URL.Path]; found {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, answer)
			return
		}
		status(404, "NotFound", "the server could not find the requested resource", `{}`)(w, r)
	})
	for _, tt := range []struct {
		group, resource string
		want            []string
	}{
		{"networking.gloo.solo.io", "routetables", []string{"v2", "v1"}},
		{"networking.gloo.solo.io", "virtualgateways", nil},
		{"argoproj.io", "rollouts", nil},
	} {
		if got, err := c.Versions(t.Context(), tt.group, tt.resource); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s.%s: got %v, %v, want %v", tt.resource, tt.group, got, err, tt.want)
		}
	}
}
