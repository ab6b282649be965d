package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each event is one line: action, package, test, output.
func events(lines ...string) string {
	b := &strings.Builder{}
	for _, line := range lines {
		f := strings.SplitN(line+"|||", "|", 4)
		b.WriteString(`{"Action":"` + f[0] + `","Package":"` + f[1] + `","Test":"` + f[2] + `","Output":"` + strings.TrimRight(f[3], "|") + `"}` + "\n")
	}
	return b.String()
}

func TestReport(t *testing.T) {
	for _, tt := range []struct {
		name, events, want string
		total              count
	}{
		{"a test with subtests counts as those",
			events("run|a|TestX", "pass|a|TestX/one", "skip|a|TestX/two", "pass|a|TestX", "pass|a|TestY", "pass|a"),
			"ok    a                               0.0 s  2 passed, 0 failed, 1 skipped\n    skipped: TestX/two\n",
			count{2, 0, 1}},
		{"a failure in full, once",
			events(`output|a|TestX/one|x.go:1: wrong\n`, "fail|a|TestX/one", "fail|a|TestX", "fail|a"),
			"FAIL  a                               0.0 s  0 passed, 1 failed\nx.go:1: wrong\n",
			count{0, 1, 0}},
		{"a test that fails beside its subtests",
			events("pass|a|TestX/one", "fail|a|TestX", "fail|a"),
			"FAIL  a                               0.0 s  1 passed, 1 failed\n",
			count{1, 1, 0}},
		{"a failure deep down blames nobody above",
			events("fail|a|TestX/one/deep", "fail|a|TestX/one", "fail|a|TestX", "fail|a"),
			"FAIL  a                               0.0 s  0 passed, 1 failed\n",
			count{0, 1, 0}},
		{"a test that never ended",
			events("run|a|TestX", `output|a||panic: oh\n`, "fail|a"),
			"FAIL  a                               0.0 s  0 passed, 1 failed\npanic: oh\n",
			count{0, 1, 0}},
		{"a package that fails without a test",
			events("pass|a|TestX", `output|a||bed: no assets\n`, "fail|a"),
			"FAIL  a                               0.0 s  1 passed, 1 failed\nbed: no assets\n",
			count{1, 1, 0}},
		{"a build that fails",
			`{"Action":"build-output","ImportPath":"a [a.test]","Output":"x.go:1: syntax\n"}` + "\n" +
				`{"Action":"build-fail","ImportPath":"a [a.test]"}` + "\n" +
				`{"Action":"fail","Package":"a","FailedBuild":"a [a.test]"}` + "\n",
			"FAIL  a                               0.0 s  0 passed, 1 failed\nx.go:1: syntax\n",
			count{0, 1, 0}},
		{"a package without tests",
			events(`output|a||?   a [no test files]\n`, "skip|a"),
			"-     a                               0.0 s  no tests\n",
			count{}},
		{"why a test was skipped",
			events(`output|a|TestX|=== RUN TestX\n`, `output|a|TestX|    x_test.go:9: no bed\n`, `output|a|TestX|--- SKIP: TestX (0.00s)\n`, "skip|a|TestX", "pass|a"),
			"ok    a                               0.0 s  0 passed, 0 failed, 1 skipped\n    skipped: TestX: x_test.go:9: no bed\n",
			count{0, 0, 1}},
		{"what is no event", "go: no such module\n", "go: no such module\n", count{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := &strings.Builder{}
			r := &report{out: out}
			if err := r.read(strings.NewReader(tt.events)); err != nil {
				t.Fatal(err)
			}
			if out.String() != tt.want || r.total != tt.total {
				t.Errorf("got  %+v\n%swant %+v\n%s", r.total, out, tt.total, tt.want)
			}
		})
	}
}

// The real `go test` on a module made here, in two runs.
func TestTally(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/tallied\n\ngo 1.26\n")
	write("good/a_test.go", "package good\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n\nfunc TestB(t *testing.T) { t.Skip(\"no bed\") }\n")
	write("bad/a_test.go", "package bad\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Error(\"wrong\") }\n")
	write("broken/a_test.go", "package broken\n\nfunc x() int {}\n")
	for _, tt := range []struct {
		args   string
		passed bool
		says   []string
		last   string
	}{
		{"./good", true, []string{"ok    example.com/tallied/good"}, "1 passed, 0 failed, 1 skipped"},
		{"./bad + ./good", false, []string{"FAIL  example.com/tallied/bad", "a_test.go:5: wrong"}, "1 passed, 1 failed, 1 skipped"},
		{"./broken", false, []string{"missing return"}, "0 passed, 1 failed"},
		{"./nowhere", false, nil, "0 passed, 1 failed"},
	} {
		out := &strings.Builder{}
		passed, err := tally(out, strings.Fields(tt.args))
		if err != nil {
			t.Errorf("tally %s: %v", tt.args, err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if passed != tt.passed || lines[len(lines)-1] != tt.last {
			t.Errorf("tally %s: passed %t; want %t and %q at the end of\n%s", tt.args, passed, tt.passed, tt.last, out)
		}
		for _, want := range tt.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("tally %s: no %q in\n%s", tt.args, want, out)
			}
		}
	}
}
