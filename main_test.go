package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/cli"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/preview"
)

// run starts the binary's command as a person does, and returns what it answers, what it complains of and its exit code.
func run(t *testing.T, stdin string, args ...string) (answer, complaint string, code int) {
	t.Helper()
	c, out := command(), bytes.Buffer{}
	c.SetArgs(args)
	c.SetIn(strings.NewReader(stdin))
	c.SetOut(&out)
	err := c.ExecuteContext(t.Context())
	if err != nil {
		complaint = err.Error()
	}
	return out.String(), complaint, cli.ExitCode(err)
}

func text(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

const testdata = "internal/cli/testdata/"

// With UPDATE set, the answers are written to their files; look at them before they are committed.
func TestPreview(t *testing.T) {
	for _, tt := range []struct {
		name, stdin string
		args        []string
		answer      string // a file that holds it
		code        int
		complaint   string
	}{
		{"every kind of step", "", []string{"-f", testdata + "everything.yaml"}, testdata + "everything.txt", cli.ExitYes, ""},
		{"routes of the Gateway API", "", []string{"-f", testdata + "gateway_api.yaml", "--name", "argoproj-labs/gatewayAPI"}, testdata + "gateway_api.txt", cli.ExitYes, ""},
		{"those as differences", "", []string{"-f", testdata + "gateway_api.yaml", "--name", "argoproj-labs/gatewayAPI", "-o", "diff"}, testdata + "gateway_api.diff", cli.ExitYes, ""},
		{"header and mirror rules", "", []string{"-f", testdata + "managed_rules.yaml", "--name", "argoproj-labs/gatewayAPI"}, testdata + "managed_rules.txt", cli.ExitYes, ""},
		{"a step that is refused", "", []string{"-f", testdata + "versions.yaml"}, testdata + "versions.txt", cli.ExitNo, "the plugin would refuse a step"},
		{"from stdin, as differences", text(t, testdata+"everything.yaml"), []string{"-f", "-", "-o", "diff"}, testdata + "everything.diff", cli.ExitYes, ""},
		{"by name, as tables", "", []string{"web", "-f", testdata + "versions.yaml", "-o", "yaml"}, testdata + "versions.tables.yaml", cli.ExitNo, "the plugin would refuse a step"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer, complaint, code := run(t, tt.stdin, append([]string{"preview"}, tt.args...)...)
			if code != tt.code || complaint != tt.complaint {
				t.Errorf("exit code %d with %q, want %d with %q", code, complaint, tt.code, tt.complaint)
			}
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(tt.answer, []byte(answer), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want := text(t, tt.answer); answer != want {
				t.Errorf("got\n%s\nwant\n%s", answer, want)
			}
		})
	}
}

// The page about previews shows what the binary says.
func TestPreviewAsDocumented(t *testing.T) {
	answer, complaint, code := run(t, "", "preview", "demo", "-f", "examples/", "-f", "examples/header-routes/")
	if code != cli.ExitYes || !strings.Contains(text(t, "docs/preview.md"), "```text\n"+answer+"```\n") {
		t.Errorf("exit code %d with %q; docs/preview.md does not show\n%s", code, complaint, answer)
	}
}

// What a program reads is what a person sees.
func TestPreviewForPrograms(t *testing.T) {
	answer, _, _ := run(t, "", "preview", "-f", testdata+"everything.yaml", "-o", "json")
	report := preview.Report{}
	if err := json.Unmarshal([]byte(answer), &report); err != nil {
		t.Fatal(err)
	}
	out := bytes.Buffer{}
	if err := report.PrintTable(&out); err != nil || out.String() != text(t, testdata+"everything.txt") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestCommandsThatAreNotUnderstood(t *testing.T) {
	t.Setenv("KUBECONFIG", testdata+"none")
	empty := t.TempDir()
	for _, tt := range []struct {
		name, stdin string
		args        []string
		code        int
		complaint   string // its beginning
	}{
		{"nothing to preview", "", []string{"preview"}, cli.ExitUsage, "name a Rollout, or give files with -f"},
		{"an unknown output", "", []string{"preview", "web", "-o", "xml"}, cli.ExitUsage, `invalid argument "xml" for "-o, --output" flag: want one of table, json, yaml, diff`},
		{"an unknown flag", "", []string{"preview", "--fliename", "x"}, cli.ExitUsage, "unknown flag: --fliename"},
		{"an unknown command", "", []string{"show"}, cli.ExitUsage, `unknown command "show"`},
		{"two names", "", []string{"preview", "a", "b"}, cli.ExitUsage, "accepts at most 1 arg(s), received 2"},
		{"a file that is not there", "", []string{"preview", "-f", "none.yaml"}, cli.ExitNo, "stat none.yaml: no such file or directory"},
		{"a folder without manifests", "", []string{"preview", "-f", empty}, cli.ExitNo, empty + " holds no .yaml, .yml or .json files"},
		{"files without a Rollout", "kind: Service", []string{"preview", "-f", "-"}, cli.ExitNo, "the files hold no Rollout"},
		{"another Rollout", "kind: Rollout\nmetadata: {name: a}", []string{"preview", "web", "-f", "-"}, cli.ExitNo, "the files hold no Rollout web, only a"},
		{"two Rollouts", "kind: Rollout\nmetadata: {name: a}\n---\nkind: Rollout\nmetadata: {name: b}", []string{"preview", "-f", "-"}, cli.ExitNo, "the files hold Rollouts a, b; name one"},
		{"a Rollout that is no canary", "kind: Rollout\nmetadata: {name: a}\nspec: {strategy: {blueGreen: {}}}", []string{"preview", "-f", "-"}, cli.ExitNo, "Rollout default/a has no spec.strategy.canary"},
		{"no YAML", "kind: Rollout\n---\n{", []string{"preview", "-f", "-"}, cli.ExitNo, "stdin: document 2: "},
		{"a name for a check", "", []string{"check", "web"}, cli.ExitUsage, `unknown command "web" for "rollouts-plugin-trafficrouter-glooplatform check"`},
		{"nothing to check", "", []string{"check"}, cli.ExitNo, "KUBECONFIG " + testdata + "none: "},
		{"nothing to restore", "", []string{"restore"}, cli.ExitUsage, "accepts 1 arg(s), received 0"},
		{"to restore and not to", "", []string{"restore", "web", "--yes", "--dry-run"}, cli.ExitUsage, "if any flags in the group [yes dry-run] are set none of the others can be"},
		{"no cluster to restore in", "", []string{"restore", "web"}, cli.ExitNo, "KUBECONFIG " + testdata + "none: "},
		{"the version of something", "", []string{"version", "web"}, cli.ExitUsage, `unknown command "web" for "rollouts-plugin-trafficrouter-glooplatform version"`},
		{"completion for an unknown shell", "", []string{"completion", "cmd"}, cli.ExitUsage, `invalid argument "cmd" for "rollouts-plugin-trafficrouter-glooplatform completion"`},
		{"completion for no shell in particular", "", []string{"completion"}, cli.ExitUsage, "accepts 1 arg(s), received 0"},
		{"no cluster", "", []string{"preview", "web"}, cli.ExitNo, "KUBECONFIG " + testdata + "none: "},
		{"the plugin without a controller", "", nil, cli.ExitUsage, "A traffic router plugin of Argo Rollouts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer, complaint, code := run(t, tt.stdin, tt.args...)
			if code != tt.code || !strings.HasPrefix(complaint, tt.complaint) || answer != "" {
				t.Errorf("answer %q, exit code %d with %q, want %d with %q", answer, code, complaint, tt.code, tt.complaint)
			}
		})
	}
}

// A check takes an entry's args for what the plugin would make of them.
func TestRegistered(t *testing.T) {
	p, err := registered("apps/one", []string{"--cluster=east", "--route-namespaces", "a,b", "--kubeconfig", "gloo.yaml", "--log-level", "debug"})
	if err != nil || p.Name != "apps/one" || p.Bounds.Cluster != "east" || !slices.Equal(p.RouteNamespaces, []string{"a", "b"}) || !p.Elsewhere {
		t.Errorf("%v, %+v", err, p)
	}
	if p, err = registered("apps/one", []string{"--name", "apps/two"}); err != nil || p.Name != "apps/two" || p.Elsewhere || p.RouteNamespaces != nil {
		t.Errorf("%v, %+v", err, p)
	}
	for _, args := range [][]string{{"--namespaces", "a"}, {"preview"}, {"--resync", "often"}, {"--log-level", "warning"}, {"--log-format=logfmt"}} {
		if _, err := registered("apps/one", args); err == nil {
			t.Errorf("%q are taken", args)
		}
	}
}

func TestVersion(t *testing.T) {
	answer, complaint, code := run(t, "", "version")
	if code != cli.ExitYes || complaint != "" || !strings.Contains(answer, "Argo Rollouts:  v1.10.") || !strings.Contains(answer, "Go:             go1.") {
		t.Errorf("exit code %d with %q\n%s", code, complaint, answer)
	}
	raw, _, _ := run(t, "", "version", "-o", "json")
	build := cli.Build{}
	if err := json.Unmarshal([]byte(raw), &build); err != nil || build.Commit == "" || !strings.Contains(answer, "Version:        "+build.Version+"\n") {
		t.Errorf("%v\n%s", err, raw)
	}
}

// A page that shows a command and, below it, what it prints, shows what it prints.
func TestPagesShowWhatIsPrinted(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile("(?m)^    rollouts-plugin-trafficrouter-glooplatform (preview .*)\n\n```text\n((?s).*?)^```$")
	shown := 0
	for _, page := range pages {
		for _, m := range command.FindAllStringSubmatch(text(t, page), -1) {
			shown++
			if answer, complaint, _ := run(t, "", strings.Fields(m[1])...); answer != m[2] {
				t.Errorf("%s: %s prints\n%s%s\nand not\n%s", page, m[1], answer, complaint, m[2])
			}
		}
	}
	if shown < 3 {
		t.Errorf("%d pages show what a command prints, want 3 or more", shown)
	}
}
