package e2e

import "testing"

// shapes are the two ways in which people write a table: the canary is listed, or is left to the plugin.
var shapes = []struct{ name, tables string }{
	{"stable listed", "table-stable.yaml"},
	{"both listed", "table-both.yaml"},
}

// inBothShapes runs a story on each shape of table.
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
