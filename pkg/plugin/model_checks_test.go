package plugin_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/argoproj/argo-rollouts/rollout/trafficrouting"
	"pgregory.net/rapid"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
)

// requests are all that differ to any of the matchers.
var requests = func() []*http.Request {
	var list []*http.Request
	for _, path := range []string{"/a", "/b", "/c"} {
		for _, who := range []string{"", "a", "ab", "b"} {
			for _, team := range []string{"", "x"} {
				req, err := http.NewRequest(http.MethodGet, path, http.NoBody)
				if err != nil {
					panic(err)
				}
				if req.Header.Set("who", who); who == "" {
					req.Header.Del("who")
				}
				if req.Header.Set("team", team); team == "" {
					req.Header.Del("team")
				}
				list = append(list, req)
			}
		}
	}
	return list
}()

// checkIdempotence is rule 3: a second reconcile like the first writes nothing.
func (w *world) checkIdempotence(t *rapid.T, r *release) {
	writes := w.cluster.Writes
	if again := r.routeTraffic(-1, r.ro.Status.DeepCopy()); again.err != nil || w.cluster.Writes > writes {
		t.Fatalf("idempotence: %s again: %d writes, %v\n%s", r.ro.Name, w.cluster.Writes-writes, again.err, w)
	}
}

// checkAlways is what holds at any time: what others own in a table is as they have it, and the gateway takes it.
func (w *world) checkAlways(t *rapid.T) {
	for _, tb := range w.tables {
		live := tb.live(t)
		if live.checked {
			continue
		}
		live.checked = true
		is, want := asJSON(foreignPart(live.tree, tb.mine, w.owns)), asJSON(foreignPart(tb.mine, tb.mine, w.owns))
		if string(is) != string(want) {
			t.Fatalf("locality: of others is\n%s\nwhere they have\n%s\nin\n%s", asYAML(is), asYAML(want), w)
		}
		for _, route := range append(slices.Clone(live.served.HTTP), live.served.TCP...) {
			if route.Fault != nil {
				t.Fatalf("%s %s: %v\n%s", tb.name, route, route.Fault, w)
			}
		}
	}
}

func (w *world) owns(name string) bool {
	return slices.ContainsFunc(w.releases, func(r *release) bool { return r.owns(name) })
}

// checkOthers is rule 6: what others get of a table, and their managed routes, stay as they were.
func (w *world) checkOthers(t *rapid.T, r *release, tb *table, before *view) {
	now := tb.live(t)
	if now == before {
		return
	}
	for n, route := range now.plain {
		was, is := before.plain[n].Spread(), route.Spread()
		for name := range is {
			if !r.owns(name) && math.Abs(is[name]-was[name]) >= 1 {
				t.Fatalf("isolation: %s: in %s %s %s had %.1f and gets %.1f\n%s", r.ro.Name, tb.name, route, name, was[name], is[name], w)
			}
		}
	}
	others := func(v *view) string {
		return fmt.Sprint(slices.DeleteFunc(routes(v.tree["spec"].(tree), "http"), func(route tree) bool { return managedBy(route) == "" || r.manages(managedBy(route)) }))
	}
	if is, was := others(now), others(before); is != was {
		t.Fatalf("isolation: %s changed another's managed routes from\n%s\nto\n%s", r.ro.Name, was, is)
	}
}

// checkShares is rules 7 and 8: each of the Rollout's destinations gets exactly its part of what the Rollout's have
// together, and those that are named no more get nothing.
func (w *world) checkShares(t *rapid.T, r *release, tb *table, result reconciled) {
	for n, route := range tb.live(t).plain {
		theirs := tb.theirs(t).plain[n]
		if theirs.Spread() == nil {
			continue
		}
		want := map[string]int{}
		if r.isSource(tb, theirs) {
			want = r.share(t, theirs, result)
		}
		spread := route.Spread()
		for _, name := range r.own() {
			_, listed := theirs.Spread()[name]
			switch got, stays := spread[name]; {
			case r.isSource(tb, theirs) && math.Abs(got-float64(want[name])) > 0.01:
				t.Fatalf("shares: %s %d %v: in %s %s %s gets %.1f, want %d\n%s", r.ro.Name, result.weight, result.additional, tb.name, route, name, got, want[name], w)
			case stays && !listed && want[name] == 0 && !trafficrouting.IsPingPongEnabled(r.ro):
				t.Fatalf("change of mind: %s: in %s %s %s is left\n%s", r.ro.Name, tb.name, route, name, w)
			}
		}
	}
}

