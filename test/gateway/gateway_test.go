package gateway

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

var (
	bed *testbed.Bed
	gw  *Gateway
)

func TestMain(m *testing.M) {
	os.Exit(testbed.Run(testbed.Options{APIOnly: true}, func(b *testbed.Bed) int {
		if bed = b; b == nil {
			return m.Run()
		}
		var err error
		if gw, err = Start(context.Background(), b.Config, Options{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		code := m.Run()
		if err := gw.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return max(code, 1)
		}
		return code
	}))
}

// shop is two Services, each with a ReplicaSet.
const shop = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web, track: stable}, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: web-canary}
spec: {selector: {app: web, track: canary}, ports: [{name: http, port: 80}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-1}
spec:
  replicas: 2
  selector: {matchLabels: {app: web, track: stable, rollouts-pod-template-hash: one}}
  template:
    metadata: {labels: {app: web, track: stable, rollouts-pod-template-hash: one}}
    spec: {containers: [{name: web, image: "web:1"}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-2}
spec:
  replicas: 1
  selector: {matchLabels: {app: web, track: canary, rollouts-pod-template-hash: two}}
  template:
    metadata: {labels: {app: web, track: canary, rollouts-pod-template-hash: two}}
    spec: {containers: [{name: web, image: "web:2"}]}
`

const shopTable = `
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: shop}
spec:
  hosts: [NAMESPACE.example.com]
  http:
    - matchers: [{uri: {prefix: /shop}}]
      forwardTo:
        destinations:
          - {ref: {name: web}, port: {name: http}, weight: 75}
          - {ref: {name: web-canary}, port: {number: 80}, weight: 25}
    - matchers: [{uri: {prefix: /ext}}]
      forwardTo: {destinations: [{ref: {name: partner}, kind: EXTERNAL_SERVICE}]}
  tcp:
    - matchers: [{port: 9000}]
      forwardTo: {destinations: [{ref: {name: web}, port: {number: 80}}]}
`

// open brings the shop up, with available pods, and returns its base URL.
func open(t *testing.T) (*testbed.Scope, string) {
	t.Helper()
	s := bed.For(t)
	s.Apply(shop)
	setAvailable(t, s, "web-1", 2)
	setAvailable(t, s, "web-2", 1)
	s.Apply(shopTable)
	observe(t, s, Accepted)
	return s, "http://" + s.Namespace + ".example.com"
}

func setAvailable(t *testing.T, s *testbed.Scope, name string, n int32) {
	t.Helper()
	rs := &appsv1.ReplicaSet{}
	if err := bed.Client.Get(t.Context(), s.Key(name), rs); err != nil {
		t.Fatal(err)
	}
	rs.Status = appsv1.ReplicaSetStatus{Replicas: 2, ReadyReplicas: n, AvailableReplicas: n}
	if err := bed.Client.Status().Update(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
}

// observe waits until the gateway has judged the table in its present state so, and returns the message.
func observe(t *testing.T, s *testbed.Scope, approval string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testbed.DefaultTimeout)
	defer cancel()
	v, err := gw.WaitApproval(ctx, s.Namespace, "shop", approval)
	if err != nil {
		t.Fatal(err)
	}
	return v.Message
}

// expect waits until the answer to a GET meets the condition, since pods and Services take effect without a verdict.
func expect(t *testing.T, s *testbed.Scope, url, what string, met func(Answer) bool) {
	t.Helper()
	s.WaitUntil(what, func(ctx context.Context) (bool, error) {
		a, err := gw.Get(ctx, url)
		if err == nil && !met(a) {
			err = fmt.Errorf("%+v", a)
		}
		return err == nil, err
	})
}

// edit changes the table's spec.
func edit(t *testing.T, s *testbed.Scope, change func(spec map[string]any)) {
	t.Helper()
	if err := retry.RetryOnConflict(testbed.Patience, func() error { // the gateway writes the status
		obj := s.Get("networking.gloo.solo.io/v2", "RouteTable", "shop")
		change(obj.Object["spec"].(map[string]any))
		return bed.Client.Update(t.Context(), obj)
	}); err != nil {
		t.Fatal(err)
	}
}

// setWeights gives the weights of the first route.
func setWeights(weights ...int64) func(map[string]any) {
	return func(spec map[string]any) {
		route := spec["http"].([]any)[0].(map[string]any)
		for i, d := range route["forwardTo"].(map[string]any)["destinations"].([]any) {
			d.(map[string]any)["weight"] = weights[i]
		}
	}
}

func TestSharesFollowTheWeights(t *testing.T) {
	t.Parallel()
	s, url := open(t)
	req, err := http.NewRequest(http.MethodGet, url+"/shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, s, url+"/shop", "a version", func(a Answer) bool { return a.Version != "" })
	const n = 2000
	tally, err := gw.Share(t.Context(), n, req)
	if err != nil {
		t.Fatal(err)
	}
	// five standard deviations of a binomial: sqrt(2000 * 0.25 * 0.75) is 19.4
	if got := tally.Versions["two"]; tally.Total != n || got < 500-97 || got > 500+97 {
		t.Errorf("%d of %d went to the canary, want about 500: %+v", got, tally.Total, tally)
	}
	if tally.Images["web:2"] != tally.Versions["two"] || tally.Services["web"] != tally.Versions["one"] ||
		tally.Statuses[http.StatusOK] != n || tally.Routes[`http[0]`] != n {
		t.Errorf("counts disagree: %+v", tally)
	}
}

func TestAnswersNameWhatServes(t *testing.T) {
	t.Parallel()
	s, url := open(t)
	edit(t, s, setWeights(100, 0))
	observe(t, s, Accepted)
	expect(t, s, url+"/shop/x?y=z", "the stable version", func(a Answer) bool {
		return a == Answer{Status: 200, Outcome: Forwarded, Table: s.Namespace + "/shop", Route: "http[0]", Kind: KindService,
			Service: "web", Namespace: s.Namespace, Version: "one", Image: "web:1",
			Host: s.Namespace + ".example.com", Path: "/shop/x?y=z"}
	})
	expect(t, s, url+"/ext", "an external service", func(a Answer) bool {
		return a.Kind == KindExternalService && a.Version == "partner" && a.Status == 200
	})
	expect(t, s, url+"/none", "no route", func(a Answer) bool { return a.Status == 404 && a.Outcome == NotFound })
	setAvailable(t, s, "web-1", 0)
	expect(t, s, url+"/shop", "no pods", func(a Answer) bool { return a.Status == 503 && a.Service == "web" })
}

// It is not run beside others: a connection names no host, so that their tables would be asked as well.
func TestStreamsAreAnsweredInALine(t *testing.T) {
	s, url := open(t)
	expect(t, s, url+"/shop", "a version", func(a Answer) bool { return a.Version != "" })
	addr, err := gw.ListenTCP(9000)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if line, err := io.ReadAll(conn); err != nil || string(line) != "web one web:1\n" {
		t.Errorf("read %q, %v", line, err)
	}
}

func TestBadRouteAnswers500(t *testing.T) {
	t.Parallel()
	s, url := open(t)
	edit(t, s, setWeights(75, 20))
	if got, want := observe(t, s, Invalid), "http[0]: weights sum to 95, not 100"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	expect(t, s, url+"/shop", "a broken route", func(a Answer) bool {
		return a.Status == 500 && a.Outcome == Broken && strings.Contains(a.Message, "95")
	})
	expect(t, s, url+"/ext", "the other route", func(a Answer) bool { return a.Status == 200 })
	edit(t, s, setWeights(80, 20))
	observe(t, s, Accepted)
	expect(t, s, url+"/shop", "a good route", func(a Answer) bool { return a.Status == 200 })
}

func TestFrozenTableKeepsServing(t *testing.T) {
	t.Parallel()
	s, url := open(t)
	edit(t, s, func(spec map[string]any) {
		spec["failureMode"] = "FREEZE_CONFIG"
		setWeights(100, 0)(spec)
	})
	observe(t, s, Accepted)
	edit(t, s, setWeights(5, 90))
	observe(t, s, Invalid)
	expect(t, s, url+"/shop", "the last good table", func(a Answer) bool { return a.Version == "one" })
}

func TestServiceThatIsGoneTurnsTheVerdict(t *testing.T) {
	t.Parallel()
	s, url := open(t)
	service := s.Get("v1", "Service", "web-canary")
	if err := bed.Client.Delete(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	if got := observe(t, s, Invalid); !strings.Contains(got, "Service "+s.Namespace+"/web-canary does not exist") {
		t.Errorf("message %q", got)
	}
	expect(t, s, url+"/shop", "a broken route", func(a Answer) bool { return a.Status == 500 })
	s.Apply(shop)
	observe(t, s, Accepted)
}

func TestForcedVerdicts(t *testing.T) {
	t.Parallel()
	s, url := open(t)
	for _, tt := range []struct {
		verdict Verdict
		status  int
	}{
		{Verdict{Approval: Invalid, Message: "no"}, 500},
		{Verdict{Approval: Failed, Message: "no"}, 500},
		{Verdict{Approval: Warning, Message: "well"}, 200},
		{Verdict{Approval: Pending}, 200},
	} {
		undo := gw.Force(s.Namespace, "shop", tt.verdict)
		if got := observe(t, s, tt.verdict.Approval); got != tt.verdict.Message {
			t.Errorf("%s: message %q", tt.verdict.Approval, got)
		}
		expect(t, s, url+"/shop", tt.verdict.Approval, func(a Answer) bool { return a.Status == tt.status })
		undo()
		observe(t, s, Accepted)
	}
	undo := gw.Force(s.Namespace, "shop", Verdict{Silent: true})
	edit(t, s, setWeights(0, 100))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if v, err := gw.WaitObserved(ctx, s.Namespace, "shop"); err == nil {
		t.Errorf("a silent control plane says %+v", v)
	}
	undo()
	observe(t, s, Accepted)
	expect(t, s, url+"/shop", "the canary", func(a Answer) bool { return a.Version == "two" })
}

func TestTableGoesAway(t *testing.T) {
	t.Parallel()
	s, url := open(t)
	if err := bed.Client.Delete(t.Context(), s.Get("networking.gloo.solo.io/v2", "RouteTable", "shop")); err != nil {
		t.Fatal(err)
	}
	expect(t, s, url+"/shop", "no route", func(a Answer) bool { return a.Status == 404 })
}

// A gateway of its own, since the delay is the same for all tables.
func TestDelayAndDefaultHost(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	slow, err := Start(t.Context(), bed.Config, Options{DefaultHost: s.Namespace + ".example.com", Delay: 700 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := slow.Stop(); err != nil {
			t.Error(err)
		}
	}()
	began := time.Now()
	s.WaitUntil("the table", func(context.Context) (bool, error) {
		res, err := http.Get("http://" + slow.Addr() + "/ext")
		if err != nil {
			return false, err
		}
		return res.StatusCode == http.StatusOK, res.Body.Close()
	})
	if took := time.Since(began); took < 500*time.Millisecond {
		t.Errorf("served after %v, before the delay", took)
	}
}

func TestStateIsReadBack(t *testing.T) {
	for generation := range int64(4) {
		for _, v := range []Verdict{{Approval: Pending}, {Approval: Accepted}, {Approval: Invalid, Message: "m"}} {
			obj := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"common": map[string]any{"State": v.state(generation)}}}}
			obj.SetGeneration(generation)
			got, observed, err := readState(obj)
			if err != nil || got != v || observed != generation {
				t.Errorf("%+v of generation %d is read as %+v of %d, %v", v, generation, got, observed, err)
			}
			if patch, err := v.statusPatch(obj); patch != nil || err != nil {
				t.Errorf("%+v is patched again: %s, %v", v, patch, err)
			}
		}
	}
}
