package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// Binary is what this program's file is called, wherever it is released or put.
const Binary = "rollouts-plugin-trafficrouter-glooplatform"

// Install returns the command that puts this binary into a folder. It is for init containers, whose image holds nothing
// that could copy a file.
func Install() *cobra.Command {
	return &cobra.Command{
		Use:   "install FOLDER",
		Short: "Put this binary into a folder, as an init container does",
		Long: `Put a copy of this binary into a folder, as ` + Binary + `, which everybody may run.
One that is there already is replaced in one step, also while it runs. The path is printed.

The image holds this binary and nothing else, so an init container has no other way to hand it to the
Argo Rollouts controller: let both mount an emptyDir, and name file:// and the path as the plugin's location.
The exit code is 0; 1 if it cannot be put there; 2 if the command was not understood.`,
		Example: `  # in an init container
  ` + Binary + ` install /plugins`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			self, err := os.Executable()
			if err != nil {
				return no{err}
			}
			path, err := install(self, args[0])
			if err != nil {
				return no{err}
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), path)
			return err
		},
	}
}

// install copies a program into a folder, which must be there, and returns the copy's path. If it fails, the folder is as it
// was.
func install(program, folder string) (path string, err error) {
	from, err := os.Open(program)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	draft, err := os.CreateTemp(folder, "."+Binary+"-")
	if err != nil {
		return "", err
	}
	path = filepath.Join(folder, Binary)
	_, copied := io.Copy(draft, from)
	err = errors.Join(copied, draft.Chmod(0o755), draft.Close())
	if err == nil {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(draft.Name()))
	}
	return path, nil
}
