// Package check finds out why the plugin does not, or would not, do its work in a cluster. It reads, and writes nothing.
package check

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Mark says what a finding means.
type Mark string

const (
	// OK says that something is as it should be.
	OK Mark = "ok"
	// Note says that nothing is wrong with what a person may not expect.
	Note Mark = "note"
	// Warn says that something works worse than it could, or could not be looked at.
	Warn Mark = "warn"
	// Fail says that something does not work.
	Fail Mark = "fail"
)

// Finding is one thing that was found.
type Finding struct {
	Mark Mark `json:"mark"`
	// Object is what it is about, as errors name it: Rollout apps/web.
	Object string `json:"object"`
	Found  string `json:"found"`
	// Cure is what to do about it; empty: nothing.
	Cure string `json:"cure,omitempty"`
}

// String returns the finding on one line, without its mark.
func (f Finding) String() string {
	text := f.Object + ": " + f.Found
	if f.Cure != "" {
		text += "; " + f.Cure
	}
	return strings.Join(strings.Fields(text), " ") // what others wrote may have lines of its own
}

// Report is all that was found, in the order in which things depend on each other.
type Report struct {
	Findings []Finding `json:"findings"`
}

// Wrong reports whether something does not work.
func (r Report) Wrong() bool { return r.count(Fail) > 0 }

func (r Report) count(mark Mark) int {
	n := 0
	for _, f := range r.Findings {
		if f.Mark == mark {
			n++
		}
	}
	return n
}

// PrintText writes a report for a person: one line for each finding, and one that counts them.
func (r Report) PrintText(w io.Writer) error {
	for _, f := range r.Findings {
		if _, err := fmt.Fprintf(w, "%-4s  %s\n", f.Mark, f); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d ok, %d to note, %d to be warned of, %d wrong\n", r.count(OK), r.count(Note), r.count(Warn), r.count(Fail))
	return err
}

// PrintJSON writes a report for a program, with the counts under the marks' names.
func (r Report) PrintJSON(w io.Writer) error {
	counts := map[Mark]int{}
	for _, mark := range []Mark{OK, Note, Warn, Fail} {
		counts[mark] = r.count(mark)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(struct {
		Report
		Counts map[Mark]int `json:"counts"`
	}{Report{slices.Concat([]Finding{}, r.Findings)}, counts})
}
