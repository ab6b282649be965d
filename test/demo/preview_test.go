package main

import (
	"encoding/json"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/preview"
)

// shownLine is what the demo keeps on the screen of each moment.
var shownLine = regexp.MustCompile(`(?m)^(at rest|setWeight \d+|released).*: canary asked for \d+, table (\d+) \(.*?\), measured ([\d.]+) `)

// checkPreview compares what the demo told with what a preview of the same files says: at each moment the canary's weight in
// the table, and what it was measured to get, within the bounds of checkShares.
func checkPreview(t *testing.T, plugin, told string) {
	t.Helper()
	out, err := exec.Command(plugin, "preview", "-f", filepath.Join("..", "..", "examples"), "-o", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	report := preview.Report{}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	lines := shownLine.FindAllStringSubmatch(told, -1)
	moments := standing(report)
	if len(lines) != len(moments) {
		t.Fatalf("%d lines, the preview has %d moments\n%s\n%s", len(lines), len(moments), told, out)
	}
	for i, m := range moments {
		if name := strings.Replace(lines[i][1], "released", "promoted", 1); name != m.Name {
			t.Errorf("moment %d is %q, the preview has %q", i, name, m.Name)
		}
		want := canaryPercent(m)
		if table := number(t, lines[i][2]); table != want {
			t.Errorf("%s: the table gives the canary %v percent, the preview %v", m.Name, table, want)
		}
		if measured := number(t, lines[i][3]); math.Abs(measured-want) > 7.9 {
			t.Errorf("%s: the canary gets %v percent, the preview says %v", m.Name, measured, want)
		}
	}
}

// standing returns the moments that the demo shows: at rest, after each setWeight, and promoted.
func standing(report preview.Report) []preview.Step {
	var moments []preview.Step
	for _, s := range report.Steps {
		if s.Name == "at rest" || s.Name == "promoted" || strings.HasPrefix(s.Name, "setWeight ") {
			moments = append(moments, s)
		}
	}
	return moments
}

// canaryPercent is what the canary gets of the one route.
func canaryPercent(s preview.Step) float64 {
	percent := 0.0
	for _, r := range s.Routes {
		for _, share := range r.Destinations {
			if share.Destination == canaryService {
				percent += share.Percent
			}
		}
	}
	return percent
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
