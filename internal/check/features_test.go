package check

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pageRow is a row of the first table in docs/controller-versions.md: a feature, and whether v1.7.2, v1.8.5, v1.9.2 and v1.10.1
// accept it.
var pageRow = regexp.MustCompile(`(?m)^\| (.+?) \| (yes|no) \| (yes|no) \| (yes|no) \| (yes|no) \|$`)

// The page on controller versions and a check say the same: which features are refused by some versions, and until which.
func TestFeaturesAreThePages(t *testing.T) {
	text, err := os.ReadFile("../../docs/controller-versions.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, found := strings.Cut(string(text), "*No* means")
	if !found {
		t.Fatal("the page has another shape by now")
	}
	page := map[string]string{}
	for _, row := range pageRow.FindAllStringSubmatch(table, -1) {
		if first := slices.Index(row[2:], "yes"); first > 0 {
			page[strings.ReplaceAll(row[1], "`", "")] = []string{"1.7", "1.8", "1.9", "1.10"}[first]
		}
	}
	checked := map[string]string{}
	for _, f := range features {
		checked[f.name] = f.since.String()
	}
	if !maps.Equal(page, checked) {
		t.Errorf("the page has %v, a check %v", page, checked)
	}
}
