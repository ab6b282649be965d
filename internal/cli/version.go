package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version and commit are what the linker was told by -X, as the Makefile does. Empty: nothing.
var version, commit string

// argoRollouts is the module whose plugin interface is served.
const argoRollouts = "github.com/argoproj/argo-rollouts"

// unknown stands for what a binary does not say of itself.
const unknown = "unknown"

// Build is what a binary says of itself; what it does not say is "unknown".
type Build struct {
	// Version is the release, or what git makes of a commit after one.
	Version string `json:"version"`
	// Commit is what the binary was built from, with "-dirty" after it if that was changed.
	Commit string `json:"commit"`
	// Go is the Go release that it was built by.
	Go string `json:"go"`
	// ArgoRollouts is the release of Argo Rollouts whose plugin interface it serves.
	ArgoRollouts string `json:"argoRollouts"`
}

// Version returns the command that says what this binary is.
func Version() *cobra.Command {
	output := ""
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary, and of what it was built from",
		Long: `Print the version of this binary, the commit that it was built from, and the releases of Go and Argo Rollouts that
it was built with. No cluster is asked. The exit code is 0, or 2 if the command was not understood.`,
		Example: `  # for a person
  rollouts-plugin-trafficrouter-glooplatform version

  # for a program
  rollouts-plugin-trafficrouter-glooplatform version -o json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			return printBuild(c.OutOrStdout(), output, ThisBuild())
		},
	}
	addOutput(c, &output, []string{"text", "json"}, "")
	return c
}

// ThisBuild returns what this binary says of itself.
func ThisBuild() Build {
	info, found := debug.ReadBuildInfo()
	if !found {
		info = &debug.BuildInfo{}
	}
	return buildOf(version, commit, info)
}

// buildOf returns what the linker was told or, where that is nothing, what the Go toolchain noted.
func buildOf(version, commit string, info *debug.BuildInfo) Build {
	noted, modified := "", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			noted = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			modified = "-dirty"
		}
	}
	if noted != "" {
		noted += modified
	}
	if info.Main.Version != "(devel)" { // which is the toolchain's word for unknown
		version = cmp.Or(version, info.Main.Version)
	}
	b := Build{Version: cmp.Or(version, unknown), Commit: cmp.Or(commit, noted, unknown), Go: cmp.Or(info.GoVersion, unknown), ArgoRollouts: unknown}
	for _, module := range info.Deps {
		if module.Path == argoRollouts {
			b.ArgoRollouts = module.Version
		}
	}
	return b
}

func printBuild(w io.Writer, output string, b Build) error {
	if output == "json" {
		return printJSON(w, b)
	}
	_, err := fmt.Fprintf(w, "Version:        %s\nCommit:         %s\nGo:             %s\nArgo Rollouts:  %s\n", b.Version, b.Commit, b.Go, b.ArgoRollouts)
	return err
}

// printJSON writes a value as JSON that a person can read too.
func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
