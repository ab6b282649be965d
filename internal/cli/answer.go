// Package cli is what the binary does when a person starts it: its subcommands. Answers go to stdout and all else to
// stderr.
package cli

import "errors"

// Codes with which the process exits: all is well; the answer is no; the command was not understood.
const (
	ExitYes = iota
	ExitNo
	ExitUsage
)

// no is an error that says no to a question that was understood.
type no struct{ error }

func (n no) Unwrap() error { return n.error }

// ExitCode returns with what the process is to exit after an error of a command.
func ExitCode(err error) int {
	switch answer := (no{}); {
	case err == nil:
		return ExitYes
	case errors.As(err, &answer):
		return ExitNo
	default:
		return ExitUsage
	}
}
