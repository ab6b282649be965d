// Command demo shows a canary release on a RouteTable from beginning to end: the real Argo Rollouts controller and the
// plugin in the test bed, the objects of examples/, a gateway that serves the table, and requests that are counted. It is
// what `make demo` runs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const (
	exitFailed      = 1
	exitWrongUse    = 2
	exitInterrupted = 130 // as a shell reports Ctrl-C
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	o := options{}
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.StringVar(&o.plugin, "plugin", "bin/rollouts-plugin-trafficrouter-glooplatform", "the plugin's binary")
	flags.StringVar(&o.addr, "addr", "127.0.0.1:0", "where the gateway listens; port 0 is any that is free")
	flags.IntVar(&o.requests, "requests", 2000, "how many requests are counted at each step; at least 1000")
	flags.BoolVar(&o.keep, "keep", false, "stay up after the release until Ctrl-C, print the kubeconfig, and show what changes")
	if err := flags.Parse(args); err != nil {
		return exitWrongUse
	}
	if flags.NArg() > 0 || o.requests < minRequests {
		fmt.Fprintf(flags.Output(), "demo: no arguments, and -requests %d or more\n", minRequests)
		return exitWrongUse
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	screen := newScreen(os.Stdout)
	err := play(ctx, screen, o)
	switch interrupted := ctx.Err() != nil; {
	case err == nil:
		return 0
	case errors.Is(err, errStopped), interrupted && o.keep && errors.Is(err, context.Canceled):
		return 0
	case interrupted:
		fmt.Fprintln(os.Stderr, "demo: interrupted; nothing is left running")
		return exitInterrupted
	default:
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		return exitFailed
	}
}
