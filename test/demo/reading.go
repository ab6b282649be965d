package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
)

// canaryService is whose share is shown.
const canaryService = "demo-canary"

// reading is what is known at one moment: the weight that was asked for, the one in the table, and the share measured.
type reading struct {
	title    string
	asked    int // percent
	table    []weight
	requests int
	services map[string]int // requests answered by each Service
	images   map[string]int // and by each image
}

func (r *reading) add(t gateway.Tally) {
	r.requests += t.Total
	for service, n := range t.Services {
		r.services[service] += n
	}
	for image, n := range t.Images {
		r.images[image] += n
	}
}

// tableShare is the percent that the table gives to the canary.
func (r reading) tableShare() int {
	for _, w := range r.table {
		if w.service == canaryService && w.percent != nil {
			return int(*w.percent)
		}
	}
	return 0
}

// tableText lists the destinations as the table has them.
func (r reading) tableText() string {
	var texts []string
	for _, w := range r.table {
		text := w.service
		if w.percent != nil {
			text += " " + strconv.FormatInt(*w.percent, 10)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// measuredShare is the percent of requests that the canary Service answered.
func (r reading) measuredShare() float64 {
	return percent(r.services[canaryService], r.requests)
}

// measuredText says which image answered how many percent of the requests.
func (r reading) measuredText() string {
	var texts []string
	for _, image := range slices.Sorted(maps.Keys(r.images)) {
		_, tag, _ := strings.Cut(image, ":")
		texts = append(texts, fmt.Sprintf("%s %.1f", tag, percent(r.images[image], r.requests)))
	}
	return fmt.Sprintf("%s requests: %s", thousands(r.requests), strings.Join(texts, ", "))
}

func percent(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(n) / float64(of)
}

// thousands writes a number with commas.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
