package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
)

// held returns what is to be put at rest on objects of all routing APIs. Of kinds that the Rollout's block does not name, those that
// are not there hold nothing, and those that may not be listed are unseen.
func (r *restoration) held(ctx context.Context) (rests []engine.Rest, unseen []string, err error) {
	var faults, unserved []error
	for _, api := range r.apis {
		found, err := r.engine.PlanRest(ctx, api, r.intent, r.tableSpace, r.targets)
		rests = append(rests, found...)
		switch {
		case err == nil:
		case errors.Is(err, engine.ErrUnserved) && !r.names(api):
			unserved = append(unserved, err)
		case apierrors.IsForbidden(err) && len(found) == 0 && !r.names(api) && !r.isGloos(api):
			unseen = append(unseen, api.Kind()+"s")
		default:
			faults = append(faults, err)
		}
	}
	if len(unserved) == len(r.apis) {
		faults = unserved[:1]
	}
	return rests, unseen, errors.Join(faults...)
}

// names reports whether the Rollout's block selects objects of a routing API.
func (r *restoration) names(api engine.API) bool {
	return slices.ContainsFunc(r.targets, func(t engine.Target) bool { return t.API == api })
}

// isGloos reports whether a routing API is the one that is taken to be meant where the Rollout does not say which.
func (r *restoration) isGloos(api engine.API) bool {
	return len(r.targets) == 0 && api == engine.API(gloo.RouteTables{})
}

// tellUnseen says what was not looked at.
func (r *restoration) tellUnseen(kinds []string) {
	if len(kinds) > 0 {
		fmt.Fprintf(r.errOut, "%s may not be listed, so it is not known whether they hold anything.\n", strings.Join(kinds, ", "))
	}
}

// remembered names the Rollouts that objects remember, for somebody who may have meant one of them.
func (r *restoration) remembered(ctx context.Context) string {
	var owners []string
	for _, api := range r.apis {
		objects, err := r.tables.List(ctx, api.Resource(), r.tableSpace, labels.Everything())
		if err != nil {
			continue // which was told before
		}
		for _, o := range objects {
			owners = append(owners, engine.Owners(o)...)
		}
	}
	slices.Sort(owners)
	if owners = slices.Compact(owners); len(owners) == 0 {
		return ""
	}
	return ", only of " + strings.Join(owners, ", ")
}
