// Command bench measures the plugin as the Argo Rollouts controller uses it: its binary, started and called over RPC, on a
// real API server with a thousand RouteTables. It prints a table and writes it as JSON. It is what `make bench` runs.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/proxy"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

func main() {
	binary := flag.String("plugin", "bin/rollouts-plugin-trafficrouter-glooplatform", "the plugin's binary")
	out := flag.String("json", "bin/bench.json", "where the results are written as JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *binary, *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures every case on a cluster of its own and prints what it finds.
func run(ctx context.Context, binary, out string) (err error) {
	bed, err := testbed.Start(ctx, testbed.Options{APIOnly: true, Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Stop()) }()
	between, err := proxy.Start(bed.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, between.Refuse()) }()
	kubeconfig := filepath.Join(bed.Dir, "proxy")
	if err := between.Kubeconfig(kubeconfig); err != nil {
		return err
	}
	if err := populate(ctx, bed); err != nil {
		return err
	}
	report := Report{Machine: fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())}
	if info, err := os.Stat(binary); err == nil {
		report.BinaryMB = float64(info.Size()) / 1e6
	}
	for _, c := range cases {
		fmt.Fprintf(os.Stderr, "measuring %s\n", c.name)
		result, err := measure(ctx, binary, kubeconfig, between, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		report.Results = append(report.Results, result)
	}
	report.print(os.Stdout)
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(data, '\n'), 0o600)
}
