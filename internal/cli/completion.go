package cli

import (
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"
)

// scripts are what writes the completion script of each shell.
var scripts = map[string]func(root *cobra.Command, w io.Writer) error{
	"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
	"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
	"powershell": func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
	"zsh":        func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
}

// Completion returns the command that prints completion scripts. It stands in place of cobra's, which answers an unknown shell with
// its help, as if that were a script, and with exit code 0.
func Completion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|fish|powershell|zsh",
		Short: "Print the script by which a shell completes commands and flags",
		Long: `Print the script by which a shell completes this binary's commands and flags. The exit code is 0, or 2 if the command
was not understood.`,
		Example: `  # in the shell that runs
  source <(rollouts-plugin-trafficrouter-glooplatform completion bash)

  # in every shell from now on
  rollouts-plugin-trafficrouter-glooplatform completion fish > ~/.config/fish/completions/rollouts-plugin-trafficrouter-glooplatform.fish`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: slices.Sorted(maps.Keys(scripts)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := scripts[args[0]](c.Root(), c.OutOrStdout()); err != nil {
				return no{err}
			}
			return nil
		},
	}
}
