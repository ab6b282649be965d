package gloo_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
)

func TestPlanLeavesMalformedRoutesAlone(t *testing.T) {
	const malformed = `
  http:
  - null
  - {name: nothing}
  - {name: text, forwardTo: {destinations: [{ref: {name: 5}, weight: many}]}}
  - {name: ok, forwardTo: {destinations: [{ref: {name: web}}]}}
  tcp: [{forwardTo: null}, {}]
`
	observed := object(t, table(malformed))
	selection := engine.Selection{Routes: &config.RouteSelector{Name: "ok"}}
	plan, err := engine.MakePlan(gloo.RouteTables{}, observed, selection, canary(10))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(malformed, "[{ref: {name: web}}]", "[{ref: {name: web}, weight: 90}, {ref: {name: web-canary}, subset: {}, weight: 10}]", 1)
	if got, want := spec(t, apply(t, observed, plan.Patch)), spec(t, object(t, table(want))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	_, err = engine.MakePlan(gloo.RouteTables{}, observed, engine.Selection{}, canary(10))
	if want := `RouteTable apps/demo: http[2] "text": destinations[0]: ref.name: found a number, want a string`; err == nil || err.Error() != want {
		t.Errorf("with the faulty route selected: %v, want %s", err, want)
	}
}

// largeTable returns a table with n routes that forward to web.
func largeTable(n int) string {
	b := &strings.Builder{}
	b.WriteString("  http:\n")
	for i := range n {
		fmt.Fprintf(b, "  - {name: r%d, matchers: [{uri: {prefix: /%d}}], forwardTo: {destinations: [{ref: {name: web, namespace: apps}, port: {number: 8080}}]}}\n", i, i)
	}
	return b.String()
}

func TestPlanOfLargeTables(t *testing.T) {
	for _, tt := range []struct {
		routes int
		want   string
	}{
		{3_000, ""},
		{4_999, ""},
		{10_000, "RouteTable apps/demo: 20001 changes are more than one patch may hold (10000); narrow routeSelector or split the table"},
	} {
		t.Run(fmt.Sprint(tt.routes), func(t *testing.T) {
			observed := object(t, table(largeTable(tt.routes)))
			plan, err := engine.MakePlan(gloo.RouteTables{}, observed, engine.Selection{}, canary(10))
			if tt.want != "" {
				if err == nil || err.Error() != tt.want {
					t.Fatalf("got %v, want %s", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := len(plan.Patch); n != 2*tt.routes+1 {
				t.Errorf("%d operations, want two a route and one for the annotation", n)
			}
			annotations, err := json.Marshal(plan.Patch[len(plan.Patch)-1].Value)
			if err != nil || len(annotations) > 256<<10 {
				t.Errorf("the annotation takes %d bytes (%v), more than an object may have", len(annotations), err)
			}
		})
	}
}

// FuzzPlan gives the planner whatever JSON there is for a table's spec, and whatever text for its annotation: it must
// answer with a plan that can be applied and is the last one, or with an error, never with a panic.
func FuzzPlan(f *testing.F) {
	const remembered = `{"apps/web":{"roles":{"apps/web":"stable"},"held":[{"was":{"apps/web":null},"routes":["http/a"]}]}}`
	for _, seed := range []string{
		`{"http":[{"name":"a","forwardTo":{"destinations":[{"ref":{"name":"web"}}]}}]}`,
		`{"defaultDestination":{"ref":{"name":"web"}},"http":[{"forwardTo":{}},{"forwardTo":{"destinations":[]}},null]}`,
		`{"tcp":[{"forwardTo":{"destinations":[{"ref":{"name":"web"},"weight":30},{"ref":{"name":"web-canary"},"subset":{},"weight":70}]}}]}`,
		`{"http":[{"name":"a","forwardTo":{"destinations":[{"ref":{"name":"web"},"weight":"5"},null,{"awsLambda":{}}]}}]}`,
		`{"http":{}}`, `[]`, `null`,
	} {
		f.Add([]byte(seed), uint8(10), remembered)
	}
	f.Fuzz(func(t *testing.T, spec []byte, share uint8, annotation string) {
		if share > 100 || !json.Valid(spec) {
			t.Skip()
		}
		raw, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"namespace": "apps", "name": "demo", "annotations": map[string]string{engine.Annotation: annotation}},
			"spec":     json.RawMessage(spec),
		})
		if err != nil {
			t.Fatal(err)
		}
		observed := fromJSON(t, raw)
		plan, err := engine.MakePlan(gloo.RouteTables{}, observed, engine.Selection{}, canary(int(share)))
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a text")
			}
			return
		}
		again, err := engine.MakePlan(gloo.RouteTables{}, apply(t, observed, plan.Patch), engine.Selection{}, canary(int(share)))
		if err != nil || len(again.Patch) > 0 {
			t.Errorf("second plan %v, %v; the first was %v on\n%s", again.Patch, err, plan.Patch, raw)
		}
	})
}
