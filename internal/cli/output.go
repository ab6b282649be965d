package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// addOutput adds the flag -o, whose value is one of outputs, the first unless it is given. What it means may take more words
// than the outputs' names. A command with another value does not run.
func addOutput(c *cobra.Command, value *string, outputs []string, meaning string) {
	usage := "one of " + strings.Join(outputs, ", ")
	if meaning != "" {
		usage += ": " + meaning
	}
	c.Flags().VarP(&choice{value, outputs}, "output", "o", usage)
	*value = outputs[0]
	if err := c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag was added above, and once
	}
}

// choice is a flag that takes one of some words.
type choice struct {
	value *string
	words []string
}

func (c choice) String() string { return *c.value }

func (c choice) Type() string { return "string" }

func (c choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return fmt.Errorf("want one of %s", strings.Join(c.words, ", "))
	}
	*c.value = word
	return nil
}
