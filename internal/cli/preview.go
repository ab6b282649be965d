package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/rollout/trafficrouting/plugin/rpc"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/check"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/preview"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/restore"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/kube"
)

// Plugin is the plugin as its flags say it is.
type Plugin struct {
	// Router returns the plugin at work on a cluster.
	Router func(engine.Cluster) rpc.TrafficRouterPlugin
	// Names are those under which its block may stand.
	Names []string
	// Bounds limits what a Rollout may ask for.
	Bounds intent.Bounds
	// Targets returns the objects that a Rollout's block selects.
	Targets func(*v1alpha1.Rollout, *config.Config) ([]engine.Target, error)
	// APIs are all routing APIs of whose objects a Rollout may select some.
	APIs []engine.API
	// Connect returns clients of the clusters that the flags name. Nothing is sent yet.
	Connect func() (kube.Clusters, error)
	// Given are the plugin under each of Names, and Registered returns it as the controller starts it by an entry with this name and these args.
	Given      []check.Plugin
	Registered func(name string, args []string) (check.Plugin, error)
}

// rollouts is where the API server keeps Rollouts.
var rollouts = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"}

type previewFlags struct {
	files     []string
	namespace string
	output    string
}

// Preview returns the command that shows what a release would do. The plugin is asked for when the flags are known.
func Preview(plugin func() Plugin) *cobra.Command {
	flags := previewFlags{}
	c := &cobra.Command{
		Use:   "preview [ROLLOUT]",
		Short: "Show what each step of a Rollout would do to its routes",
		Long: `Show what each step of a Rollout would do to its routes: the plugin does it to copies in memory, from rest to
rest. Nothing is written. A step that the plugin would refuse shows its error.

The exit code is 0 if every step would be done; 1 if one would be refused, or the question cannot be answered; 2 if the command
was not understood.`,
		Example: `  # from files: the Rollout, its RouteTables or HTTPRoutes and, to have them checked, its Services
  rollouts-plugin-trafficrouter-glooplatform preview -f examples/

  # from the cluster, as differences from step to step
  rollouts-plugin-trafficrouter-glooplatform preview demo -n gloo-rollout-demo -o diff`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			name := strings.Join(args, "")
			if name == "" && len(flags.files) == 0 {
				return errors.New("name a Rollout, or give files with -f")
			}
			return runPreview(c, plugin(), flags, name)
		},
	}
	c.Flags().StringSliceVarP(&flags.files, "filename", "f", nil, "files or folders with the Rollout, its RouteTables or other routes and Services; - for stdin (default: the cluster)")
	c.Flags().StringVarP(&flags.namespace, "namespace", "n", "default", "namespace of the Rollout, and of objects in files that name none")
	addOutput(c, &flags.output, []string{"table", "json", "yaml", "diff"}, "yaml shows the objects after each step, diff what changes between steps")
	return c
}

func runPreview(c *cobra.Command, plugin Plugin, flags previewFlags, name string) error {
	ro, source, err := previewed(c, plugin, flags, name)
	if err != nil {
		return no{err}
	}
	cluster := preview.NewCluster(source)
	// what cannot be understood, the plugin refuses at the first moment
	_, _, targets, _ := restore.Plugin{Names: plugin.Names, Bounds: plugin.Bounds, Targets: plugin.Targets}.Understand(ro)
	moments, err := preview.Play(c.Context(), plugin.Router(cluster), cluster, ro, targets)
	if err != nil {
		return no{err}
	}
	report := preview.NewReport(moments, plugin.Names, plugin.Bounds, targets)
	if files, isFiles := source.(*preview.Files); isFiles && files.AssumesServices() {
		report.Notes = append(report.Notes, "no Services were given, so all are taken to exist")
	}
	if err := printPreview(c.OutOrStdout(), flags.output, report, moments); err != nil {
		return no{err}
	}
	if report.Refused() {
		return no{errors.New("the plugin would refuse a step")}
	}
	return nil
}

func printPreview(w io.Writer, output string, report preview.Report, moments []preview.Moment) error {
	switch output {
	case "json":
		return report.PrintJSON(w)
	case "yaml":
		return preview.PrintYAML(w, moments)
	case "diff":
		return preview.PrintDiff(w, moments)
	default:
		return report.PrintTable(w)
	}
}

// previewed returns the Rollout, and where the rest is to be found.
func previewed(c *cobra.Command, plugin Plugin, flags previewFlags, name string) (*v1alpha1.Rollout, preview.Source, error) {
	if len(flags.files) == 0 {
		clusters, err := plugin.Connect()
		if err != nil {
			return nil, nil, err
		}
		ro, err := rolloutOf(c.Context(), clusters.Controller, flags.namespace, name)
		return ro, clusters, err
	}
	files := &preview.Files{Namespace: flags.namespace}
	for _, path := range flags.files {
		if err := read(files, path, c.InOrStdin()); err != nil {
			return nil, nil, err
		}
	}
	ro, err := choose(files.Rollouts, name)
	return ro, files, err
}

func rolloutOf(ctx context.Context, client engine.Cluster, namespace, name string) (*v1alpha1.Rollout, error) {
	o, err := client.Get(ctx, rollouts, namespace, name)
	if err != nil {
		return nil, fmt.Errorf("Rollout %s/%s: %w", namespace, name, err)
	}
	ro := &v1alpha1.Rollout{}
	if err := json.Unmarshal(o.JSON, ro); err != nil {
		return nil, fmt.Errorf("Rollout %s/%s: %w", namespace, name, err)
	}
	return ro, nil
}

// choose returns the Rollout with a name, or the only one.
func choose(rollouts []*v1alpha1.Rollout, name string) (*v1alpha1.Rollout, error) {
	var names []string
	var found []*v1alpha1.Rollout
	for _, ro := range rollouts {
		names = append(names, ro.Name)
		if name == "" || name == ro.Name {
			found = append(found, ro)
		}
	}
	switch {
	case len(names) == 0:
		return nil, errors.New("the files hold no Rollout")
	case len(found) == 0:
		return nil, fmt.Errorf("the files hold no Rollout %s, only %s", name, strings.Join(names, ", "))
	case len(found) > 1:
		return nil, fmt.Errorf("the files hold Rollouts %s; name one", strings.Join(names, ", "))
	}
	return found[0], nil
}

// read adds the objects of a file, of the YAML and JSON files of a folder, or of stdin.
func read(files *preview.Files, path string, stdin io.Reader) error {
	if path == "-" {
		return files.Read("stdin", stdin)
	}
	paths := []string{path}
	if info, err := os.Stat(path); err != nil {
		return err
	} else if info.IsDir() {
		if paths, err = manifests(path); err != nil {
			return err
		}
	}
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		err = files.Read(path, file)
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// manifests returns the files of a folder, not of those below it, that hold objects, as kubectl apply -f takes them.
func manifests(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	var paths []string
	for _, entry := range entries {
		if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) && !entry.IsDir() {
			paths = append(paths, filepath.Join(folder, entry.Name()))
		}
	}
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s holds no .yaml, .yml or .json files", folder)
	}
	return paths, err
}
