package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// mirroring returns the intent of a Rollout with a mirror step, at a weight, which mirrors that percentage; or, if it is
// negative, does so no more or not yet.
func mirroring(weight, percentage int) intent.Intent {
	in := canary(weight)
	if in.MayMirror = true; percentage >= 0 {
		in.Managed = []intent.ManagedRoute{{Name: "shadow", Mirror: &percentage, Matches: []intent.RequestMatch{{}}}}
	}
	return in
}

// state prints the names of a cluster's routes and the percentages of its policies, and whether anything is remembered.
func state(t *testing.T, c *memoryCluster) string {
	t.Helper()
	text := strings.Join(names(t, c), " ")
	for _, p := range c.Policies {
		_, percentage, _ := strings.Cut(string(p.JSON), `"percentage":`)
		number, _, _ := strings.Cut(percentage, "}")
		text += ", " + number + " percent"
	}
	if c.Objects[0].Annotations[engine.Annotation] != "" {
		text += ", remembered"
	}
	return text
}

func names(t *testing.T, c *memoryCluster) []string {
	t.Helper()
	var names []string
	for _, part := range strings.Split(string(c.Objects[0].JSON), `"name":"`)[1:] {
		if name, _, _ := strings.Cut(part, `"`); name == "shadow" || name == "all" {
			names = append(names, name)
		}
	}
	return names
}

// A step with percentage -1 removes the mirror route. Nothing is written that is there already.
func TestMirrorPoliciesComeAndGo(t *testing.T) {
	c := tables([3]string{"a", "x", web})
	for _, tt := range []struct {
		weight, percentage int
		want               string
		writes             int
	}{
		{0, -1, "all", 0},
		{0, 35, "shadow all, 35 percent, remembered", 2},
		{0, 35, "shadow all, 35 percent, remembered", 0},
		{10, 35, "shadow all, 35 percent, remembered", 1},
		{10, 50, "shadow all, 50 percent, remembered", 1},
		{10, -1, "all, remembered", 2},
		{0, -1, "all", 1},
		{0, -1, "all", 0},
	} {
		before := c.Writes
		in := mirroring(tt.weight, tt.percentage)
		if err := on(c).Set(context.Background(), in, byName("a")); err != nil {
			t.Fatal(err)
		}
		if got := state(t, c); got != tt.want || c.Writes-before != tt.writes {
			t.Errorf("at %d percent, mirroring %d: %s with %d writes, want %s with %d", tt.weight, tt.percentage, got, c.Writes-before, tt.want, tt.writes)
		}
		if v := on(c).Verify(context.Background(), in, byName("a"), true); !v.Verified() {
			t.Errorf("at %d percent, mirroring %d: %v", tt.weight, tt.percentage, v)
		}
	}
}

