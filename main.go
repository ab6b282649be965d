// Command rollouts-plugin-trafficrouter-glooplatform is a traffic router plugin of Argo Rollouts for Gloo Platform. The
// Rollouts controller starts it and calls it over hashicorp/go-plugin.
package main

import (
	"fmt"
	"os"

	"github.com/argoproj/argo-rollouts/rollout/trafficrouting/plugin/rpc"
	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/spf13/cobra"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/cli"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/kube"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
)

// handshake is what the controller and its traffic routers agree on.
var handshake = goplugin.HandshakeConfig{
	ProtocolVersion:  1,
	MagicCookieKey:   "ARGO_ROLLOUTS_RPC_PLUGIN",
	MagicCookieValue: "trafficrouter",
}

func main() {
	err := command().Execute()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(cli.ExitCode(err))
}

func command() *cobra.Command {
	options := plugin.Options{Name: plugin.NameFromPath(os.Args[0])}
	level := "info"
	c := &cobra.Command{
		Use:   "rollouts-plugin-trafficrouter-glooplatform",
		Short: "Traffic router plugin of Argo Rollouts for Gloo Platform",
		Long: `A traffic router plugin of Argo Rollouts: it moves weight between a Rollout's stable and canary
destinations on the RouteTables of Gloo Platform.

The Argo Rollouts controller starts it. Register it in ConfigMap argo-rollouts-config, under
trafficRouterPlugins, and put its flags there under args.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			if os.Getenv(handshake.MagicCookieKey) != handshake.MagicCookieValue {
				return fmt.Errorf("%s\n\n%s", c.Long, c.UsageString())
			}
			return serve(options, level)
		},
	}
	flags := c.PersistentFlags()
	flags.StringVar(&options.Name, "name", options.Name,
		"name that the plugin is registered by, which is its block's name in Rollouts (default: as the path that the controller starts it by tells, else any of the known names)")
	flags.StringVar(&options.Bounds.Cluster, "cluster", "", "name of this cluster on tables that several clusters' Rollouts share, and in their destinations")
	flags.StringSliceVar(&options.Bounds.DestinationNamespaces, "destination-namespaces", nil, "namespaces in which Rollouts may name destinations of a kind other than SERVICE (default: any)")
	flags.StringSliceVar(&options.RouteNamespaces, "route-namespaces", nil, "namespaces in which Rollouts may name RouteTables (default: any)")
	c.Flags().StringVar(&level, "log-level", level, "least level that is logged: trace, debug, info, warn or error")
	c.AddCommand(cli.Preview(func() cli.Plugin { return asked(options) }), cli.Version())
	return c
}

// asked returns the plugin as subcommands use it.
func asked(options plugin.Options) cli.Plugin {
	names := plugin.Names
	if options.Name != "" {
		names = []string{options.Name}
	}
	return cli.Plugin{
		Names:   names,
		Bounds:  options.Bounds,
		Connect: client,
		Router: func(cluster engine.Cluster) rpc.TrafficRouterPlugin {
			options.Log = hclog.NewNullLogger()
			options.Connect = func() (plugin.Connection, error) { return plugin.Connection{Cluster: cluster}, nil }
			return plugin.NewRouter(options)
		},
	}
}

// client returns a client of the cluster that this process is to use. It sends nothing yet.
func client() (*kube.Client, error) {
	config, err := kube.Config()
	if err != nil {
		return nil, err
	}
	return kube.NewClient(config)
}

// serve answers the controller until it goes away.
func serve(options plugin.Options, level string) error {
	if hclog.LevelFromString(level) == hclog.NoLevel {
		return fmt.Errorf("--log-level %s: want trace, debug, info, warn or error", level)
	}
	options.Log = hclog.New(&hclog.LoggerOptions{Level: hclog.LevelFromString(level), Output: os.Stderr, JSONFormat: true})
	options.Connect = func() (plugin.Connection, error) {
		client, err := client()
		if err != nil {
			return plugin.Connection{}, err
		}
		return plugin.Connection{Cluster: client, Events: client.Events()}, nil
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: handshake,
		Plugins:         goplugin.PluginSet{"RpcTrafficRouterPlugin": &rpc.RpcTrafficRouterPlugin{Impl: plugin.NewRouter(options)}},
		Logger:          options.Log,
	})
	return nil
}
