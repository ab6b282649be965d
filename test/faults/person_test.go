package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// person works on tables, and knows nothing of the releases.
type person struct {
	namespace string
	pause     time.Duration // on average, after an edit

	mu      sync.Mutex
	written map[string]*unstructured.Unstructured // the tables as people wrote them, by name
	edits   int64
}

// edit is something that a person does to a table for the n-th time.
type edit func(table *unstructured.Unstructured, n int64)

// edits are what the person does, in turn.
var edits = []edit{
	func(table *unstructured.Unstructured, n int64) { // fields of the table that the plugin does not know
		spec(table)["future"].(map[string]any)["note"] = fmt.Sprintf("note %d", n)
		table.SetLabels(with(table.GetLabels(), "edited", fmt.Sprint(n)))
		table.SetAnnotations(with(table.GetAnnotations(), "example.com/ticket", fmt.Sprint(n)))
	},
	func(table *unstructured.Unstructured, n int64) { // weights of destinations of their own
		list := routeOf(table, "theirs")["forwardTo"].(map[string]any)["destinations"].([]any)
		list[0].(map[string]any)["weight"], list[1].(map[string]any)["weight"] = n%90+1, 99-n%90
	},
	func(table *unstructured.Unstructured, n int64) { // a route before all others, which is gone the next time
		routes := spec(table)["http"].([]any)
		if routes[0].(map[string]any)["name"] == "promotion" {
			spec(table)["http"] = routes[1:]
			return
		}
		spec(table)["http"] = append([]any{map[string]any{
			"name":      "promotion",
			"matchers":  []any{map[string]any{"uri": map[string]any{"exact": fmt.Sprintf("/promotion/%d", n)}}},
			"forwardTo": map[string]any{"destinations": []any{map[string]any{"ref": map[string]any{"name": "one"}}}},
		}}, routes...)
	},
	func(table *unstructured.Unstructured, n int64) { // a neighbour of the Rollouts on a route that they share
		list := routeOf(table, "shared")["forwardTo"].(map[string]any)["destinations"].([]any)
		for _, destination := range list {
			if d := destination.(map[string]any); d["ref"].(map[string]any)["name"] == "partner" {
				d["future"] = n
			}
		}
	},
}

func spec(table *unstructured.Unstructured) map[string]any {
	return table.Object["spec"].(map[string]any)
}

func with(all map[string]string, key, value string) map[string]string {
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	return all
}

func routeOf(table *unstructured.Unstructured, name string) map[string]any {
	for _, route := range spec(table)["http"].([]any) {
		if route := route.(map[string]any); route["name"] == name {
			return route
		}
	}
	panic("no route " + name)
}

// edit edits one of the tables, which is to be seen at the end.
func (p *person) edit(ctx context.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.edits++
	n := p.edits
	return p.does(ctx, name, func(table *unstructured.Unstructured) {
		spec(table)["future"].(map[string]any)["edits"] = n
		edits[n%int64(len(edits))](table, n)
	})
}

// does changes a table as it is, and as it is to be at the end. It is called with the lock held.
func (p *person) does(ctx context.Context, name string, do func(*unstructured.Unstructured)) error {
	do(p.written[name])
	return p.change(ctx, name, do)
}

// change reads a table, changes it and writes it, again on a conflict.
func (p *person) change(ctx context.Context, name string, do func(*unstructured.Unstructured)) error {
	return retry.RetryOnConflict(testbed.Patience, func() error {
		table, err := readTable(ctx, client.ObjectKey{Namespace: p.namespace, Name: name})
		if err != nil {
			return err
		}
		do(table)
		return bed.Client.Update(ctx, table)
	})
}

// replace deletes a table and, after meanwhile, creates it as people wrote it.
func (p *person) replace(ctx context.Context, name string, meanwhile func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	table, err := readTable(ctx, client.ObjectKey{Namespace: p.namespace, Name: name})
	if err != nil {
		return err
	}
	if err := bed.Client.Delete(ctx, table); err != nil {
		return err
	}
	meanwhile()
	again := p.written[name].DeepCopy()
	again.SetResourceVersion("")
	again.SetUID("")
	return bed.Client.Create(ctx, again)
}

// applies writes a table as a tool does that has it from git: with the weights as they were.
func (p *person) applies(ctx context.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.change(ctx, name, func(table *unstructured.Unstructured) {
		table.Object["spec"] = p.written[name].DeepCopy().Object["spec"]
	})
}

// keepsEditing edits all tables until ctx ends. The pauses vary, and are the longer the more the machine has to do: the plugin
// is to find one for its own write.
func (p *person) keepsEditing(ctx context.Context) error {
	for ctx.Err() == nil {
		for name := range p.written {
			began := time.Now()
			if err := p.edit(context.WithoutCancel(ctx), name); err != nil {
				return err
			}
			select {
			case <-time.After(time.Duration(rand.ExpFloat64() * float64(max(p.pause, 2*time.Since(began))))):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// compare says in what a table is otherwise than people wrote it.
func (p *person) compare(ctx context.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	table, err := readTable(ctx, client.ObjectKey{Namespace: p.namespace, Name: name})
	if err != nil {
		return err
	}
	written := p.written[name]
	for _, what := range []struct {
		name      string
		got, want any
	}{
		{"spec", spec(table), spec(written)},
		{"labels", table.GetLabels(), written.GetLabels()},
		{"annotations", table.GetAnnotations(), written.GetAnnotations()},
	} {
		if !reflect.DeepEqual(what.got, what.want) {
			got, _ := yaml.Marshal(what.got)
			want, _ := yaml.Marshal(what.want)
			return fmt.Errorf("RouteTable %s: %s:\n%swant\n%s", name, what.name, got, want)
		}
	}
	return nil
}
