package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// report writes the status of the only table, as a control plane would.
func (c *memoryCluster) report(generation int64, approval string) {
	var tree map[string]any
	if err := json.Unmarshal(c.Objects[0].JSON, &tree); err != nil {
		panic(err)
	}
	tree["status"] = map[string]any{"common": map[string]any{"State": map[string]any{"observedGeneration": generation, "approval": approval, "message": "because"}}}
	meta := tree["metadata"].(map[string]any)
	meta["generation"] = meta["generation"].(float64) - 1 // a status does not count
	raw, err := json.Marshal(tree)
	if err != nil {
		panic(err)
	}
	c.Put(raw)
}

func TestVerifyWaitsForAcceptance(t *testing.T) {
	for _, tt := range []struct {
		name     string
		observed int64 // behind or ahead of the generation that was written
		approval string
		waiting  string // GEN stands for the generation that was written
		fault    string
		warning  string
	}{
		{"accepted", 0, "ACCEPTED", "", "", ""},
		{"accepted, at a later generation", 1, "ACCEPTED", "", "", ""},
		{"accepted, but before the write", -1, "ACCEPTED", "RouteTable apps/a: its status speaks of generation 1, generation 2 is awaited", "", ""},
		{"rejected, but before the write", -1, "INVALID", "RouteTable apps/a: its status speaks of generation 1, generation 2 is awaited", "", ""},
		{"pending", 0, "PENDING", "RouteTable apps/a: generation 2 is pending", "", ""},
		{"rejected", 0, "INVALID", "", "RouteTable apps/a: not accepted: INVALID because; until that is mended, requests to its faulty routes are answered with 500", ""},
		{"a warning", 0, "WARNING", "", "", "RouteTable apps/a: accepted with a warning: because"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := tables([3]string{"a", "x", web})
			e := on(c)
			if err := e.Set(context.Background(), canary(10), byName("a")); err != nil {
				t.Fatal(err)
			}
			c.report(c.Objects[0].Generation+tt.observed, tt.approval)
			verdict := e.Verify(context.Background(), canary(10), byName("a"), true)
			got := []string{strings.Join(verdict.Waiting, "; "), "", strings.Join(verdict.Warnings, "; ")}
			if err := verdict.Fault(); err != nil {
				got[1] = err.Error()
			}
			if want := []string{tt.waiting, tt.fault, tt.warning}; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			if verdict.Verified() != (tt.waiting == "" && tt.fault == "") {
				t.Errorf("verified: %v", verdict.Verified())
			}
			if spec := e.Verify(context.Background(), canary(10), byName("a"), false); !spec.Verified() {
				t.Errorf("by the spec alone: %+v", spec)
			}
		})
	}
}

func TestVerifyDoesNotWaitForOthersWrites(t *testing.T) {
	c := tables([3]string{"a", "x", web})
	e := on(c)
	if err := e.Set(context.Background(), canary(10), byName("a")); err != nil {
		t.Fatal(err)
	}
	c.report(c.Objects[0].Generation, "ACCEPTED")
	for range 5 { // others, of whom Gloo has not heard yet
		c.Put(c.Objects[0].JSON)
		if verdict := e.Verify(context.Background(), canary(10), byName("a"), true); !verdict.Verified() {
			t.Fatalf("verdict %+v", verdict)
		}
	}
	restarted := on(c)
	if verdict := restarted.Verify(context.Background(), canary(10), byName("a"), true); verdict.Verified() {
		t.Error("verified after a restart, with the present generation never seen by Gloo")
	}
	c.report(c.Objects[0].Generation, "ACCEPTED")
	if verdict := restarted.Verify(context.Background(), canary(10), byName("a"), true); !verdict.Verified() {
		t.Errorf("verdict %+v", verdict)
	}
}

// lossy applies one patch and answers with an error.
type lossy struct {
	*memoryCluster
	answer error
	away   bool // fresh reads fail
}

func (l *lossy) Fresh(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error) {
	if l.away {
		return engine.Object{}, apierrors.NewServiceUnavailable("away")
	}
	return l.memoryCluster.Fresh(ctx, resource, namespace, name)
}

func (l *lossy) Patch(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte) (engine.Object, error) {
	o, err := l.memoryCluster.Patch(ctx, resource, namespace, name, patch)
	if lost := l.answer; err == nil && lost != nil {
		l.answer = nil
		return engine.Object{}, lost
	}
	return o, err
}

// What was written, though nobody said so, has to be accepted like anything else.
func TestVerifyWaitsForWhatWasPerhapsWritten(t *testing.T) {
	resource := schema.GroupResource{Resource: "routetables"}
	for _, tt := range []struct {
		name   string
		answer error
		away   bool // so that the call that wrote fails
		again  bool // it is made once more
	}{
		{"its answer was lost", apierrors.NewServiceUnavailable("away"), false, false},
		{"its answer was lost, and no other was to be had", apierrors.NewServiceUnavailable("away"), true, false},
		{"its answer was lost, and it is asked for again", apierrors.NewServiceUnavailable("away"), true, true},
		{"its repetition was refused", apierrors.NewConflict(resource, "a", nil), false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &lossy{memoryCluster: tables([3]string{"a", "x", web})}
			e := engine.New(c, hclog.NewNullLogger())
			if err := e.Set(t.Context(), canary(10), byName("a")); err != nil {
				t.Fatal(err)
			}
			before := c.Objects[0].Generation
			c.answer, c.away = tt.answer, tt.away
			if err := e.Set(t.Context(), canary(20), byName("a")); (err != nil) != tt.away {
				t.Fatal(err)
			}
			c.away = false
			if tt.again {
				if err := e.Set(t.Context(), canary(20), byName("a")); err != nil {
					t.Fatal(err)
				}
			}
			c.report(before, "ACCEPTED")
			if verdict := e.Verify(t.Context(), canary(20), byName("a"), true); verdict.Verified() || verdict.Fault() != nil {
				t.Errorf("before it was accepted: %+v", verdict)
			}
			c.report(c.Objects[0].Generation, "ACCEPTED")
			if verdict := e.Verify(t.Context(), canary(20), byName("a"), true); !verdict.Verified() {
				t.Errorf("after it was accepted: %+v", verdict)
			}
		})
	}
}
