package e2e

import (
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// shapes are the two ways in which people write a table: the canary is listed, or is left to the plugin.
var shapes = []struct{ name, tables string }{
	{"stable listed", "table-stable.yaml"},
	{"both listed", "table-both.yaml"},
}

// inBothShapes runs a story on each.
func inBothShapes(t *testing.T, tell func(t *testing.T, s setup)) {
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			tell(t, setup{tables: file(t, shape.tables)})
		})
	}
}

func TestCanary(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := s.begin(t)
		d.serves("/demo", shares{"web:1": 100})

		d.release("web:2")
		d.reaches(0)
		d.served(requestsAtZero, "/demo", shares{"web:1": 100, "web:2": 0})
		d.serves("/shop", shares{"web:1": 60, "partner": 40})

		d.promote()
		d.reaches(10)
		d.serves("/demo", shares{"web:1": 90, "web:2": 10})
		d.serves("/shop", shares{"web:1": 54, "web:2": 6, "partner": 40})

		d.promote()
		d.reaches(50)
		d.serves("/demo", shares{"web:1": 50, "web:2": 50})
		d.serves("/shop", shares{"web:1": 30, "web:2": 30, "partner": 40})

		d.promote()
		d.reaches(100)
		d.serves("/demo", shares{"web:2": 100})
		d.serves("/shop", shares{"web:2": 60, "partner": 40})

		d.promote()
		d.completes("web:2")
		d.serves("/demo", shares{"web:2": 100})
		d.serves("/shop", shares{"web:2": 60, "partner": 40})
	})
}

// What stands in the table at each step.
func TestTableOfACanary(t *testing.T) {
	for _, tt := range []struct {
		name, tables       string
		zero, ten, hundred string
	}{
		{"stable listed", "table-stable.yaml", "web", "web 90, web-canary 10", "web 0, web-canary 100"},
		{"both listed", "table-both.yaml", "web 100, web-canary 0", "web 90, web-canary 10", "web 0, web-canary 100"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := setup{tables: file(t, tt.tables), block: "{routeTableSelector: {name: demo}, routeSelector: {labels: {route: demo}}}"}.begin(t)
			d.release("web:2")
			d.reaches(0)
			d.lists("demo", tt.zero)
			d.promote()
			d.reaches(10)
			d.lists("demo", tt.ten)
			d.serves("/shop", shares{"web:1": 60, "partner": 40}) // is not selected
			d.promote()
			d.reaches(50)
			d.promote()
			d.reaches(100)
			d.lists("demo", tt.hundred)
			d.promote()
			d.completes("web:2")
		})
	}
}

// The first deployment has no version to go from: the table is not written at all.
func TestFirstDeployment(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := s.prepare(t)
		d.Apply(s.rollout(t))
		d.WaitFor(d.name, testbed.Healthy)
		d.isUntouched()
		d.isServed()
		d.serves("/demo", shares{"web:1": 100})
	})
}

func TestPromoteFull(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := s.begin(t)
		d.release("web:2")
		d.reaches(0)
		d.promote()
		d.reaches(10)
		d.PromoteFull(d.name)
		d.completes("web:2")
		d.serves("/demo", shares{"web:2": 100})
	})
}

// A third version arrives while the second one is at half: the second one gets nothing any more.
func TestThirdRevision(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := s.begin(t)
		d.release("web:2")
		d.reaches(0)
		d.promote()
		d.reaches(10)
		d.promote()
		d.reaches(50)
		d.serves("/demo", shares{"web:1": 50, "web:2": 50})

		d.release("web:3")
		d.reaches(0)
		d.served(requestsAtZero, "/demo", shares{"web:1": 100, "web:2": 0, "web:3": 0})
		d.promote()
		d.reaches(10)
		d.serves("/demo", shares{"web:1": 90, "web:3": 10})
		d.PromoteFull(d.name)
		d.completes("web:3")
		d.serves("/demo", shares{"web:3": 100})
	})
}

// Whoever goes back to the stable version in the middle of a release is back at once.
func TestRollbackInTheMiddle(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := s.begin(t)
		d.release("web:2")
		d.reaches(0)
		d.promote()
		d.reaches(10)
		d.promote()
		d.reaches(50)
		d.release("web:1")
		d.completes("web:1")
		d.serves("/demo", shares{"web:1": 100})
	})
}

// Once a release is complete, the version before it is a release like any other.
func TestRollbackToThePreviousRevision(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := s.begin(t)
		d.release("web:2")
		d.reaches(0)
		d.PromoteFull(d.name)
		d.completes("web:2")

		d.release("web:1")
		d.reaches(0)
		d.promote()
		d.reaches(10)
		d.serves("/demo", shares{"web:2": 90, "web:1": 10})
		d.PromoteFull(d.name)
		d.completes("web:1")
		d.serves("/demo", shares{"web:1": 100})
	})
}
