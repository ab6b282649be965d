package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// MirrorLabel is the label of mirror routes by which their policy finds them; its value is the policy's name.
const MirrorLabel = "rollouts.argoproj.io/mirrored-by"

// ObjectLabel is the label of policies that says beside which object they stand.
const ObjectLabel = "rollouts.argoproj.io/mirrors-routes-of"

// Policy is an object that mirrors the requests of routes that it finds by label.
type Policy struct {
	Name string
	Spec json.RawMessage
}

// mirrorPolicy returns what mirrors the requests of a managed route on an object to the canary's entry. One policy serves all
// routes that mirror to the same entry.
func (p *planner) mirrorPolicy(object string, m intent.ManagedRoute, canary json.RawMessage) (Policy, error) {
	entry := bytes.Buffer{}
	if err := json.Compact(&entry, canary); err != nil {
		return Policy{}, err
	}
	hash := sha256.Sum256([]byte(strings.Join([]string{p.in.Owner, object, m.Name, entry.String()}, "\n")))
	name := fmt.Sprintf("%s-%.5x", labelWord(m.Name), hash)
	spec, err := p.api.MirrorPolicy(map[string]string{MirrorLabel: name}, canary, *m.Mirror)
	return Policy{Name: name, Spec: spec}, err
}

// labelWord returns what of a name may stand at the beginning of a label's value and of an object's name.
func labelWord(name string) string {
	word := []byte(strings.ToLower(name))
	for i, c := range word {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			word[i] = '-'
		}
	}
	if word = bytes.TrimLeft(word[:min(len(word), 50)], "-"); len(word) == 0 {
		return "mirror"
	}
	return string(word)
}

// want adds a policy that is not among those of the plan yet.
func (plan *managedPlan) want(policy Policy) {
	if !slices.ContainsFunc(plan.policies, func(p Policy) bool { return p.Name == policy.Name }) {
		plan.policies = append(plan.policies, policy)
	}
}

// policyLabels are the labels of the policies of a Rollout beside an object: by them they are found again. They are all the
// metadata that a policy has but for its owner, so that no GitOps tool takes it for one of its own.
func policyLabels(in intent.Intent, o Object) map[string]string {
	return map[string]string{OwnerLabel: ownerLabelValue(in.Owner), ObjectLabel: ownerLabelValue(o.Namespace + "/" + o.Name)}
}

// spelt returns the entries of a route's list as they are to be, in the API's JSON; nil if there is to be none.
func (rp routePlan) spelt() ([]json.RawMessage, error) {
	var entries []json.RawMessage
	for _, s := range rp.form {
		var raw json.RawMessage
		var err error
		if s.index < 0 {
			raw, err = json.Marshal(rp.newEntry(s))
		} else {
			raw, err = rp.kept(s)
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, raw)
	}
	return entries, nil
}

// kept returns an entry that is listed already, as it is to be.
func (rp routePlan) kept(s slot) (json.RawMessage, error) {
	fields := map[string]any{"weight": nil}
	if s.weight != nil {
		fields["weight"] = *s.weight
	}
	if s.seat >= 0 && rp.seats[s.seat].subset != nil {
		if fields["subset"] = nil; len(rp.seats[s.seat].subset) > 0 {
			fields["subset"] = rp.seats[s.seat].subset
		}
	}
	return edited(rp.route.Entries[s.index].JSON, fields)
}

// edited returns an entry with these fields in place of its own; nil takes one out.
func edited(raw json.RawMessage, fields map[string]any) (json.RawMessage, error) {
	entry := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &entry); err != nil {
		return nil, err
	}
	for field, value := range fields {
		if value == nil {
			delete(entry, field)
			continue
		}
		data, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		entry[field] = data
	}
	return json.Marshal(entry)
}

// followSources returns what makes the mirror routes of other Rollouts split as their sources will: those of this Rollout are
// spelt afresh anyway, and the others would keep its weights of before.
func (p *planner) followSources(routes []Route, plans []routePlan) ([]Operation, error) {
	var patch []Operation
	others := p.mirrorsOfOthers(routes)
	for _, rp := range plans {
		followers := others[rp.route.Key]
		if len(followers) == 0 {
			continue
		}
		entries, err := rp.spelt()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rp.route.Place, err)
		}
		for _, r := range followers {
			switch {
			case slices.EqualFunc(r.listed(), entries, equalJSON):
			case len(entries) == 0:
				patch = append(patch, Operation{Op: "remove", Path: r.List})
			default:
				patch = append(patch, Operation{Op: "add", Path: r.List, Value: entries})
			}
		}
	}
	return patch, nil
}

// mirrorsOfOthers returns the mirror routes of other Rollouts by the keys of their sources.
func (p *planner) mirrorsOfOthers(routes []Route) map[string][]Route {
	mine, others := ownerLabelValue(p.in.Owner), map[string][]Route{}
	if p.api.Unlabelled() {
		for _, r := range routes {
			if r.Mirror && r.Owner != mine {
				others[r.Source] = append(others[r.Source], r)
			}
		}
		return others
	}
	for source, managed := range managedBefore(routes) {
		for _, r := range managed {
			if r.Owner != mine && r.Labels[MirrorLabel] != "" && r.List != "" {
				others[source] = append(others[source], r)
			}
		}
	}
	return others
}
