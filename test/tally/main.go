// Command tally runs `go test` and says what came of it: a line for each package, failures in full, and at the end one
// line that counts. Its arguments are those of `go test`; a "+" begins a further run, counted with the first. It fails if
// a run does.
//
//	tally -race ./pkg/... + -race ./pkg/split -rapid.checks=1000
//
// A test with subtests counts as its subtests, unless it fails on its own account.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
)

func main() {
	passed, err := tally(os.Stdout, os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "tally: %v\n", err)
	}
	if err != nil || !passed {
		os.Exit(1)
	}
}

// tally runs the tests and reports whether all went well.
func tally(out io.Writer, args []string) (passed bool, err error) {
	total, passed := count{}, true
	for len(args) > 0 {
		run := args
		if i := slices.Index(args, "+"); i >= 0 {
			run, args = args[:i], args[i+1:]
		} else {
			args = nil
		}
		r := &report{out: out}
		ok, err := goTest(run, r)
		if err != nil {
			return false, err
		}
		passed = passed && ok && r.total.failed == 0
		total.add(r.total)
	}
	_, err = fmt.Fprintln(out, total)
	return passed, err
}

// goTest runs `go test -json` and feeds its events to r.
func goTest(args []string, r *report) (ok bool, err error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	if err := r.read(events); err != nil {
		return false, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	failed := (*exec.ExitError)(nil)
	err = cmd.Wait()
	if errors.As(err, &failed) {
		return false, nil
	}
	return err == nil, err
}
