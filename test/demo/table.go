package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// routeTable is a RouteTable, and as much of its spec as the demo shows.
type routeTable struct {
	object *unstructured.Unstructured
	spec   tableSpec
}

type tableSpec struct {
	Hosts []string `json:"hosts"`
	HTTP  []struct {
		ForwardTo struct {
			Destinations []struct {
				Ref struct {
					Name string `json:"name"`
				} `json:"ref"`
				Weight *int64 `json:"weight"`
			} `json:"destinations"`
		} `json:"forwardTo"`
	} `json:"http"`
}

// weight is one destination of the route; nil percent: it gives none.
type weight struct {
	service string
	percent *int64
}

func (d *demo) readTable(ctx context.Context) (routeTable, error) {
	table := routeTable{object: &unstructured.Unstructured{}}
	table.object.SetAPIVersion("networking.gloo.solo.io/v2")
	table.object.SetKind("RouteTable")
	if err := d.bed.Client.Get(ctx, tableKey, table.object); err != nil {
		return routeTable{}, err
	}
	spec, _, err := unstructured.NestedMap(table.object.Object, "spec")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &table.spec)
	}
	if err != nil {
		return routeTable{}, fmt.Errorf("RouteTable %s: %w", tableKey, err)
	}
	if len(table.spec.Hosts) == 0 || len(table.spec.HTTP) == 0 {
		return routeTable{}, fmt.Errorf("RouteTable %s: no hosts or no routes", tableKey)
	}
	return table, nil
}

// weights are those of the first route, in the table's order.
func (t routeTable) weights() []weight {
	var weights []weight
	for _, destination := range t.spec.HTTP[0].ForwardTo.Destinations {
		weights = append(weights, weight{destination.Ref.Name, destination.Weight})
	}
	return weights
}

// own is what a person wrote into the table, where the plugin may not leave a trace.
func (t routeTable) own() map[string]any {
	return map[string]any{"labels": t.object.GetLabels(), "annotations": t.object.GetAnnotations(), "spec": t.object.Object["spec"]}
}
