package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// argoRollouts is the module whose plugin interface is served.
const argoRollouts = "github.com/argoproj/argo-rollouts"

// Version returns the command that says what this binary is.
func Version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary, and of what it was built from",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			info, found := debug.ReadBuildInfo()
			if !found {
				return no{fmt.Errorf("this binary does not say what it was built from")}
			}
			fmt.Fprint(c.OutOrStdout(), versionText(info))
			return nil
		},
	}
}

// versionText lists the version, the commit, and the Go release and Argo Rollouts library that the binary was built with.
func versionText(info *debug.BuildInfo) string {
	commit, modified := "unknown", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			commit = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			modified = " and changes"
		}
	}
	library := "unknown"
	for _, module := range info.Deps {
		if module.Path == argoRollouts {
			library = module.Version
		}
	}
	return fmt.Sprintf("Version:        %s\nCommit:         %s%s\nGo:             %s\nArgo Rollouts:  %s\n", info.Main.Version, commit, modified, info.GoVersion, library)
}
