package faults

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// outcome is what a test saw.
type outcome struct {
	fault            string
	took             time.Duration
	releases         int
	calls, failed    int // of the plugin's verbs; a weight that is not verified counts as failed
	kills            int
	edits, states    int // the person's edits, and the states of tables that the witness saw
	requests, writes int // of the plugin, at the API server
}

// results are those of all tests.
type results struct {
	mu  sync.Mutex
	all []outcome
}

var outcomes results

func (r *results) add(o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, o)
}

// table returns the results in Markdown.
func (r *results) table() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.all, func(a, b outcome) int { return cmp.Compare(a.fault, b.fault) })
	text := &strings.Builder{}
	w := tabwriter.NewWriter(text, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| test\t| releases\t| calls\t| of them failed\t| requests\t| of them writes\t| kills\t| edits by others\t| states seen\t| time\t|")
	fmt.Fprintln(w, "| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|")
	for _, o := range r.all {
		fmt.Fprintf(w, "| %s\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t| %s\t|\n",
			o.fault, o.releases, o.calls, o.failed, o.requests, o.writes, o.kills, o.edits, o.states, o.took.Round(time.Second))
	}
	_ = w.Flush() // into memory
	return text.String()
}
