// Package faults holds no code: its tests let the plugin release through a network, an API server and a machine that fail it,
// while a person works on the same tables. A witness reads the tables at the API server itself, past all faults. In each: no
// edit is lost, no weight is served that was not asked for, and at the end every table is as people wrote it.
package faults

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

var long = flag.Bool("long", false, "ten times as much of everything, and a table of the results")

var (
	bed    *testbed.Bed
	binary string // the plugin
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait for faults to be over most of the time, so more of them than there are processors run at once.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	os.Exit(testbed.RunWithPlugin(testbed.Options{APIOnly: true}, func(b *testbed.Bed, plugin string) int {
		bed, binary = b, plugin
		code := m.Run()
		if *long {
			fmt.Print(outcomes.table())
		}
		return code
	}))
}

// size is how much of something there is to be: less, where all tests are run.
func size[T any](short, inLongRun T) T {
	if *long {
		return inLongRun
	}
	return short
}
