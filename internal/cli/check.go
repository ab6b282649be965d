package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/check"
)

// Check returns the command that finds out whether the plugin can do its work in a cluster.
func Check(plugin func() Plugin) *cobra.Command {
	options, output := check.Options{}, ""
	c := &cobra.Command{
		Use:   "check",
		Short: "Find out whether the plugin can do its work in a cluster, and why not",
		Long: `Find out whether the plugin can do its work in a cluster, and why not: its registration in ConfigMap
argo-rollouts-config, custom resource definitions, the rights of the controller's service account, and every Rollout that
uses the plugin, with its RouteTables, other routes and Services. Nothing is written.

One line says what was found of one thing, and what to do about it, after a mark: ok; note, for what nobody may expect; warn,
for what works worse than it could or could not be looked at; fail, for what does not work.

The exit code is 0 if nothing fails, 1 if something does, 2 if the command was not understood.`,
		Example: `  # the cluster that KUBECONFIG names
  rollouts-plugin-trafficrouter-glooplatform check

  # the Rollouts of one namespace, for a program
  rollouts-plugin-trafficrouter-glooplatform check -n gloo-rollout-demo -o json

  # RouteTables in another cluster
  rollouts-plugin-trafficrouter-glooplatform check --kubeconfig gloo.yaml --controller-kubeconfig west.yaml`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			return runCheck(c, plugin(), options, output)
		},
	}
	c.Flags().StringVarP(&options.Namespace, "namespace", "n", "", "namespace of the Rollouts that are looked at (default: all)")
	c.Flags().StringVar(&options.ControllerNamespace, "controller-namespace", "argo-rollouts", "namespace of the Argo Rollouts controller and its ConfigMap")
	c.Flags().StringVar(&options.ServiceAccount, "service-account", "argo-rollouts", "service account of the Argo Rollouts controller, as which the plugin acts")
	addOutput(c, &output, []string{"text", "json"}, "")
	return c
}

func runCheck(c *cobra.Command, plugin Plugin, options check.Options, output string) error {
	connected, err := plugin.Connect()
	if err != nil {
		return no{err}
	}
	clusters := check.Clusters{Tables: connected.Client, Controller: connected.Controller, Apart: connected.Client != connected.Controller}
	options.Names, options.Given, options.Registered, options.Self, options.APIs = plugin.Names, plugin.Given, plugin.Registered, self(), plugin.APIs
	report := check.Run(c.Context(), clusters, options)
	if output == "json" {
		err = report.PrintJSON(c.OutOrStdout())
	} else {
		err = report.PrintText(c.OutOrStdout())
	}
	switch {
	case err != nil:
		return no{err}
	case report.Wrong():
		return no{errors.New("something is wrong")}
	default:
		return nil
	}
}

// self returns what is known of this binary.
func self() check.Self {
	me := check.Self{OS: runtime.GOOS, Arch: runtime.GOARCH}
	path, err := os.Executable()
	if err != nil {
		return me
	}
	if data, err := os.ReadFile(path); err == nil {
		me.Sha256 = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return me
}
