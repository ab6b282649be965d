package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"sigs.k8s.io/yaml"
)

// inBothSpellings runs a story on three routes of two tables, in each of the two shapes.
func inBothSpellings(t *testing.T, tell func(t *testing.T, s setup, atRest string)) {
	for _, shape := range []struct{ name, destinations, atRest string }{
		{"stable listed", "{ref: {name: web}, port: {number: 8080}}", "web"},
		{"both listed", "{ref: {name: web}, port: {number: 8080}, weight: 100}, {ref: {name: web-canary}, port: {number: 8080}, weight: 0}",
			"web 100, web-canary 0"},
	} {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			tell(t, setup{tables: strings.ReplaceAll(twoTables, "DESTINATIONS", shape.destinations)}, shape.atRest)
		})
	}
}

const twoTables = `
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: demo, labels: {app: demo}}
spec:
  hosts: [NAMESPACE.example.com]
  http:
    - {name: one, labels: {canary: "yes"}, matchers: [{uri: {prefix: /one}}], forwardTo: {destinations: [DESTINATIONS]}}
    - {name: two, matchers: [{uri: {prefix: /two}}], forwardTo: {destinations: [DESTINATIONS]}}
---
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: other, labels: {app: other}}
spec:
  hosts: [NAMESPACE.example.com]
  http:
    - {name: three, matchers: [{uri: {prefix: /three}}], forwardTo: {destinations: [DESTINATIONS]}}
`

// someoneSets replaces the plugin's block in the Rollout.
func (d *story) someoneSets(block string) {
	d.t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(block))
	if err != nil {
		d.t.Fatal(err)
	}
	d.EditRollout(d.name, func(ro *v1alpha1.Rollout) {
		ro.Spec.Strategy.Canary.TrafficRouting.Plugins = map[string]json.RawMessage{today: raw}
	})
}

func TestRouteSelectorChanges(t *testing.T) {
	inBothSpellings(t, func(t *testing.T, s setup, atRest string) {
		s.block = "{routeTableSelector: {name: demo}, routeSelector: {labels: {canary: 'yes'}}}"
		d := s.begin(t)
		d.release("web:2")
		d.reaches(10)
		d.lists("one", "web 90, web-canary 10")
		d.lists("two", atRest)

		d.someoneSets("{routeTableSelector: {name: demo}, routeSelector: {name: two}}")
		d.soonLists("two", "web 90, web-canary 10")
		d.lists("one", atRest)
		d.serves("/one", shares{"web:1": 100})
		d.serves("/two", shares{"web:1": 90, "web:2": 10})

		d.promote()
		d.reaches(50)
		d.serves("/one", shares{"web:1": 100})
		d.serves("/two", shares{"web:1": 50, "web:2": 50})
		d.promote()
		d.completes("web:2")
	})
}

func TestTableSelectorMovesToAnotherTable(t *testing.T) {
	inBothSpellings(t, func(t *testing.T, s setup, atRest string) {
		d := s.begin(t)
		d.release("web:2")
		d.reaches(10)
		d.serves("/one", shares{"web:1": 90, "web:2": 10})
		d.serves("/three", shares{"web:1": 100})

		d.someoneSets("{routeTableSelector: {labels: {app: other}}}")
		d.soonLists("three", "web 90, web-canary 10")
		d.soonLists("one", atRest)
		d.lists("two", atRest)
		d.serves("/one", shares{"web:1": 100})
		d.serves("/three", shares{"web:1": 90, "web:2": 10})

		d.promote()
		d.reaches(50)
		d.serves("/two", shares{"web:1": 100})
		d.serves("/three", shares{"web:1": 50, "web:2": 50})
		d.promote()
		d.completes("web:2")
	})
}

// A canary that people listed stays in the table under its old name, without traffic; one that the plugin added goes.
func TestCanaryServiceIsRenamed(t *testing.T) {
	inBothSpellings(t, func(t *testing.T, s setup, atRest string) {
		renamed := "web 90, web-next 10"
		if strings.Contains(atRest, "web-canary") {
			renamed = "web 90, web-canary 0, web-next 10"
		}
		d := s.begin(t)
		d.Apply(strings.ReplaceAll(file(t, "services.yaml"), "web-canary", "web-next"))
		d.release("web:2")
		d.reaches(10)
		d.EditRollout(d.name, func(ro *v1alpha1.Rollout) { ro.Spec.Strategy.Canary.CanaryService = "web-next" })

		d.soonLists("one", renamed)
		d.lists("two", renamed)
		d.serves("/one", shares{"web:1": 90, "web:2": 10})
		d.promote()
		d.reaches(50)
		d.serves("/one", shares{"web:1": 50, "web:2": 50})
		d.promote()
		d.completes("web:2")
	})
}
