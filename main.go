// Command rollouts-plugin-trafficrouter-glooplatform is a traffic router plugin of Argo Rollouts for Gloo Platform. The
// Rollouts controller starts it and calls it over hashicorp/go-plugin.
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/argoproj/argo-rollouts/rollout/trafficrouting/plugin/rpc"
	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/check"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/cli"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/kube"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/logs"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
)

func main() {
	err := command().Execute()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(cli.ExitCode(err))
}

func command() *cobra.Command {
	return commandOf(&plugin.Options{Name: plugin.NameFromPath(os.Args[0]), CallTime: 15 * time.Second})
}

// commandOf returns the command, which fills options in as its flags say.
func commandOf(options *plugin.Options) *cobra.Command {
	routes, controller := kube.Access{}, kube.Access{}
	limits, resync := kube.DefaultLimits, 5*time.Minute
	level, format, metricsAddress := "info", logs.Hclog, ""
	c := &cobra.Command{
		Use:   "rollouts-plugin-trafficrouter-glooplatform",
		Short: "Traffic router plugin of Argo Rollouts for Gloo Platform",
		Long: `A traffic router plugin of Argo Rollouts: it moves weight between a Rollout's stable and canary
destinations on the RouteTables of Gloo Platform and on routes of the Gateway API.

The Argo Rollouts controller starts it. Register it in ConfigMap argo-rollouts-config, under
trafficRouterPlugins, and put its flags there under args.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			if os.Getenv(handshake.MagicCookieKey) != handshake.MagicCookieValue {
				return fmt.Errorf("%s\n\n%s", c.Long, c.UsageString())
			}
			return service{*options, routes, controller, limits, resync, format, level, metricsAddress}.serve()
		},
	}
	flags := c.PersistentFlags()
	flags.StringVar(&options.Name, "name", options.Name,
		"name that the plugin is registered by, which is its block's name in Rollouts (default: as the path that the controller starts it by tells, else any of the known names)")
	flags.StringVar(&options.Bounds.Cluster, "cluster", "", "name of this cluster on tables that several clusters' Rollouts share, and in their destinations")
	flags.StringSliceVar(&options.Bounds.DestinationNamespaces, "destination-namespaces", nil, "namespaces in which Rollouts may name destinations of a kind other than SERVICE (default: any)")
	flags.StringSliceVar(&options.RouteNamespaces, "route-namespaces", nil, "namespaces in which Rollouts may name RouteTables and other routes (default: any)")
	flags.StringVar(&routes.Kubeconfig, "kubeconfig", "", "kubeconfig of the cluster that holds the RouteTables and other routes (default: the controller's cluster)")
	flags.StringVar(&routes.Context, "context", "", "context of that kubeconfig (default: its current one)")
	flags.StringVar(&controller.Kubeconfig, "controller-kubeconfig", "",
		"kubeconfig of the controller's cluster, which holds Rollouts, Services and Events (default: KUBECONFIG, else the pod's service account; for a person's commands, as --kubeconfig)")
	c.Flags().Float32Var(&limits.QPS, "kube-api-qps", limits.QPS, "requests a second, on average, that the plugin allows itself at an API server")
	c.Flags().IntVar(&limits.Burst, "kube-api-burst", limits.Burst, "requests that it allows itself at once")
	c.Flags().DurationVar(&resync, "resync", resync, "how often what the plugin remembers of RouteTables is compared with the API server, beside watching it")
	c.Flags().DurationVar(&options.CallTime, "call-timeout", options.CallTime, "how long a call of the controller may take, retries included")
	c.Flags().StringVar(&level, "log-level", level, "least level that is logged: trace, debug, info, warn or error")
	c.Flags().StringVar(&format, "log-format", format, "format of the log: hclog, which the controller shows level by level, text or json")
	c.Flags().StringVar(&metricsAddress, "metrics-address", metricsAddress, "address at which Prometheus metrics are served, such as :8092 (default: none are)")
	asked := func() cli.Plugin {
		if controller.Kubeconfig == "" { // as with kubectl, one flag says which cluster is meant
			controller, routes = routes, kube.Access{}
		}
		routes.Person, controller.Person = true, true
		return asked(*options, func() (kube.Clusters, error) { return kube.Connect(routes, controller, limits) })
	}
	c.AddCommand(cli.Preview(asked), cli.Check(asked), cli.Restore(asked), cli.Install(), cli.Version(), cli.Completion())
	return c
}

// asked returns the plugin as subcommands use it.
func asked(options plugin.Options, connect func() (kube.Clusters, error)) cli.Plugin {
	router, names := routerOf(options), plugin.Names
	if options.Name != "" {
		names = []string{options.Name}
	}
	var given []check.Plugin
	for _, name := range names {
		options.Name = name
		given = append(given, checked(options))
	}
	return cli.Plugin{
		Names:      names,
		Bounds:     options.Bounds,
		Connect:    connect,
		Targets:    options.Targets,
		APIs:       plugin.APIs(),
		Router:     router,
		Given:      given,
		Registered: registered,
	}
}

// routerOf returns what makes the plugin work on a cluster, silently.
func routerOf(options plugin.Options) func(engine.Cluster) rpc.TrafficRouterPlugin {
	return func(cluster engine.Cluster) rpc.TrafficRouterPlugin {
		options.Log = hclog.NewNullLogger()
		options.Connect = func() (plugin.Connection, error) { return plugin.Connection{Cluster: cluster}, nil }
		return plugin.NewRouter(options)
	}
}

// registered returns the plugin as the controller starts it, by an entry of its ConfigMap with this name and these args. It
// fails if the plugin would not start.
func registered(name string, args []string) (check.Plugin, error) {
	options := plugin.Options{Name: name}
	c := commandOf(&options)
	if err := c.ParseFlags(args); err != nil {
		return check.Plugin{}, err
	}
	if rest := c.Flags().Args(); len(rest) > 0 {
		return check.Plugin{}, fmt.Errorf("%s is no flag", rest[0])
	}
	if _, err := logs.New(io.Discard, c.Flag("log-format").Value.String(), c.Flag("log-level").Value.String()); err != nil {
		return check.Plugin{}, err
	}
	p := checked(options)
	p.Elsewhere = c.Flags().Changed("kubeconfig") || c.Flags().Changed("context")
	return p, nil
}

// checked returns the plugin as a check uses it.
func checked(options plugin.Options) check.Plugin {
	return check.Plugin{
		Name: options.Name, Bounds: options.Bounds, RouteNamespaces: options.RouteNamespaces,
		Targets: options.Targets, Router: routerOf(options),
	}
}
