package gateway

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"testing"

	"k8s.io/client-go/tools/cache"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// mirroredShop is a shop where GETs of /shop go by a route of their own. A policy applies to tables of all namespaces, so its
// label is the test's own.
const mirroredShop = `
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: shop}
spec:
  hosts: [NAMESPACE.example.com]
  http:
    - labels: {copied: NAMESPACE, more: x}
      matchers: [{uri: {prefix: /shop}, method: GET}]
      forwardTo: {pathRewrite: /, destinations: [{ref: {name: web}, weight: 100}, {ref: {name: web-canary}, weight: 0}]}
    - {matchers: [{uri: {prefix: /shop}}], forwardTo: {destinations: [{ref: {name: web}}]}}
`

const mirror = `
apiVersion: trafficcontrol.policy.gloo.solo.io/v2
kind: MirrorPolicy
metadata: {name: mirror}
spec:
  applyToRoutes: [{route: {labels: {copied: NAMESPACE}}}]
  config: {percentage: 35, destination: {ref: {name: web-canary}, port: {number: 80}}}
`

// openMirrored brings the shop up with its pods, and with a policy that was accepted.
func openMirrored(t *testing.T) (*testbed.Scope, string) {
	t.Helper()
	s, url := open(t)
	s.Apply(mirroredShop)
	observe(t, s, Accepted)
	s.Apply(mirror)
	judged(t, s, Accepted)
	expect(t, s, url+"/shop", "stable pods", func(a Answer) bool { return a.Version == "one" })
	expect(t, s, url+"/shop", "the routes", func(a Answer) bool { return a.Path == "/" })
	return s, url
}

// judged waits until the gateway has judged the policy in its present state so, and returns the message.
func judged(t *testing.T, s *testbed.Scope, approval string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testbed.DefaultTimeout)
	defer cancel()
	v, err := gw.WaitPolicy(ctx, s.Namespace, "mirror", approval)
	if err != nil {
		t.Fatal(err)
	}
	return v.Message
}

// send sends n requests, which are all to be answered.
func send(t *testing.T, n int, method, url string) {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	tally, err := gw.Share(t.Context(), n, req)
	if err != nil || tally.Statuses[http.StatusOK] != n {
		t.Fatalf("%+v, %v", tally, err)
	}
}

func TestMirrorCountsCopies(t *testing.T) {
	t.Parallel()
	s, url := openMirrored(t)
	before := gw.Mirrored(s.Namespace, "mirror")
	send(t, 2000, http.MethodGet, url+"/shop/a?x=y")
	send(t, 100, http.MethodPost, url+"/shop/a")
	after := gw.Mirrored(s.Namespace, "mirror")
	if got := after.Requests - before.Requests; got != 2000 {
		t.Errorf("decided about %d requests, want 2000", got)
	}
	copies := after.Copies - before.Copies
	if spread := 5 * math.Sqrt(2000*0.35*0.65); math.Abs(float64(copies)-700) > spread {
		t.Errorf("%d copies of 2000 requests, want 700 within %.0f", copies, spread)
	}
	if after.Lines["GET /shop/a"] != copies || after.Versions["two"] != after.Copies || after.Images["web:2"] != after.Copies {
		t.Errorf("counts disagree: %+v", after)
	}
	for _, line := range slices.Sorted(maps.Keys(after.Lines)) {
		if line != "GET /shop/a" && line != "GET /shop" {
			t.Errorf("copied %s", line)
		}
	}
}