// Whatever is missing, whoever took it, is there again after the next call, and Verify sees that it is not.
func TestMirrorHeals(t *testing.T) {
	for name, damage := range map[string]func(c *memoryCluster, reverted []byte){
		"a policy that was never made, or deleted": func(c *memoryCluster, _ []byte) { c.Policies = nil },
		"a table that was applied again":           func(c *memoryCluster, reverted []byte) { c.Put(reverted) },
		"a policy that was edited": func(c *memoryCluster, _ []byte) {
			c.Policies[0].JSON = []byte(strings.Replace(string(c.Policies[0].JSON), `"percentage":35`, `"percentage":99`, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := tables([3]string{"a", "x", web})
			applied, in := c.Objects[0].JSON, mirroring(10, 35)
			set := func(in intent.Intent) {
				t.Helper()
				if err := on(c).Set(context.Background(), in, byName("a")); err != nil {
					t.Fatal(err)
				}
			}
			set(in)
			whole := state(t, c)
			damage(c, applied)
			if v := on(c).Verify(context.Background(), in, byName("a"), false); v.Verified() {
				t.Error("the damage is not seen")
			}
			if set(in); state(t, c) != whole {
				t.Errorf("%s, want %s", state(t, c), whole)
			}
			damage(c, applied)
			if set(mirroring(0, -1)); state(t, c) != "all" {
				t.Errorf("%s is left when it is over", state(t, c))
			}
		})
	}
}

// Without the annotation, and with steps that mirror no more, the mirror route still tells of its policy.
func TestMirrorWithoutMemory(t *testing.T) {
	c := tables([3]string{"a", "x", web})
	if err := on(c).Set(context.Background(), mirroring(10, 35), byName("a")); err != nil {
		t.Fatal(err)
	}
	c.Put([]byte(strings.Replace(string(c.Objects[0].JSON), engine.Annotation, "somebody/else", 1)))
	in := canary(0)
	in.Used = []intent.Destination{in.Canary}
	if err := on(c).Set(context.Background(), in, byName("a")); err != nil || state(t, c) != "all" {
		t.Errorf("%v; left: %s", err, state(t, c))
	}
}

// What can be known beforehand is known before anything is written.
func TestRefusedWithoutAWrite(t *testing.T) {
	c := tables([3]string{"a", "x", web})
	if err := on(c).Set(context.Background(), mirroring(0, 35), byName("a")); err != nil {
		t.Fatal(err)
	}
	refused := func(name string, in intent.Intent) {
		t.Helper()
		writes := c.Writes
		if err := on(c).Set(context.Background(), in, byName("a")); err == nil || c.Writes != writes {
			t.Errorf("%s: %v, with %d writes", name, err, c.Writes-writes)
		}
	}
	renamed := mirroring(10, 35)
	renamed.Canary.Name = "missing"
	refused("a canary that does not exist", renamed)
	c.Policies, c.Forbidden = nil, []string{"policy create"}
	refused("no right to create policies", mirroring(10, 35))
}

// A policy whose labels somebody took away is made the Rollout's again.
func TestPolicyWithoutLabels(t *testing.T) {
	c := tables([3]string{"a", "x", web})
	for range 2 {
		if err := on(c).Set(context.Background(), mirroring(10, 35), byName("a")); err != nil {
			t.Fatal(err)
		}
		if len(c.Policies) != 1 || c.Policies[0].Labels[engine.OwnerLabel] == "" {
			t.Fatalf("policies %v", c.Policies)
		}
		c.Policies[0].Labels = nil
	}
}

// Of tables that are selected by label, one may have no route with headers, if another has.
func TestHeaderStepBesideATableOfStreams(t *testing.T) {
	c := tables([3]string{"a", "x", web})
	c.Put([]byte(`{"metadata":{"namespace":"apps","name":"b","labels":{"app":"x"}},"spec":{"tcp":[{"forwardTo":{"destinations":[{"ref":{"name":"web"}}]}}]}}`))
	in := canary(10)
	in.Managed = []intent.ManagedRoute{{Name: "shadow", Matches: []intent.RequestMatch{{Headers: []intent.HeaderMatch{{Name: "x", ValueMatch: intent.ValueMatch{Type: intent.Exact, Value: "1"}}}}}}}
	if err := on(c).Set(context.Background(), in, byLabel(t, "app=x")); err != nil {
		t.Fatal(err)
	}
	if got := c.weights("b"); got != "web 90, web-canary 10" {
		t.Errorf("the streams: %s", got)
	}
	if v := on(c).Verify(context.Background(), in, byLabel(t, "app=x"), false); !v.Verified() {
		t.Error(v)
	}
	in.CanaryShare = 50
	want := "RouteTable apps/b: only routes without headers match (tcp[0]), so no header or mirror route can be added; select an http route as well"
	if err := on(c).Set(context.Background(), in, byName("b")); err == nil || err.Error() != want || c.weights("b") != "web 90, web-canary 10" {
		t.Errorf("got  %v with %s\nwant %s", err, c.weights("b"), want)
	}
	if v := on(c).Verify(context.Background(), in, byName("b"), false); v.Verified() {
		t.Error("streams alone are verified")
	}
}

// Where the policies of a Rollout cannot be deleted, all else is done, and Verify says what is left until it is gone.
func TestPolicyThatMayNotBeDeleted(t *testing.T) {
	c := tables([3]string{"a", "x", web})
	if err := on(c).Set(context.Background(), mirroring(10, 35), byName("a")); err != nil {
		t.Fatal(err)
	}
	c.Forbidden = []string{"policy delete"}
	if err := on(c).RemoveManaged(context.Background(), canary(0), byName("a")); err != nil {
		t.Errorf("RemoveManaged would hold the abort up: %v", err)
	}
	for range 2 {
		if err := on(c).Set(context.Background(), mirroring(0, -1), byName("a")); err != nil {
			t.Error(err)
		}
		v := on(c).Verify(context.Background(), mirroring(0, -1), byName("a"), true)
		want := "RouteTable apps/a: MirrorPolicy " + c.Policies[0].Name + " is left and mirrors nothing any more; the plugin's log says why it could not be removed"
		if !v.Verified() || len(v.Warnings) != 1 || v.Warnings[0] != want {
			t.Errorf("got %v\nwant %s", v, want)
		}
		if got := state(t, c) + "; " + c.weights("a"); got != "all, 35 percent, remembered; web -" {
			t.Errorf("left: %s", got)
		}
	}
	c.Forbidden = nil
	if err := on(c).Set(context.Background(), canary(0), byName("a")); err != nil || state(t, c) != "all" {
		t.Errorf("%v; left: %s", err, state(t, c))
	}
}

// Without a mirror step, nobody asks for policies; with one, their absence is no fault until it is its turn.
func TestPoliciesAreNotNeeded(t *testing.T) {
	for _, forbidden := range []string{"policy list", "policy unserved"} {
		c := tables([3]string{"a", "x", web})
		c.Forbidden = []string{forbidden}
		for _, in := range []intent.Intent{canary(10), canary(0), mirroring(10, -1), mirroring(0, -1)} {
			if err := on(c).Set(context.Background(), in, byName("a")); err != nil {
				t.Error(err)
			}
		}
		writes := c.Writes
		err := on(c).Set(context.Background(), mirroring(10, 35), byName("a"))
		if err == nil || !strings.HasPrefix(err.Error(), "RouteTable apps/a: MirrorPolicy: ") || c.Writes != writes {
			t.Errorf("%s: %v, with %d writes; want an error and none", forbidden, err, c.Writes-writes)
		}
		if forbidden == "policy unserved" && !errors.Is(err, engine.ErrUnserved) {
			t.Errorf("got %v", err)
		}
	}
}

// A policy belongs to its table and says whose it is, in labels of the plugin's own.
func TestPolicyMetadata(t *testing.T) {
	c := tables([3]string{"a", "x", web}, [3]string{"b", "x", web})
	for _, table := range []string{"a", "b"} {
		in := mirroring(10, 35)
		in.Owner = "apps/" + table
		if err := on(c).Set(context.Background(), in, byName(table)); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.Policies) != 2 {
		t.Fatalf("%d policies, want one for each table", len(c.Policies))
	}
	p := c.Policies[0]
	if got := fmt.Sprint(p.Labels); got != "map[rollouts.argoproj.io/managed-by:a-"+p.Labels[engine.OwnerLabel][2:]+" rollouts.argoproj.io/mirrors-routes-of:a-"+p.Labels[engine.ObjectLabel][2:]+"]" {
		t.Errorf("labels %s", got)
	}
	if len(p.Annotations) > 0 || !strings.Contains(string(p.JSON), `"ownerReferences":[{"apiVersion":"networking.gloo.solo.io/v2","kind":"RouteTable","name":"a","uid":"apps/a"}]`) {
		t.Errorf("metadata of %s", p.JSON)
	}
	in := mirroring(0, -1)
	in.Owner = "apps/a"
	if err := on(c).Set(context.Background(), in, byName("a")); err != nil || len(c.Policies) != 1 || c.Policies[0].Labels[engine.OwnerLabel][:2] != "b-" {
		t.Errorf("%v; %v are left", err, c.Policies)
	}
}
