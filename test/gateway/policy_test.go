package gateway

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestPolicySelectsRoutesByLabel(t *testing.T) {
	shop := table(t, "shop", `{http: [{labels: {mirror: a, tier: gold}, redirect: {}}]}`)
	shop.Labels = map[string]string{"team": "one"}
	for _, tt := range []struct {
		name, applyToRoutes string
		want                bool
	}{
		{"all labels asked for", `[{route: {labels: {mirror: a}}}]`, true},
		{"one label differs", `[{route: {labels: {mirror: a, tier: silver}}}]`, false},
		{"a label is missing", `[{route: {labels: {mirror: a, extra: ""}}}]`, false},
		{"one of two selectors", `[{route: {labels: {mirror: b}}}, {route: {labels: {mirror: a}}}]`, true},
		{"the table's labels", `[{route: {labels: {team: one}}}]`, true},
		{"some of the table's and some of the route's", `[{route: {labels: {team: one, mirror: a}}}]`, false},
		{"the table's namespace", `[{route: {namespace: apps, labels: {mirror: a}}}]`, true},
		{"another namespace", `[{route: {namespace: other, labels: {mirror: a}}}]`, false},
		{"the local cluster", `[{route: {cluster: here, labels: {mirror: a}}}]`, true},
		{"another cluster", `[{route: {cluster: there, labels: {mirror: a}}}]`, false},
		{"no labels", `[{route: {}}]`, true},
		{"no selector", `[]`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := DecodePolicy(object(t, "p", `{applyToRoutes: `+tt.applyToRoutes+`, config: {destination: {ref: {name: x}}}}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Selects(shop, shop.HTTP[0], "here"); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// Of ten thousand equal draws, each makes a copy or none.
func TestPolicyCopiesAPercentage(t *testing.T) {
	for _, tt := range []struct {
		name, percentage string
		want             int
	}{
		{"absent is all", "", 10000},
		{"null is all", "percentage: null,", 10000},
		{"none", "percentage: 0,", 0},
		{"some", "percentage: 35,", 3500},
		{"a fraction", "percentage: 12.25,", 1225},
		{"all", "percentage: 100,", 10000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := DecodePolicy(object(t, "p", `{config: {`+tt.percentage+` destination: {ref: {name: x}}}}`))
			if err != nil {
				t.Fatal(err)
			}
			got := 0
			for n := range 10000 {
				if p.copies(func(int) int { return n }) {
					got++
				}
			}
			if got != tt.want {
				t.Errorf("%d copies of 10000, want %d", got, tt.want)
			}
		})
	}
}

func TestDecodePolicyRefuses(t *testing.T) {
	for _, tt := range []struct{ name, spec, want string }{
		{"no destination", `{config: {percentage: 1}}`, "config has no destination"},
		{"no name", `{config: {destination: {port: {number: 80}}}}`, "config.destination has no ref.name"},
		{"more than all", `{config: {percentage: 101, destination: {ref: {name: x}}}}`, "config.percentage is 101, not from 0 to 100"},
		{"less than none", `{config: {percentage: -1, destination: {ref: {name: x}}}}`, "config.percentage is -1, not from 0 to 100"},
		{"no number", `{config: {percentage: NaN, destination: {ref: {name: x}}}}`, "config.percentage is NaN, not from 0 to 100"},
		{"unknown kind", `{config: {destination: {ref: {name: x}, kind: POD}}}`, `kind: unknown value "POD"`},
		{"by destination", `{applyToRoutes: [{withDestinations: {}}], config: {destination: {ref: {name: x}}}}`,
			"applyToRoutes[0]: only route is supported by this stand-in"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if p, err := DecodePolicy(object(t, "p", tt.spec)); err == nil || err.Error() != tt.want {
				t.Errorf("decoded as %+v, %v; want %s", p, err, tt.want)
			}
		})
	}
	t.Run("no spec", func(t *testing.T) {
		if _, err := DecodePolicy(&unstructured.Unstructured{Object: map[string]any{}}); err == nil {
			t.Error("decoded an object without a spec")
		}
	})
}
