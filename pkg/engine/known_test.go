package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hashicorp/go-hclog"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
)

// counting is RouteTables that counts how often the routes of a table are decoded.
type counting struct {
	gloo.RouteTables
	decoded *atomic.Int32
}

func (c counting) Routes(raw json.RawMessage) ([]engine.Route, error) {
	c.decoded.Add(1)
	return c.RouteTables.Routes(raw)
}

// Nothing is worked out again as long as nothing is new; as soon as anything is, it is.
func TestPlansOnceWhatStaysTheSame(t *testing.T) {
	decoded := &atomic.Int32{}
	targets := byLabel(t, "app=x")
	targets[0].API = counting{decoded: decoded}
	c := tables([3]string{"a", "x", web}, [3]string{"b", "x", web})
	e := on(c)
	for _, tt := range []struct {
		name  string
		first func()
		share int
		plans bool
	}{
		{"a new weight", func() {}, 10, true},
		{"the same again", func() {}, 10, false},
		{"another weight", func() {}, 20, true},
		{"the same again", func() {}, 20, false},
		{"somebody wrote to one", func() { c.Put(c.Objects[0].JSON) }, 20, true},
		{"the same again", func() {}, 20, false},
		{"fewer routes are selected", func() { targets[0].Routes = nil }, 20, false},
	} {
		tt.first()
		decoded.Store(0)
		if err := e.Set(t.Context(), canary(tt.share), targets); err != nil {
			t.Fatal(err)
		}
		if verdict := e.Verify(t.Context(), canary(tt.share), targets, true); !verdict.Verified() {
			t.Errorf("%s: %v", tt.name, verdict)
		}
		if planned := decoded.Load() > 0; planned != tt.plans {
			t.Errorf("%s: planned %v, want %v", tt.name, planned, tt.plans)
		}
	}
}

// forgetful answers reads of single objects as it remembers them, until it is asked for a fresh one.
type forgetful struct {
	*memoryCluster
	remembered map[string]engine.Object
	fresh      int
}

func (f *forgetful) remember() {
	f.remembered = map[string]engine.Object{}
	for _, o := range f.Objects {
		f.remembered[o.Name] = o
	}
}

func (f *forgetful) Get(_ context.Context, _ schema.GroupVersionResource, _, name string) (engine.Object, error) {
	return f.remembered[name], nil
}

func (f *forgetful) Fresh(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	f.fresh++
	o, err := f.memoryCluster.Get(ctx, resource, namespace, name)
	f.remembered[name] = o
	return o, err
}

// What is remembered of an object may be old. Nothing is said against it, and nothing written, by that alone.
func TestReadsAfreshBeforeItComplains(t *testing.T) {
	const served, pending = `{"common":{"State":{"approval":"ACCEPTED","observedGeneration":9}}}`, `{"common":{"State":{}}}`
	begin := func(t *testing.T, first, then func(raw string) string) (*engine.Engine, *forgetful) {
		t.Helper()
		f := &forgetful{memoryCluster: tables([3]string{"a", "x", web})}
		e := engine.New(f, hclog.NewNullLogger())
		f.remember()
		if err := e.Set(t.Context(), canary(10), byName("a")); err != nil {
			t.Fatal(err)
		}
		f.Put([]byte(first(string(f.Objects[0].JSON))))
		f.remember()
		f.Put([]byte(then(string(f.Objects[0].JSON))))
		f.fresh = 0
		return e, f
	}
	with := func(status string) func(string) string {
		return func(raw string) string {
			tree := map[string]json.RawMessage{}
			if err := json.Unmarshal([]byte(raw), &tree); err != nil {
				t.Fatal(err)
			}
			tree["status"] = json.RawMessage(status)
			changed, err := json.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			return string(changed)
		}
	}
	weights := func(from, to string) func(string) string {
		return func(raw string) string { return strings.ReplaceAll(raw, from, to) }
	}
	for _, tt := range []struct {
		name        string
		first, then func(string) string // what is remembered, and what is there
		verified    bool
		fresh       int
	}{
		{"remembered as served, and served", with(served), with(served), true, 0},
		{"remembered as pending, and served", with(pending), with(served), true, 1},
		{"remembered as pending, and pending", with(pending), with(pending), false, 1},
		{"remembered with other weights", weights(`"weight":10`, `"weight":11`), weights(`"weight":11`, `"weight":10`), true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, f := begin(t, tt.first, tt.then)
			verdict := e.Verify(t.Context(), canary(10), byName("a"), true)
			if verdict.Verified() != tt.verified || f.fresh != tt.fresh {
				t.Errorf("verified %v after %d fresh reads, want %v after %d: %v", verdict.Verified(), f.fresh, tt.verified, tt.fresh, verdict)
			}
		})
	}
	t.Run("remembered without a route to stable", func(t *testing.T) {
		e, f := begin(t, weights(`"web"`, `"gone"`), weights(`"gone"`, `"web"`))
		if err := e.Set(t.Context(), canary(20), byName("a")); err != nil || f.weights("a") != "web 80, web-canary 20" {
			t.Errorf("%v, %s", err, f.weights("a"))
		}
	})
}

// Many objects are worked on at once; each is served, and each fault is told, in the objects' order.
func TestServesManyAtOnce(t *testing.T) {
	var given [][3]string
	want := map[string]string{}
	var faults []string
	for i := range 40 {
		name := fmt.Sprintf("t%02d", i)
		if i%10 == 5 {
			given = append(given, [3]string{name, "x", "{ref: {name: web}, weight: 70}"})
			faults = append(faults, name)
			continue
		}
		given = append(given, [3]string{name, "x", web})
		want[name] = "web 90, web-canary 10"
	}
	c := tables(given...)
	for _, name := range faults { // weights that make no sense
		i := c.Index("apps", name)
		c.Put([]byte(strings.Replace(string(c.Objects[i].JSON), `"weight":70`, `"weight":-1`, 1)))
	}
	err := on(c).Set(t.Context(), canary(10), byLabel(t, "app=x"))
	last := -1
	for _, name := range faults {
		at := -1
		if err != nil {
			at = strings.Index(err.Error(), "apps/"+name)
		}
		if at <= last {
			t.Errorf("%s is not told of, or not in its place: %v", name, err)
		}
		last = at
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got := c.weights(name); got != want[name] {
			t.Errorf("%s: %s, want %s", name, got, want[name])
		}
	}
}

// panicking breaks on one table.
type panicking struct{ gloo.RouteTables }

func (p panicking) Routes(raw json.RawMessage) ([]engine.Route, error) {
	if strings.Contains(string(raw), `"t1"`) {
		panic("a bug")
	}
	return p.RouteTables.Routes(raw)
}

// A panic over one of many objects is the caller's, who knows what to do about it.
func TestPanicReachesTheCaller(t *testing.T) {
	targets := byLabel(t, "app=x")
	targets[0].API = panicking{}
	defer func() {
		if p, _ := recover().(engine.Panic); p.Cause != "a bug" || !strings.Contains(p.Stack, "known_test.go") {
			t.Errorf("got %s, want the bug with its stack", p)
		}
	}()
	_ = on(tables([3]string{"t0", "x", web}, [3]string{"t1", "x", web})).Set(t.Context(), canary(10), targets)
}
