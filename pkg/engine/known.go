package engine

import (
	"reflect"
	"slices"

	"k8s.io/utils/lru"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// maxKnown is how many objects, as so many Rollouts see them, are known at the same time.
const maxKnown = 10_000

// known remembers what was worked out of objects, for as long as they stay the same: the controller asks again and again, and
// mostly nothing has changed.
type known struct {
	plans, acceptances *lru.Cache
}

func newKnown() known { return known{plans: lru.New(maxKnown), acceptances: lru.New(maxKnown)} }

// planKey is whose plan on which object it is.
type planKey struct {
	object, owner string
	none          bool
}

// settledPlan is a plan that changes nothing, with all that it was made of.
type settledPlan struct {
	versions  []string
	selection Selection
	in        intent.Intent
	plan      Plan
}

// versions returns that of an object and, if they are known, those of its policies. None: the object is of no known version.
func versions(o Object) []string {
	if o.ResourceVersion == "" {
		return nil
	}
	versions := []string{o.ResourceVersion}
	if o.PoliciesKnown {
		versions = append(versions, "policies")
	}
	for _, policy := range o.Policies {
		versions = append(versions, policy.Name, policy.ResourceVersion)
	}
	return versions
}

// makePlan is [MakePlan], which is done again only if something is new.
func (e *Engine) makePlan(api API, o Object, selection Selection, in intent.Intent) (Plan, error) {
	key, now := planKey{objectName(api, o), in.Owner, selection.None}, versions(o)
	if found, ok := e.known.plans.Get(key); ok && now != nil {
		s := found.(settledPlan)
		if slices.Equal(s.versions, now) && reflect.DeepEqual(s.selection, selection) && reflect.DeepEqual(s.in, in) {
			return s.plan, nil
		}
	}
	plan, err := MakePlan(api, o, selection, in)
	if err == nil && len(plan.Patch) == 0 && now != nil {
		e.known.plans.Add(key, settledPlan{now, selection, in, plan})
	}
	return plan, err
}

// knownAcceptance is what was read from the status of an object.
type knownAcceptance struct {
	version    string
	acceptance Acceptance
}

// acceptance is the API's, which is read again only if the object, which has this name, is new.
func (e *Engine) acceptance(api API, name string, o Object) (Acceptance, error) {
	if found, ok := e.known.acceptances.Get(name); ok && o.ResourceVersion != "" {
		if k := found.(knownAcceptance); k.version == o.ResourceVersion {
			return k.acceptance, nil
		}
	}
	a, err := api.Acceptance(o.JSON)
	if err == nil && o.ResourceVersion != "" {
		e.known.acceptances.Add(name, knownAcceptance{o.ResourceVersion, a})
	}
	return a, err
}
