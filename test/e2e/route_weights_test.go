package e2e

import (
	"net/http"
	"testing"
)

// The weights of an HTTPRoute, and what of it is nobody's business: other rules, backends and filters.
func TestHTTPRoute(t *testing.T) {
	inBothRouteShapes(t, func(t *testing.T, s setup) {
		s.steps = stepsTo(10, 50, 100)
		d := s.begin(t)
		d.serves("/demo", shares{"web:1": 100})
		d.serves("/shop", shares{"web:1": 60, "partner": 40})

		d.release("web:2")
		for _, at := range []struct {
			weight     int32
			demo, shop shares
		}{
			{10, shares{"web:1": 90, "web:2": 10}, shares{"web:1": 64, "web:2": 7, "partner": 29}},
			{50, shares{"web:1": 50, "web:2": 50}, shares{"web:1": 36, "web:2": 36, "partner": 29}},
			{100, shares{"web:2": 100}, shares{"web:2": 71, "partner": 29}},
		} {
			d.reaches(at.weight)
			d.serves("/demo", at.demo)
			d.serves("/shop", at.shop) // of 140 parts
			d.differsInBackendsOnly()
			d.showsRelease()
			d.isRewritten("/demo/7", "/color/7")
			d.isRedirected("/moved", "http://elsewhere.example.com/moved")
			d.promote()
		}
		d.completes("web:2")
		d.serves("/demo", shares{"web:2": 100})
		d.serves("/shop", shares{"web:2": 60, "partner": 40})
	})
}

// isRewritten checks that a request reaches the backend with another path, and comes back with the header that the edge sets.
func (d *story) isRewritten(path, want string) {
	d.t.Helper()
	if header := d.responds(path, http.StatusOK); header.Get("X-Served-Path") != want || header.Get("X-Edge") != "yes" {
		d.t.Errorf("%s is answered with headers %v, want path %s and the edge's own", path, header, want)
	}
}

func (d *story) isRedirected(path, want string) {
	d.t.Helper()
	if got := d.responds(path, http.StatusFound).Get("Location"); got != want {
		d.t.Errorf("%s leads to %q, want %q", path, got, want)
	}
}

// responds asks for a path of the story's host, and returns the headers of an answer with this status.
func (d *story) responds(path string, status int) http.Header {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, "http://"+edge.Addr()+path, http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	req.Host = d.Namespace + ".example.com"
	res, err := http.DefaultTransport.RoundTrip(req) // which follows no redirect
	if err != nil {
		d.t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		d.t.Fatal(err)
	}
	if res.StatusCode != status {
		d.t.Errorf("%s is answered with %d, want %d", path, res.StatusCode, status)
	}
	return res.Header
}
