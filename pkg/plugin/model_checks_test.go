package plugin_test

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/argoproj/argo-rollouts/rollout/trafficrouting"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
)

// requests are all that differ to any of the matchers.
var requests = func() []*http.Request {
	var list []*http.Request
	for _, line := range []string{"GET /a", "POST /a", "GET /b", "POST /b", "GET /c"} {
		method, path, _ := strings.Cut(line, " ")
		for _, who := range []string{"", "a", "ab", "b"} {
			for _, team := range []string{"", "x"} {
				req, err := http.NewRequest(method, path, http.NoBody)
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
	for name, source := range before.mirrors(r) {
		is, found := now.mirrors(r)[name]
		if was := source == ""; found && was && is != "" {
			t.Fatalf("isolation: %s: in %s mirror %s of another does not split as its source any more: %s\n%s", r.ro.Name, tb.name, name, is, w)
		}
	}
	others := func(v *view) string {
		var texts []string
		for _, route := range routes(v.tree["spec"].(tree), "http") {
			if managedBy(route) == "" || r.manages(managedBy(route)) {
				continue
			}
			if _, mirrors := route["labels"].(tree)[engine.MirrorLabel]; mirrors { // it follows its source
				route = asTree(asJSON(route))
				delete(route["forwardTo"].(tree), "destinations")
			}
			texts = append(texts, string(asJSON(route)))
		}
		return strings.Join(texts, "\n")
	}
	if is, was := others(now), others(before); is != was {
		t.Fatalf("isolation: %s changed another's managed routes from\n%s\nto\n%s", r.ro.Name, was, is)
	}
}

// mirrors tells of each mirror route but r's, by its name, how it splits if that is not as its source does: as the next route
// that the plugin did not add.
func (v *view) mirrors(r *release) map[string]string {
	differs, source := map[string]string{}, (*gateway.Route)(nil)
	for _, route := range slices.Backward(v.served.HTTP) {
		owner, mirrors := route.Labels[engine.OwnerLabel], route.Labels[engine.MirrorLabel] != ""
		switch {
		case owner == "":
			source = route
		case !mirrors || r.manages(owner) || source == nil:
		case maps.Equal(source.Spread(), route.Spread()):
			differs[route.Name] = ""
		default:
			differs[route.Name] = fmt.Sprintf("%v, not %v", route.Spread(), source.Spread())
		}
	}
	return differs
}

// checkShares is rules 7 and 8: each of the Rollout's destinations gets exactly its part of what the Rollout's have
// together, and those that are named no more get nothing.
func (w *world) checkShares(t *rapid.T, r *release, tb *table, result reconciled) {
	for n, route := range tb.live(t).plain {
		theirs := tb.theirs(t).plain[n]
		if theirs.Spread() == nil {
			continue
		}
		want, source := map[string]int{}, r.isSource(tb, theirs)
		if source {
			want = r.share(t, theirs, result)
		}
		stable, _ := r.versions()
		spread := maps.Clone(route.Spread())
		for version := range want { // one that is missing gets nothing
			spread[version] += 0
		}
		for version, got := range spread {
			_, listed := theirs.Spread()[version]
			_, hash, hashed := strings.Cut(version, "@")
			switch _, stays := route.Spread()[version]; {
			case !r.owns(version):
			case source && math.Abs(got-float64(want[version])) > 0.01:
				t.Fatalf("shares: %s %d %v: in %s %s %s gets %.1f, want %d\n%s", r.ro.Name, result.weight, result.additional, tb.name, route, version, got, want[version], w)
			case stays && !listed && want[version] == 0 && version != stable && !trafficrouting.IsPingPongEnabled(r.ro):
				t.Fatalf("change of mind: %s: in %s %s %s is left\n%s", r.ro.Name, tb.name, route, version, w)
			case source && hashed && version != stable && got > 0 && r.pods(hash) == 0:
				t.Fatalf("%s: in %s %s %s gets %.1f and has no pods\n%s", r.ro.Name, tb.name, route, version, got, w)
			}
		}
	}
}

// checkRequests compares where every request goes with where it would go without the plugin. If it would have reached one of
// the Rollout's routes and fits a managed route, it goes by the first of those: to the canary, or where it went before if
// that one mirrors. Else it goes by the same route.
func (w *world) checkRequests(t *rapid.T, r *release, tb *table) {
	managed := r.managed()
	_, canary := r.versions()
	live, theirs := tb.live(t), tb.theirs(t)
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
		if label != "" && !r.manages(label) { // another Rollout's to judge
			continue
		}
		same := live.plain[slices.Index(theirs.plain, before.Route)]
		by, split := "", same.Spread()
		if n := slices.IndexFunc(managed, func(m managedRoute) bool { return m.takes(req) }); n >= 0 && r.isSource(tb, before.Route) {
			if by = managed[n].name; managed[n].mirrors == nil {
				split = map[string]float64{canary: 100}
			}
		}
		if by != nameOf(now.Route) || by == "" && now.Route != same || !maps.Equal(split, now.Route.Spread()) {
			t.Fatalf("%s: %s %s %s %v goes by %s to %v, want by %q to %v\n%s", r.ro.Name, tb.name, req.Method, req.URL, req.Header, now.Route, now.Route.Spread(), by, split, w)
		}
	}
}

// nameOf returns which managed route a route is: its name but for a number; "" if it is none.
func nameOf(route *gateway.Route) string {
	if route.Labels[engine.OwnerLabel] == "" {
		return ""
	}
	name, _, _ := strings.Cut(route.Name, "-")
	return name
}

// checkManaged looks at the Rollout's managed routes and policies in and beside a table: each is one that is wanted; each that
// mirrors is found by one policy, which mirrors to the canary as the step says; and no policy is left without.
func (w *world) checkManaged(t *rapid.T, r *release, tb *table) {
	_, canary := r.versions()
	uses := map[*gateway.Policy]int{}
	policies := w.policies(t, r, tb)
	for _, route := range tb.live(t).served.HTTP {
		if !r.manages(route.Labels[engine.OwnerLabel]) {
			continue
		}
		n := slices.IndexFunc(r.managed(), func(m managedRoute) bool { return m.name == nameOf(route) })
		if n < 0 {
			t.Fatalf("%s: in %s managed route %s is left\n%s", r.ro.Name, tb.name, route, w)
		}
		found := 0
		for _, p := range policies {
			if !p.Selects(tb.live(t).served, route, "") {
				continue
			}
			if found++; p.Destination.Version() != canary || p.Percentage != float64(r.managed()[n].percentage) {
				t.Fatalf("%s: in %s %s mirrors %v percent to %s, want %d to %s", r.ro.Name, tb.name, route, p.Percentage, p.Destination.Version(), r.managed()[n].percentage, canary)
			}
			uses[p]++
		}
		if mirrors := r.managed()[n].mirrors != nil; mirrors != (found == 1) || found > 1 {
			t.Fatalf("%s: in %s %s has %d policies\n%s", r.ro.Name, tb.name, route, found, w)
		}
	}
	for _, p := range policies {
		if uses[p] == 0 && w.cluster.Forbidden == nil {
			t.Fatalf("%s: beside %s policy %s is left\n%s", r.ro.Name, tb.name, p.Name, w)
		}
	}
}

// policies are those of a Rollout beside a table.
func (w *world) policies(t *rapid.T, r *release, tb *table) []*gateway.Policy {
	var found []*gateway.Policy
	for _, o := range w.cluster.Policies {
		if r.manages(o.Labels[engine.OwnerLabel]) && strings.HasPrefix(o.Labels[engine.ObjectLabel], tb.name+"-") {
			found = append(found, policy(t, o))
		}
	}
	return found
}

func policy(t *rapid.T, o engine.Object) *gateway.Policy {
	p, err := gateway.DecodePolicy(&unstructured.Unstructured{Object: asTree(o.JSON)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// checkMirrors is what holds at any time: what a policy finds is a mirror route of its Rollout.
func (w *world) checkMirrors(t *rapid.T) {
	for _, o := range w.cluster.Policies {
		p := policy(t, o)
		for _, tb := range w.tables {
			for _, route := range tb.live(t).served.HTTP {
				if p.Selects(tb.live(t).served, route, "") && (route.Labels[engine.MirrorLabel] == "" || route.Labels[engine.OwnerLabel] != o.Labels[engine.OwnerLabel]) {
					t.Fatalf("%s mirrors %s %s\n%s", p.Name, tb.name, route, w)
				}
			}
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
	// Which of two services holds the weight is not restored, nor is the stable hash.
	changed := trafficrouting.IsPingPongEnabled(w.releases[0].ro) || w.releases[0].byHash
	if _, left := tb.object().Annotations[engine.Annotation]; left && !changed {
		t.Fatalf("reversibility: %s keeps its annotation\n%s", tb.name, w)
	}
	if len(live.served.HTTP) != len(theirs.served.HTTP) {
		t.Fatalf("reversibility: %s keeps managed routes\n%s", tb.name, w)
	}
	if changed {
		return
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