// checkRequests compares where every request goes with where it would go without the plugin. It goes to the canary if it
// would have reached one of the Rollout's routes and fits one of its headers; else it goes by the same route.
func (w *world) checkRequests(t *rapid.T, r *release, tb *table) {
	headers := r.headers()
	_, canary := trafficrouting.GetStableAndCanaryServices(r.ro, true)
	live, theirs := tb.live(t), tb.theirs(t)
	for _, route := range live.served.HTTP {
		if len(headers) == 0 && r.manages(route.Labels[engine.OwnerLabel]) {
			t.Fatalf("%s: in %s managed route %s is left\n%s", r.ro.Name, tb.name, route, w)
		}
	}
	for _, req := range requests {
		req.Host = tb.host
		before, now := decide(theirs, req), decide(live, req)
		if before.Route == nil {
			if now.Route != nil {
				t.Fatalf("%s %v: %s takes what nobody took\n%s", req.URL, req.Header, now.Route, w)
			}
			continue
		}
		label := now.Route.Labels[engine.OwnerLabel]
		same := live.plain[slices.Index(theirs.plain, before.Route)]
		switch wanted := r.isSource(tb, before.Route) && fitsAny(headers, req); {
		case label != "" && !r.manages(label): // another Rollout's to judge
		case wanted && (label == "" || now.Route.Spread()[canary] != 100):
			t.Fatalf("%s: %s %s %v goes by %s, want the canary\n%s", r.ro.Name, tb.name, req.URL, req.Header, now.Route, w)
		case !wanted && now.Route != same:
			t.Fatalf("%s: %s %s %v goes by %s, want %s\n%s", r.ro.Name, tb.name, req.URL, req.Header, now.Route, same, w)
		}
	}
}

func decide(v *view, req *http.Request) gateway.Decision {
	return gateway.Decide([]*gateway.Table{v.served}, req, 80, func(int) int { return 0 })
}

// checkRestored compares a table at rest with its owners' one. Only a weight may be spelt in another way: where memory of
// it was lost, or where its spelling sends something to a canary.
func (w *world) checkRestored(t *rapid.T, tb *table) {
	live, theirs := tb.live(t), tb.theirs(t)
	if trafficrouting.IsPingPongEnabled(w.releases[0].ro) {
		return
	}
	if _, left := tb.object().Annotations[engine.Annotation]; left {
		t.Fatalf("reversibility: %s keeps its annotation\n%s", tb.name, w)
	}
	if len(live.served.HTTP) != len(theirs.served.HTTP) {
		t.Fatalf("reversibility: %s keeps managed routes\n%s", tb.name, w)
	}
	for _, section := range []string{"http", "tcp"} {
		mine := routes(tb.mine["spec"].(tree), section)
		for n, route := range routes(live.tree["spec"].(tree), section) {
			if fmt.Sprint(names(route)) != fmt.Sprint(names(mine[n])) {
				t.Fatalf("reversibility: %s %s[%d] lists %v, want %v\n%s", tb.name, section, n, names(route), names(mine[n]), w)
			}
			exact := !tb.lost && !slices.Contains(names(mine[n]), "web-canary")
			if is, want := asJSON(route), asJSON(mine[n]); exact && string(is) != string(want) {
				t.Fatalf("reversibility: %s %s[%d] is\n%s\nwhere the owners have\n%s\n%s", tb.name, section, n, asYAML(is), asYAML(want), w)
			}
		}
	}
}
