package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/restore"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// restoration is one run of the command restore.
type restoration struct {
	plugin restore.Plugin
	// apis are all routing APIs.
	apis []engine.API
	// tables is the cluster that holds the RouteTables and other routes, and controller the one that holds the Rollout.
	tables, controller engine.Cluster
	// answers is where a person answers; nil: nobody is there.
	answers     io.Reader
	out, errOut io.Writer
	namespace   string
	name        string
	tableSpace  string
	yes, dry    bool
	force       bool
	intent      intent.Intent
	targets     []engine.Target
	engine      *engine.Engine
}

// Restore returns the command that puts what a Rollout holds at rest.
func Restore(plugin func() Plugin) *cobra.Command {
	r := restoration{}
	c := &cobra.Command{
		Use:   "restore ROLLOUT",
		Short: "Put the routes of a Rollout at rest, which need not exist any more",
		Long: `Put the RouteTables of a Rollout, and its routes of the Gateway API, at rest: all weight to stable as it was given before
the release, and no header routes, mirror routes and MirrorPolicies of it. The Rollout need not exist any more: what those
remember of it is enough. What belongs to other Rollouts, and whatever else others changed, stays.

The differences are shown on stdout. They are applied when that is answered with y, or at once with --yes; an object that is
another by then is left as it is. While the Rollout is in the middle of a release the controller would move the weight back,
so that is refused.

The exit code is 0 if all is at rest, or --dry-run has shown what is not; 1 if something is not at rest in the end; 2 if the
command was not understood.`,
		Example: `  # look at what is left of a Rollout that was deleted in the middle of a release
  rollouts-plugin-trafficrouter-glooplatform restore demo -n gloo-rollout-demo --dry-run

  # put it at rest, without being asked
  rollouts-plugin-trafficrouter-glooplatform restore demo -n gloo-rollout-demo --yes

  # where only those of one namespace may be listed
  rollouts-plugin-trafficrouter-glooplatform restore demo -n gloo-rollout-demo --table-namespace gloo-mesh`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			p := plugin()
			clusters, err := p.Connect()
			if err != nil {
				return no{err}
			}
			r.plugin = restore.Plugin{Names: p.Names, Bounds: p.Bounds, Targets: p.Targets}
			r.apis = p.APIs
			r.tables, r.controller = clusters, clusters.Controller
			r.answers, r.out, r.errOut = terminal(c.InOrStdin()), c.OutOrStdout(), c.ErrOrStderr()
			r.name = args[0]
			return r.run(c.Context())
		},
	}
	c.Flags().StringVarP(&r.namespace, "namespace", "n", "default", "namespace of the Rollout")
	c.Flags().StringVar(&r.tableSpace, "table-namespace", "", "namespace of the RouteTables and other routes that are looked at (default: any)")
	c.Flags().BoolVarP(&r.yes, "yes", "y", false, "apply the differences without asking")
	c.Flags().BoolVar(&r.dry, "dry-run", false, "only show the differences")
	c.Flags().BoolVar(&r.force, "force", false, "also where the Rollout is in the middle of a release, or cannot be read")
	c.MarkFlagsMutuallyExclusive("yes", "dry-run")
	return c
}

// terminal returns a reader if it is a terminal, at which a person can be asked, and else nil.
func terminal(in io.Reader) io.Reader {
	if file, isFile := in.(*os.File); isFile && term.IsTerminal(int(file.Fd())) {
		return in
	}
	return nil
}

func (r *restoration) run(ctx context.Context) error {
	r.engine = engine.New(r.tables, hclog.NewNullLogger())
	if err := r.want(ctx); err != nil {
		return no{err}
	}
	rests, unseen, err := r.held(ctx)
	for _, rest := range rests {
		diff, err := restore.Diff(rest)
		if err != nil {
			return no{err}
		}
		fmt.Fprint(r.out, diff)
	}
	switch {
	case len(rests) == 0 && r.tableSpace == "" && apierrors.IsForbidden(err):
		return no{fmt.Errorf("%w; name a namespace in which they may be listed by --table-namespace", err)}
	case len(rests) == 0 && err != nil:
		return no{err}
	case len(rests) == 0:
		fmt.Fprintf(r.errOut, "Nothing to do: no table or route holds anything of Rollout %s%s.\n", r.intent.Owner, r.remembered(ctx))
		r.tellUnseen(unseen)
		return nil
	case r.dry:
		r.tellUnseen(unseen)
		return denied(err)
	}
	r.tellUnseen(unseen)
	if refusal := r.ask(); refusal != nil {
		return no{errors.Join(err, refusal)}
	}
	return denied(errors.Join(err, r.apply(ctx, rests)))
}

// denied makes an error one by which the answer is no.
func denied(err error) error {
	if err == nil {
		return nil
	}
	return no{err}
}

// want finds out what is to be put at rest. It fails where that would not last.
func (r *restoration) want(ctx context.Context) error {
	r.intent = intent.OfGone(r.namespace, r.name, r.plugin.Bounds.Cluster)
	ro, err := rolloutOf(ctx, r.controller, r.namespace, r.name)
	switch {
	case apierrors.IsNotFound(err) && !errors.Is(err, engine.ErrUnserved):
		return nil
	case err != nil && r.force:
		fmt.Fprintf(r.errOut, "%v; it is taken to be gone.\n", err)
		return nil
	case err != nil:
		return fmt.Errorf("%w; it might be in the middle of a release: name its cluster by --controller-kubeconfig, or give --force if it is gone", err)
	}
	if activity := restore.UnderWay(ro); activity != "" {
		if err := r.mayInterfere(ro, activity); err != nil {
			return err
		}
	}
	var misfit error
	if r.intent, r.targets, misfit = r.plugin.Wanted(ro); misfit != nil {
		fmt.Fprintf(r.errOut, "Rollout %s/%s: %v; so only what tables remember of it is looked at.\n", ro.Namespace, ro.Name, misfit)
	}
	return nil
}

// mayInterfere fails if the controller would move the weight back, and nobody said that it does not matter.
func (r *restoration) mayInterfere(ro *v1alpha1.Rollout, activity string) error {
	text := fmt.Sprintf("Rollout %s/%s is %s, and its controller would soon move the weight back", ro.Namespace, ro.Name, activity)
	if r.dry || r.force {
		fmt.Fprintln(r.errOut, text+".")
		return nil
	}
	return fmt.Errorf("%s; abort it (kubectl argo rollouts abort %s -n %s) or let it finish, or give --force if there is no controller any more", text, ro.Name, ro.Namespace)
}

// ask returns nil if the differences are to be applied.
func (r *restoration) ask() error {
	if r.yes {
		return nil
	}
	if r.answers == nil {
		return errors.New("nothing was changed: there is no terminal to ask at; give --yes to apply the differences")
	}
	fmt.Fprint(r.errOut, "Apply? [y/N] ")
	answer, err := bufio.NewReader(r.answers).ReadString('\n')
	if err != nil {
		fmt.Fprintln(r.errOut) // the line that was not ended
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}

// apply does what was shown, and says what was done.
func (r *restoration) apply(ctx context.Context, rests []engine.Rest) error {
	var faults []error
	for _, rest := range rests {
		if err := r.engine.PutAtRest(ctx, r.intent, rest); err != nil {
			faults = append(faults, err)
			continue
		}
		fmt.Fprintf(r.errOut, "%s: at rest\n", rest.Object())
	}
	fmt.Fprintf(r.errOut, "%d of %d objects put at rest\n", len(rests)-len(faults), len(rests))
	return errors.Join(faults...)
}
