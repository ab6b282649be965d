package e2e

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
)

// shares are whole percents of the answers, by what answers: an image or, for what has none, a destination's name.
type shares map[string]int

// requests is how many requests a share is measured by, and requestsAtZero how many show that something gets none.
const (
	requests       = 1000
	requestsAtZero = 2000
)

// doubt is how often a right share may be taken for a wrong one. The package takes fewer than 400 measurements, so that a
// run of all of them fails by chance less than once in 5,000. It comes to about 5 standard deviations: of 1,000 answers,
// 10 percent may be anything from 56 to 151.
const doubt = 5e-7

// plausible reports whether count of n answers agree with a share, by the binomial distribution.
func plausible(count, n, percent int) bool {
	if percent <= 0 || percent >= 100 {
		return count*100 == n*percent
	}
	p := float64(percent) / 100
	from, to := 0, count // as few as that, or fewer
	if float64(count) > float64(n)*p {
		from, to = count, n // as many, or more
	}
	tail := 0.0
	for k := from; k <= to; k++ {
		tail += math.Exp(logChoose(n, k) + float64(k)*math.Log(p) + float64(n-k)*math.Log(1-p))
	}
	return tail > doubt/2
}

// logChoose is the logarithm of how many ways there are to choose k of n.
func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// serves sends requests to a path of the story's host, and checks how many answers come from each image; or, where there
// is none, from each destination.
func (d *story) serves(path string, want shares) {
	d.t.Helper()
	d.served(requests, path, want)
}

// served is serves for n requests.
func (d *story) served(n int, path string, want shares) {
	d.t.Helper()
	d.check(path, want, answered(d.ask(n, path)), n)
}

// servedBy is serves for the names of Services and other destinations, whatever versions they lead to.
func (d *story) servedBy(path string, want shares) {
	d.t.Helper()
	d.check(path, want, d.ask(requests, path).Services, requests)
}

// ask sends n requests. Every answer must be good.
func (d *story) ask(n int, path string) gateway.Tally {
	d.t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+d.Namespace+".example.com"+path, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	tally, err := d.client.Share(d.t.Context(), n, req)
	if err != nil {
		d.t.Fatal(err)
	}
	if tally.Statuses[http.StatusOK] != n {
		d.t.Errorf("%s: of %d answers the statuses are %v, want 200 only", path, n, tally.Statuses)
	}
	return tally
}

func (d *story) check(path string, want shares, counts map[string]int, n int) {
	d.t.Helper()
	if fault := differs(want, counts, n); fault != "" {
		d.t.Errorf("%s: %s", path, fault)
	}
}

// answered counts by image, and by destination where there is none.
func answered(t gateway.Tally) map[string]int {
	counts := maps.Clone(t.Images)
	for name, n := range t.Versions {
		if t.Services[name] > 0 { // a destination that is no Service is its own version
			counts[name] = n
		}
	}
	return counts
}

// differs says how counts of n answers contradict the shares, or nothing.
func differs(want shares, counts map[string]int, n int) string {
	names := slices.Sorted(maps.Keys(want))
	for name := range counts {
		if _, found := want[name]; !found {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if !plausible(counts[name], n, want[name]) {
			return fmt.Sprintf("%s gave %d of %d answers, want %d percent; all: %v", name, counts[name], n, want[name], counts)
		}
	}
	return ""
}

func TestPlausible(t *testing.T) {
	for _, tt := range []struct {
		count, n, percent int
		want              bool
	}{
		{100, 1000, 10, true}, {56, 1000, 10, true}, {151, 1000, 10, true}, {55, 1000, 10, false}, {152, 1000, 10, false},
		{421, 1000, 50, true}, {579, 1000, 50, true}, {420, 1000, 50, false}, {580, 1000, 50, false},
		{0, 2000, 0, true}, {1, 2000, 0, false}, {2000, 2000, 100, true}, {1999, 2000, 100, false}, {0, 1000, 100, false},
	} {
		if got := plausible(tt.count, tt.n, tt.percent); got != tt.want {
			t.Errorf("plausible(%d of %d, %d percent) = %v, want %v", tt.count, tt.n, tt.percent, got, tt.want)
		}
	}
}
