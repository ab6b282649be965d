package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// event is a line of `go test -json` (cmd/test2json), or, with an ImportPath, of the build before it.
type event struct {
	Action      string
	Package     string
	Test        string
	Output      string
	Elapsed     float64
	ImportPath  string
	FailedBuild string
}

// count is how many tests ended how.
type count struct{ passed, failed, skipped int }

func (c *count) add(other count) {
	c.passed += other.passed
	c.failed += other.failed
	c.skipped += other.skipped
}

func (c count) String() string {
	text := fmt.Sprintf("%d passed, %d failed", c.passed, c.failed)
	if c.skipped > 0 {
		text += fmt.Sprintf(", %d skipped", c.skipped)
	}
	return text
}

// report follows one run of `go test`.
type report struct {
	out      io.Writer
	packages map[string]*pkg
	builds   map[string]*strings.Builder // what the compiler said, by the package built
	total    count
}

// pkg is a package whose tests are running.
type pkg struct {
	output strings.Builder // of the package itself
	tests  map[string]*test
	order  []string
}

type test struct {
	output strings.Builder
	result string // pass, fail or skip; empty while it runs
}

// read takes the events until their end.
func (r *report) read(events io.Reader) error {
	r.packages, r.builds = map[string]*pkg{}, map[string]*strings.Builder{}
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		if line = strings.TrimSpace(line); line != "" {
			e := event{}
			if json.Unmarshal([]byte(line), &e) != nil {
				e = event{Action: "output", Output: line + "\n"} // of the go command itself
			}
			if err := r.take(e); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) take(e event) error {
	if e.Package == "" {
		return r.takeBuild(e)
	}
	p := r.packages[e.Package]
	if p == nil {
		p = &pkg{tests: map[string]*test{}}
		r.packages[e.Package] = p
	}
	if e.Test == "" {
		switch e.Action {
		case "output":
			p.output.WriteString(e.Output)
		case "pass", "fail", "skip":
			return r.close(p, e)
		}
		return nil
	}
	t := p.tests[e.Test]
	if t == nil {
		t = &test{}
		p.tests[e.Test] = t
		p.order = append(p.order, e.Test)
	}
	switch e.Action {
	case "output":
		t.output.WriteString(e.Output)
	case "pass", "fail", "skip":
		t.result = e.Action
	}
	return nil
}

// takeBuild keeps what a build says until it fails; what belongs to no build is passed on.
func (r *report) takeBuild(e event) error {
	if e.ImportPath == "" {
		_, err := io.WriteString(r.out, e.Output)
		return err
	}
	b := r.builds[e.ImportPath]
	if b == nil {
		b = &strings.Builder{}
		r.builds[e.ImportPath] = b
	}
	b.WriteString(e.Output)
	return nil
}

// close reports a package that has ended.
func (r *report) close(p *pkg, end event) error {
	c, told, broken := p.count(), &strings.Builder{}, false
	for _, name := range p.order {
		t := p.tests[name]
		broken = broken || t.result == ""
		switch {
		case t.result == "skip":
			fmt.Fprintf(told, "    skipped: %s\n", lastLine(t.output.String(), name))
		case t.result != "pass":
			told.WriteString(t.output.String())
		}
	}
	if end.Action == "fail" && c.failed == 0 { // no test is to blame: the build, or TestMain
		c.failed++
		broken = true
	}
	if broken {
		if b := r.builds[end.FailedBuild]; b != nil {
			told.WriteString(b.String())
		}
		told.WriteString(p.output.String())
	}
	r.total.add(c)
	delete(r.packages, end.Package)
	state := map[string]string{"pass": "ok  ", "fail": "FAIL", "skip": "-   "}[end.Action]
	result := c.String()
	if c == (count{}) {
		result = "no tests"
	}
	_, err := fmt.Fprintf(r.out, "%s  %-28s %6.1f s  %s\n%s", state, short(end.Package), end.Elapsed, result, told)
	return err
}

// count counts the tests that have no subtests, and those that failed though no subtest did.
func (p *pkg) count() count {
	c, parents, blamed := count{}, map[string]bool{}, map[string]bool{}
	for name, t := range p.tests {
		for i := strings.LastIndexByte(name, '/'); i >= 0; i = strings.LastIndexByte(name[:i], '/') {
			parents[name[:i]] = true
			blamed[name[:i]] = blamed[name[:i]] || t.result != "pass" && t.result != "skip"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.tests)) {
		switch result := p.tests[name].result; {
		case result == "pass" && !parents[name]:
			c.passed++
		case result == "skip" && !parents[name]:
			c.skipped++
		case result != "pass" && result != "skip" && !blamed[name]:
			c.failed++
		}
	}
	return c
}

// lastLine is where a skipped test says why.
func lastLine(output, otherwise string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for _, line := range slices.Backward(lines) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "===") {
			return otherwise + ": " + line
		}
	}
	return otherwise
}

// short leaves the module's path out.
func short(path string) string {
	const module = "github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform"
	if rest, ours := strings.CutPrefix(path, module); ours {
		return "." + rest
	}
	return path
}
