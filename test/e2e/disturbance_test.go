package e2e

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// routeNamed finds an http route in a table.
func routeNamed(table *unstructured.Unstructured, name string) map[string]any {
	for _, route := range table.Object["spec"].(map[string]any)["http"].([]any) {
		if route := route.(map[string]any); route["name"] == name {
			return route
		}
	}
	panic("no route " + name)
}

// The controller starts another process for one that died. Nothing is kept there that could be lost.
func TestPluginIsKilled(t *testing.T) {
	t.Parallel()
	for _, shape := range shapes { // one after the other: they have one process
		t.Run(shape.name, func(t *testing.T) {
			d := setup{tables: file(t, shape.tables), plugin: mortal}.begin(t)
			d.release("web:2")
			d.reaches(10)
			before, err := bed.Controller.PluginPID(mortal)
			if err != nil {
				t.Fatal(err)
			}
			if err := bed.Controller.KillPlugin(t.Context(), mortal); err != nil {
				t.Fatal(err)
			}
			d.serves("/demo", shares{"web:1": 90, "web:2": 10})

			d.promote()
			d.reaches(50)
			d.serves("/demo", shares{"web:1": 50, "web:2": 50})
			if after, err := bed.Controller.PluginPID(mortal); err != nil || after == before {
				t.Errorf("process %d after %d, %v", after, before, err)
			}
			d.promote()
			d.completes("web:2")
		})
	}
}

// A controller that starts again in the middle of a release brings a new plugin with it.
func TestControllerRestarts(t *testing.T) { // alone: the other tests would lose it as well
	d := setup{}.begin(t)
	d.release("web:2")
	d.reaches(10)
	if err := bed.Controller.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.serves("/demo", shares{"web:1": 90, "web:2": 10})
	d.promote()
	d.reaches(50)
	d.serves("/demo", shares{"web:1": 50, "web:2": 50})
	d.promote()
	d.completes("web:2")
}

// Pods of the canary fail while it has traffic: it gets none until they are back.
func TestCanaryFails(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		s.steps = stepsTo(50)
		d := s.begin(t)
		atRest := d.destinations("demo")
		d.release("web:2")
		d.reaches(50)
		back := d.SetPods("web:2", testbed.Unready())
		d.soonLists("demo", atRest)
		d.served(requestsAtZero, "/demo", shares{"web:1": 100})
		back()
		d.soonLists("demo", "web 50, web-canary 50")
		d.serves("/demo", shares{"web:1": 50, "web:2": 50})
		d.promote()
		d.completes("web:2")
	})
}

// The people who own the table go on working on it during a release.
func TestSomeoneEditsTheTable(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := s.begin(t)
		d.release("web:2")
		d.reaches(10)

		d.someoneEdits("demo", func(table *unstructured.Unstructured) {
			demo := routeNamed(table, "demo")
			demo["labels"].(map[string]any)["tier"] = "gold"
			demo[unknownField] = map[string]any{"id": int64(9007199254740993)}
			spec := table.Object["spec"].(map[string]any)
			spec["http"] = append([]any{map[string]any{
				"matchers": []any{map[string]any{"uri": map[string]any{"exact": "/demo/partner"}}},
				"forwardTo": map[string]any{"destinations": []any{
					map[string]any{"ref": map[string]any{"name": "partner"}, "kind": "VIRTUAL_DESTINATION"},
				}},
			}}, spec["http"].([]any)...)
			table.SetLabels(map[string]string{"app": "demo", "edited": "yes"})
			annotations := table.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations["example.com/ticket"] = "42"
			table.SetAnnotations(annotations)
		})
		d.isServed()
		d.serves("/demo", shares{"web:1": 90, "web:2": 10})
		d.serves("/demo/partner", shares{"partner": 100})

		d.promote()
		d.reaches(50)
		d.serves("/demo", shares{"web:1": 50, "web:2": 50})
		d.serves("/demo/partner", shares{"partner": 100})
		d.promote()
		d.completes("web:2")
	})
}

// Someone writes to the table all the time, so that the plugin may find it changed between reading and writing.
func TestSomeoneKeepsEditingTheTable(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := s.begin(t)
		rest := d.someoneKeepsEditing("demo")
		d.release("web:2")
		d.reaches(10)
		d.promote()
		d.reaches(50)
		rest()
		d.promote()
		d.completes("web:2")
	})
}

// someoneKeepsEditing edits a table some forty times a second until rest is called. The last edit is to be there at the end.
// The pauses vary, and are the longer the more the machine has to do: the plugin is to find one for its own write.
func (d *story) someoneKeepsEditing(name string) (rest func()) {
	ctx, cancel := context.WithCancel(d.t.Context())
	edited := &sync.WaitGroup{}
	edited.Go(func() {
		for n := int64(0); ctx.Err() == nil; n++ {
			began := time.Now()
			edit := func(table *unstructured.Unstructured) {
				table.Object["spec"].(map[string]any)[unknownField].(map[string]any)["edits"] = n
			}
			d.remembers(name, edit)
			if err := change(context.WithoutCancel(ctx), d.Key(name), edit); err != nil {
				d.t.Error(err)
				return
			}
			time.Sleep(time.Duration(rand.ExpFloat64() * float64(max(25*time.Millisecond, 2*time.Since(began)))))
		}
	})
	d.t.Cleanup(edited.Wait)
	return func() { cancel(); edited.Wait() }
}

// Someone applies the table again as it was, weights and all, as a GitOps tool does. The next step puts that right.
func TestSomeoneAppliesTheTableAgain(t *testing.T) {
	inBothShapes(t, func(t *testing.T, s setup) {
		d := s.begin(t)
		d.release("web:2")
		d.reaches(10)
		d.Apply(s.tables)
		d.promote()
		d.reaches(50)
		d.serves("/demo", shares{"web:1": 50, "web:2": 50})
		d.promote()
		d.completes("web:2")
	})
}

// Without the annotation the plugin does not know any more how weights were spelt. All else is as it should be.
func TestAnnotationIsDeleted(t *testing.T) {
	for _, tt := range []struct {
		name, tables string
		rewrite      func(destinations []any) // what is different in route demo in the end
	}{
		{"stable listed", "table-stable.yaml", func(list []any) { list[0].(map[string]any)["weight"] = int64(100) }},
		{"both listed", "table-both.yaml", func([]any) {}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := setup{tables: file(t, tt.tables)}.begin(t)
			d.release("web:2")
			d.reaches(10)
			d.changes("demo", func(table *unstructured.Unstructured) {
				annotations := table.GetAnnotations()
				if annotations[annotation] == "" {
					t.Error("there is no annotation during a release")
				}
				delete(annotations, annotation)
				table.SetAnnotations(annotations)
			})
			d.promote()
			d.reaches(50)
			d.serves("/demo", shares{"web:1": 50, "web:2": 50})
			d.serves("/shop", shares{"web:1": 30, "web:2": 30, "partner": 40})
			d.promote()
			d.remembers("demo", func(table *unstructured.Unstructured) {
				tt.rewrite(routeNamed(table, "demo")["forwardTo"].(map[string]any)["destinations"].([]any))
			})
			d.completes("web:2")
		})
	}
}
