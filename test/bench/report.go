package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Report is what a run measured.
type Report struct {
	Machine  string   `json:"machine"`
	BinaryMB float64  `json:"binaryMB"`
	Results  []Result `json:"results"`
}

// print writes the report as a table.
func (r Report) print(out io.Writer) {
	fmt.Fprintf(out, "\n%s; the binary has %.1f MB\n\n", r.Machine, r.BinaryMB)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "SetWeight + VerifyWeight\tp50 ms\tp99 ms\treads\twrites\tper second\tMiB at start\tMiB at most\t")
	for _, c := range r.Results {
		c.Floor.print(w, c.Case+", RPC alone", "\t\t")
		c.Unchanged.print(w, "nothing changes", fmt.Sprintf("%.0f\t%.1f\t%.1f", c.ReconcilesPerSecond, c.StartMiB, c.PeakMiB))
		c.Changed.print(w, "the weight changes", "\t\t")
		c.Patches.print(w, "as many patches, no plugin", "\t\t")
	}
	_ = w.Flush() // to the terminal, where nobody is left to tell
}

func (t times) print(w io.Writer, name, more string) {
	fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%g\t%g\t%s\t\n", name, t.P50, t.P99, t.Reads, t.Writes, more)
}

// memory reads a figure of a process's memory, in MiB.
func memory(pid int, field string) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, field+":"); found {
			kib, err := strconv.Atoi(strings.Fields(value)[0])
			return float64(kib) / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d tells no %s", pid, field)
}
