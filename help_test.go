package main

import (
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/cli"
)

// Every command of ours says on stdout what it does, how it is used, and what its exit codes mean.
func TestHelp(t *testing.T) {
	commands := command().Commands()
	if len(commands) < 5 {
		t.Errorf("%d commands, want 5 or more", len(commands))
	}
	for _, c := range commands {
		t.Run(c.Name(), func(t *testing.T) {
			answer, complaint, code := run(t, "", c.Name(), "--help")
			if code != cli.ExitYes || complaint != "" {
				t.Errorf("exit code %d with %q", code, complaint)
			}
			for _, part := range []string{c.Long, "exit code", "\nUsage:\n", "\nExamples:\n  # ", "\nFlags:\n", "\nGlobal Flags:\n"} {
				if !strings.Contains(answer, part) {
					t.Errorf("%q is missing in\n%s", part, answer)
				}
			}
		})
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		answer, complaint, code := run(t, "", "completion", shell)
		if code != cli.ExitYes || complaint != "" || !strings.Contains(answer, "rollouts-plugin-trafficrouter-glooplatform") {
			t.Errorf("%s: exit code %d with %q\n%s", shell, code, complaint, answer)
		}
	}
	for _, tt := range []struct {
		name, want string // after the colon, 4: no names of files
		args       []string
	}{
		{"outputs", "table\njson\nyaml\ndiff\n:4\n", []string{"preview", "-o", ""}},
		{"no files for a Rollout", ":4\n", []string{"restore", ""}},
		{"files for manifests", ":0\n", []string{"preview", "-f", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if answer, _, _ := run(t, "", append([]string{"__complete"}, tt.args...)...); answer != tt.want {
				t.Errorf("got\n%s\nwant\n%s", answer, tt.want)
			}
		})
	}
}

// Nothing is colored, in a terminal that could or elsewhere, so there is nothing for NO_COLOR to turn off.
func TestNoColor(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("CLICOLOR_FORCE", "1")
	for _, args := range [][]string{
		nil, {"--help"}, {"version"}, {"preview", "-f", testdata + "versions.yaml"}, {"preview", "-f", testdata + "everything.yaml", "-o", "diff"}, {"restore"},
	} {
		if answer, complaint, _ := run(t, "", args...); strings.Contains(answer+complaint, "\x1b") {
			t.Errorf("%q prints an escape sequence", args)
		}
	}
}