func TestMirrorFollowsItsPolicy(t *testing.T) {
	t.Parallel()
	s, url := openMirrored(t)
	s.Apply(`
apiVersion: trafficcontrol.policy.gloo.solo.io/v2
kind: MirrorPolicy
metadata: {name: mirror}
spec:
  applyToRoutes: [{route: {labels: {copied: NAMESPACE}}}]
  config: {destination: {ref: {name: web}, subset: {rollouts-pod-template-hash: one}}}
`)
	judged(t, s, Accepted)
	before := gw.Mirrored(s.Namespace, "mirror")
	send(t, 50, http.MethodGet, url+"/shop")
	after := gw.Mirrored(s.Namespace, "mirror")
	if copies := after.Copies - before.Copies; copies != 50 || after.Versions["one"] != 50 {
		t.Errorf("%d copies, want 50 to the subset: %+v", copies, after)
	}

	policy := s.Get("trafficcontrol.policy.gloo.solo.io/v2", "MirrorPolicy", "mirror")
	if err := bed.Client.Delete(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	s.WaitUntil("nothing to be copied", func(ctx context.Context) (bool, error) {
		before := gw.Mirrored(s.Namespace, "mirror")
		_, err := gw.Get(ctx, url+"/shop")
		return gw.Mirrored(s.Namespace, "mirror").Requests == before.Requests, err
	})
}

// A request that reaches nobody is not copied; a copy that reaches nobody is counted all the same.
func TestMirrorWithoutPods(t *testing.T) {
	t.Parallel()
	s, url := openMirrored(t)
	setAvailable(t, s, "web-2", 0)
	setAvailable(t, s, "web-1", 0)
	expect(t, s, url+"/shop", "no pods", func(a Answer) bool { return a.Status == http.StatusServiceUnavailable })
	before := gw.Mirrored(s.Namespace, "mirror")
	for range 100 {
		if _, err := gw.Get(t.Context(), url+"/shop"); err != nil {
			t.Fatal(err)
		}
	}
	if after := gw.Mirrored(s.Namespace, "mirror"); after.Requests != before.Requests {
		t.Errorf("decided about %d requests that reached nobody", after.Requests-before.Requests)
	}
	setAvailable(t, s, "web-1", 2)
	expect(t, s, url+"/shop", "pods", func(a Answer) bool { return a.Status == http.StatusOK })
	before = gw.Mirrored(s.Namespace, "mirror")
	send(t, 500, http.MethodGet, url+"/shop")
	after := gw.Mirrored(s.Namespace, "mirror")
	if after.Copies == before.Copies || after.Versions["two"] != before.Versions["two"] {
		t.Errorf("copies to nobody: %+v, before them %+v", after, before)
	}
}

func TestPolicyIsJudged(t *testing.T) {
	t.Parallel()
	s, url := openMirrored(t)
	if err := bed.Client.Delete(t.Context(), s.Get("v1", "Service", "web-canary")); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("Service %s/web-canary does not exist", s.Namespace)
	if got := judged(t, s, Invalid); got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	edit(t, s, func(spec map[string]any) { // the table does without it
		for _, route := range spec["http"].([]any) {
			route.(map[string]any)["forwardTo"] = map[string]any{"destinations": []any{map[string]any{"ref": map[string]any{"name": "web"}}}}
		}
	})
	observe(t, s, Accepted)
	before := gw.Mirrored(s.Namespace, "mirror")
	send(t, 20, http.MethodGet, url+"/shop")
	if after := gw.Mirrored(s.Namespace, "mirror"); after.Requests != before.Requests {
		t.Errorf("a policy that is INVALID had %d requests", after.Requests-before.Requests)
	}
	s.Apply(shop)
	if got := judged(t, s, Accepted); got != "" {
		t.Errorf("message %q, want none", got)
	}
	policy := s.Get("trafficcontrol.policy.gloo.solo.io/v2", "MirrorPolicy", "mirror")
	if _, generation, err := readState(policy); err != nil || generation != policy.GetGeneration() {
		t.Errorf("observed generation %d, %v; want %d", generation, err, policy.GetGeneration())
	}
	s.Apply(`
apiVersion: trafficcontrol.policy.gloo.solo.io/v2
kind: MirrorPolicy
metadata: {name: mirror}
spec: {config: {destination: {ref: {name: web}, port: {number: 81}}}}
`)
	want = fmt.Sprintf("Service %s/web has no port 81", s.Namespace)
	if got := judged(t, s, Invalid); got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

func TestSubsetTellsVersionsOfOneServiceApart(t *testing.T) {
	t.Parallel()
	s, url := open(t)
	s.Apply(`
apiVersion: v1
kind: Service
metadata: {name: both}
spec: {selector: {app: web}, ports: [{name: http, port: 80}]}
---
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: shop}
spec:
  hosts: [NAMESPACE.example.com]
  http:
    - {matchers: [{uri: {exact: /any}}], forwardTo: {destinations: [{ref: {name: both}}]}}
    - {matchers: [{uri: {exact: /none}}], forwardTo: {destinations: [{ref: {name: both}, subset: {rollouts-pod-template-hash: three}}]}}
    - matchers: [{uri: {exact: /split}}]
      forwardTo:
        destinations:
          - {ref: {name: both}, subset: {rollouts-pod-template-hash: one}, weight: 30}
          - {ref: {name: both}, subset: {rollouts-pod-template-hash: two}, weight: 70}
`)
	observe(t, s, Accepted)
	for _, version := range []string{"one", "two"} {
		expect(t, s, url+"/any", "version "+version, func(a Answer) bool { return a.Version == version })
	}
	expect(t, s, url+"/none", "no pods", func(a Answer) bool { return a.Status == http.StatusServiceUnavailable && a.Service == "both" })
	expect(t, s, url+"/split", "the routes", func(a Answer) bool { return a.Status == http.StatusOK })
	req, err := http.NewRequest(http.MethodGet, url+"/split", nil)
	if err != nil {
		t.Fatal(err)
	}
	tally, err := gw.Share(t.Context(), 1000, req)
	if err != nil {
		t.Fatal(err)
	}
	if got := tally.Versions["one"]; got < 300-73 || got > 300+73 || tally.Versions["two"] != 1000-got { // 5 standard deviations
		t.Errorf("%v, want about 300 of version one and the others of two", tally.Versions)
	}
}

func TestMirroredAddsUpANamespace(t *testing.T) {
	g := &Gateway{copies: Copies{by: map[cache.ObjectName]*Mirrored{
		{Namespace: "a", Name: "b"}: {Requests: 2, Copies: 1, Lines: map[string]int{"GET /": 1}},
		{Namespace: "a", Name: "c"}: {Requests: 3, Copies: 3, Lines: map[string]int{"GET /": 3}},
		{Namespace: "d", Name: "b"}: {Requests: 9, Copies: 9, Lines: map[string]int{"GET /": 9}},
	}}}
	g.Mirrored("a", "b").Lines["GET /"] = 7 // does not reach the counts
	for _, tt := range []struct {
		namespace, name  string
		requests, copies int
	}{{"a", "b", 2, 1}, {"a", "", 5, 4}, {"d", "c", 0, 0}} {
		if got := g.Mirrored(tt.namespace, tt.name); got.Requests != tt.requests || got.Copies != tt.copies || got.Lines["GET /"] != tt.copies {
			t.Errorf("%s/%s: %+v", tt.namespace, tt.name, got)
		}
	}
}
