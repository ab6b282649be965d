package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	tableKind  = schema.GroupVersionKind{Group: "networking.gloo.solo.io", Version: "v2", Kind: "RouteTable"}
	policyKind = schema.GroupVersionKind{Group: "trafficcontrol.policy.gloo.solo.io", Version: "v2", Kind: "MirrorPolicy"}
)

// servicesOf is the YAML of a Rollout's two Services.
func servicesOf(rollout string) string {
	return fmt.Sprintf(`
{apiVersion: v1, kind: Service, metadata: {name: %[1]s}, spec: {selector: {app: web}, ports: [{port: 8080}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: %[1]s-canary}, spec: {selector: {app: web}, ports: [{port: 8080}]}}
---
`, rollout)
}

// sharers is how many Rollouts at most have a part of route shared, and sharePercent how large that is.
const (
	sharers      = 4
	sharePercent = 20
)

// tableOf is the YAML of a table: a route of each of the Rollouts, one that the first of them share with a partner, who has
// the rest, and one that is none of theirs. The table and its routes hold fields that nobody knows.
func tableOf(name string, rollouts ...string) string {
	labels, routes, shares := &strings.Builder{}, &strings.Builder{}, &strings.Builder{}
	for i, rollout := range rollouts {
		fmt.Fprintf(labels, "%s: served, ", rollout)
		fmt.Fprintf(routes, `
    - name: %[1]s
      labels: {route: %[1]s}
      future: {id: 9007199254740993, nothing: null}
      matchers: [{uri: {prefix: /%[1]s}}]
      forwardTo: {pathRewrite: /, destinations: [{ref: {name: %[1]s}, port: {number: 8080}}]}`, rollout)
		if i < sharers {
			fmt.Fprintf(shares, "{ref: {name: %s}, port: {number: 8080}, weight: %d}, ", rollout, sharePercent)
		}
	}
	rest := 100 - sharePercent*min(len(rollouts), sharers)
	return fmt.Sprintf(`
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: %s, labels: {%s}}
spec:
  hosts: [shop.example.com]
  future: {edits: 0}
  http:%s
    - name: shared
      matchers: [{uri: {prefix: /shared}}]
      forwardTo: {destinations: [%s{ref: {name: partner}, kind: VIRTUAL_DESTINATION, weight: %d}]}
    - name: theirs
      matchers: [{uri: {prefix: /theirs}}]
      forwardTo: {destinations: [{ref: {name: one}, weight: 50}, {ref: {name: two}, weight: 50}]}
---
`, name, labels, routes, shares, rest)
}

// view is what the witness reads in a table.
type view struct {
	Spec struct {
		Future struct{ Edits int64 }
		HTTP   []routeView
	}
}

type routeView struct {
	Name      string
	ForwardTo struct {
		Destinations []struct {
			Ref    struct{ Name string }
			Weight *int
		}
	}
}

func viewOf(table *unstructured.Unstructured) (view, error) {
	v := view{}
	raw, err := table.MarshalJSON()
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(raw, &v)
}

// share returns how many percent of what a Rollout has on its routes are its canary's. It fails if that differs among them,
// or if the Rollout has more or less of one than it had.
func (v view) share(rollout string) (int, error) {
	percent, seen := 0, false
	for _, route := range v.Spec.HTTP {
		owned := 100
		if route.Name == "shared" {
			owned = sharePercent
		} else if route.Name != rollout {
			continue
		}
		stable, canary, found := route.weights(rollout)
		switch {
		case !found:
			continue
		case stable+canary != owned:
			return 0, fmt.Errorf("route %s: %d and %d do not make %d", route.Name, stable, canary, owned)
		case seen && canary*100 != percent*owned:
			return 0, fmt.Errorf("route %s: %d of %d, and others have %d percent", route.Name, canary, owned, percent)
		}
		percent, seen = canary*100/owned, true
	}
	if !seen {
		return 0, fmt.Errorf("no route forwards to it")
	}
	return percent, nil
}

// weights returns those of a Rollout's two destinations; found: its stable one is there.
func (r routeView) weights(rollout string) (stable, canary int, found bool) {
	for _, d := range r.ForwardTo.Destinations {
		weight := 100 // of the only one
		if d.Weight != nil {
			weight = *d.Weight
		}
		switch d.Ref.Name {
		case rollout:
			stable, found = weight, true
		case rollout + "-canary":
			canary = weight
		}
	}
	return stable, canary, found
}

// has reports whether there is a route of this name.
func (v view) has(route string) bool {
	for _, r := range v.Spec.HTTP {
		if r.Name == route {
			return true
		}
	}
	return false
}

// readTable reads a table at the API server.
func readTable(ctx context.Context, key client.ObjectKey) (*unstructured.Unstructured, error) {
	table := &unstructured.Unstructured{}
	table.SetGroupVersionKind(tableKind)
	return table, bed.Client.Get(ctx, key, table)
}
