package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/preview"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/restore"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// leftByUse says what a Rollout that uses the plugin holds and should not: anything, while it has no release under way, and
// anything on an object that it selects no more.
func leftByUse(ctx context.Context, u use, all source) []Finding {
	if u.fault != nil || !all.sees(u) {
		return nil
	}
	object := rolloutName(u.ro)
	if restore.UnderWay(u.ro) != "" {
		var findings []Finding
		for _, o := range all.objects {
			if !u.selects(o) && slices.Contains(engine.Owners(o.Object), u.in.Owner) {
				findings = append(findings, Finding{Warn, object, o.String() + " is selected no more, and holds something of it",
					"its next step puts that at rest; if it stays, " + cureOf(u.ro.Namespace, u.ro.Name)})
			}
		}
		return findings
	}
	in := u.in.WithHashes(intent.StatusHashes(u.ro))
	var findings []Finding
	for _, rest := range atRest(ctx, in, u.targets, all.narrowed(u)) {
		findings = append(findings, Finding{Fail, object, rest.Object() + " is not at rest, and no release is under way", cureOf(u.ro.Namespace, u.ro.Name)})
	}
	return findings
}

// leftByOthers says what tables remember of Rollouts that do not use the plugin any more, or do not exist. Namespace is the
// one that is looked at; empty: all. Clusters are the names by which this one is known.
func leftByOthers(ctx context.Context, uses []use, rollouts []*v1alpha1.Rollout, all source, namespace string, clusters []string) []Finding {
	var owners []string
	for _, o := range all.objects {
		owners = append(owners, engine.Owners(o.Object)...)
	}
	slices.Sort(owners)
	var findings []Finding
	for _, owner := range slices.Compact(owners) {
		cluster, ns, name := parseOwner(owner)
		switch {
		case slices.ContainsFunc(uses, func(u use) bool { return u.in.Owner == owner }), namespace != "" && ns != namespace:
		case !slices.Contains(clusters, cluster):
			findings = append(findings, Finding{Note, "Rollout " + owner, "tables hold something of it, and its cluster is not looked at here", ""})
		default:
			state := "it does not exist any more"
			if slices.ContainsFunc(rollouts, func(ro *v1alpha1.Rollout) bool { return ro.Namespace == ns && ro.Name == name }) {
				state = "it does not use the plugin any more, or not as it stands"
			}
			for _, rest := range atRest(ctx, intent.OfGone(ns, name, cluster), nil, all) {
				findings = append(findings, Finding{Fail, "Rollout " + ns + "/" + name, fmt.Sprintf("%s, and %s holds what it left", state, rest.Object()), cureOf(ns, name)})
			}
		}
	}
	return findings
}

// atRest returns what would have to be put at rest.
func atRest(ctx context.Context, in intent.Intent, targets []engine.Target, s source) []engine.Rest {
	e := engine.New(preview.NewCluster(s), hclog.NewNullLogger())
	var all []engine.Rest
	for _, api := range s.apis() {
		// an object for which there is no plan is spoken of by the release that is played, and by restore
		rests, _ := e.PlanRest(ctx, api, in, "", targets)
		all = append(all, rests...)
	}
	return all
}

// parseOwner takes the name apart by which a table remembers a Rollout.
func parseOwner(owner string) (cluster, namespace, name string) {
	parts := strings.Split(owner, "/")
	name = parts[len(parts)-1]
	if len(parts) > 1 {
		namespace = parts[len(parts)-2]
	}
	return strings.Join(parts[:max(0, len(parts)-2)], "/"), namespace, name
}

// cureOf is how a person puts at rest what a Rollout left.
func cureOf(namespace, name string) string {
	return fmt.Sprintf("%s restore %s -n %s", Binary, name, namespace)
}
