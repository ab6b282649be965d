package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// withPolicies adds to an object the policies of the Rollout beside it. They are looked for only where the Rollout, the
// object's annotation or a route of it says that there may be some: where nothing is ever mirrored, neither the resource nor
// the right to it is needed.
func (e *Engine) withPolicies(ctx context.Context, api API, o Object, in intent.Intent) (Object, error) {
	remembered := mayBeMirrored(o, in)
	if !remembered && !in.MayMirror {
		return o, nil
	}
	kind := api.Policies()
	if kind.Kind == "" {
		return o, nil
	}
	found, err := e.Cluster.List(ctx, kind.Resource, o.Namespace, labels.SelectorFromSet(policyLabels(in, o)))
	wanted := intent.Mirrors(in.Managed)
	switch {
	case err == nil, errors.Is(err, ErrUnserved) && !wanted:
		o.Policies, o.PoliciesKnown = found, true
		return o, nil
	case !wanted && !remembered:
		e.Log.Debug("policies not looked for", "rollout", in.Owner, "object", objectName(api, o), "reason", err.Error())
		return o, nil
	}
	return o, fmt.Errorf("%s: %s: %w", objectName(api, o), kind.Kind, err)
}

// mayBeMirrored reports whether an object's annotation or a route of it says that there may be policies of the Rollout beside
// it.
func mayBeMirrored(o Object, in intent.Intent) bool {
	return recall(o.Annotations, in.Owner).mirrored || bytes.Contains(o.JSON, []byte(MirrorLabel))
}

// removePolicies removes the observed policies that the plan does not want, and returns those that are left.
func (e *Engine) removePolicies(ctx context.Context, api API, o Object, plan Plan, in intent.Intent) []Object {
	var left []Object
	for _, policy := range o.Policies {
		if plan.policy(policy.Name) != nil {
			left = append(left, policy)
			continue
		}
		thing := "policy " + policy.Namespace + "/" + policy.Name
		err := e.Cluster.Delete(ctx, api.Policies().Resource, policy.Namespace, policy.Name)
		if err != nil && !apierrors.IsNotFound(err) {
			left = append(left, policy)
			level := e.said.Level(hclog.Warn, thing, err.Error())
			e.Log.Log(level, "policy left", "rollout", in.Owner, "object", objectName(api, o), "policy", policy.Name, "reason", err.Error())
			continue
		}
		e.said.Over(thing)
		e.Log.Info("policy removed", "rollout", in.Owner, "object", objectName(api, o), "policy", policy.Name)
	}
	return left
}

// policy returns the wanted policy of this name, or nil.
func (plan Plan) policy(name string) *Policy {
	for i := range plan.Policies {
		if plan.Policies[i].Name == name {
			return &plan.Policies[i]
		}
	}
	return nil
}

// writePolicies creates the policies that the plan wants, and changes those that are otherwise.
func (e *Engine) writePolicies(ctx context.Context, api API, o Object, plan Plan, in intent.Intent) error {
	var faults []error
	for _, policy := range plan.Policies {
		if err := e.writePolicy(ctx, api, o, policy, in); err != nil {
			faults = append(faults, fmt.Errorf("%s: %s %s: %w", objectName(api, o), api.Policies().Kind, policy.Name, err))
		}
	}
	return join(faults)
}

func (e *Engine) writePolicy(ctx context.Context, api API, o Object, wanted Policy, in intent.Intent) error {
	for _, observed := range o.Policies {
		if observed.Name == wanted.Name {
			return e.changePolicy(ctx, api, o, observed, wanted, in)
		}
	}
	kind := api.Policies()
	object, err := json.Marshal(wanted.object(api, o, in))
	if err != nil {
		return err
	}
	_, err = e.Cluster.Create(ctx, kind.Resource, o.Namespace, object)
	if apierrors.IsAlreadyExists(err) { // somebody took its labels away; its name is this Rollout's alone
		observed, err := e.Cluster.Fresh(ctx, kind.Resource, o.Namespace, wanted.Name)
		if err != nil {
			return err
		}
		return e.changePolicy(ctx, api, o, observed, wanted, in)
	}
	if err == nil {
		e.Log.Info("policy added", "rollout", in.Owner, "object", objectName(api, o), "policy", wanted.Name)
	}
	return err
}

// changePolicy makes a policy that is there what is wanted. Others, such as the control plane, write to it too.
func (e *Engine) changePolicy(ctx context.Context, api API, o, observed Object, wanted Policy, in intent.Intent) error {
	kind, labels, stale := api.Policies(), policyLabels(in, o), false
	_, err := persist(ctx, func() (err error) {
		if stale {
			if observed, err = e.Cluster.Fresh(ctx, kind.Resource, observed.Namespace, observed.Name); err != nil {
				return err
			}
		}
		if wanted.is(observed) && maps.Equal(observed.Labels, labels) {
			e.generations.settle(observed)
			return nil
		}
		patch, err := json.Marshal([]Operation{
			{Op: "replace", Path: "/metadata/resourceVersion", Value: observed.ResourceVersion},
			{Op: "add", Path: "/metadata/labels", Value: labels},
			{Op: "add", Path: "/spec", Value: wanted.Spec},
		})
		if err != nil {
			return err
		}
		written, err := e.Cluster.Patch(ctx, kind.Resource, observed.Namespace, observed.Name, patch)
		if err != nil {
			stale = true
			e.generations.doubt(observed)
			return err
		}
		e.generations.wrote(written)
		e.Log.Info("policy changed", "rollout", in.Owner, "object", objectName(api, o), "policy", wanted.Name)
		return nil
	})
	return err
}

// is reports whether an observed policy says what this one says.
func (wanted Policy) is(observed Object) bool {
	read := struct {
		Spec json.RawMessage `json:"spec"`
	}{}
	return json.Unmarshal(observed.JSON, &read) == nil && equalJSON(read.Spec, wanted.Spec)
}

// verifyPolicies adds to a verdict what is to be said of the policies beside an object that is as it should be.
func (e *Engine) verifyPolicies(verdict *Verdict, api API, o Object, plan Plan, acceptance bool) {
	name, kind := objectName(api, o), api.Policies().Kind
	found := map[string]bool{}
	for _, observed := range o.Policies {
		wanted := plan.policy(observed.Name)
		if wanted == nil {
			verdict.Warnings = append(verdict.Warnings, fmt.Sprintf("%s: %s %s is left and mirrors nothing any more; the plugin's log says why it could not be removed", name, kind, observed.Name))
			continue
		}
		if found[observed.Name] = wanted.is(observed); found[observed.Name] && acceptance {
			e.judge(verdict, api, kind, observed)
		}
	}
	for _, wanted := range plan.Policies {
		if !found[wanted.Name] {
			verdict.fault(fmt.Errorf("%s: %s %s is not as it was set", name, kind, wanted.Name))
		}
	}
}

// object returns the policy as it is created beside an object, which owns it: if that is deleted, the policy goes too.
func (wanted Policy) object(api API, o Object, in intent.Intent) map[string]any {
	kind, owner := api.Policies(), api.Resource()
	return map[string]any{
		"apiVersion": kind.Resource.GroupVersion().String(),
		"kind":       kind.Kind,
		"metadata": map[string]any{
			"name": wanted.Name, "namespace": o.Namespace, "labels": policyLabels(in, o),
			"ownerReferences": []any{map[string]any{"apiVersion": owner.GroupVersion().String(), "kind": api.Kind(), "name": o.Name, "uid": o.UID}},
		},
		"spec": wanted.Spec,
	}
}
