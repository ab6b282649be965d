package plugin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	"github.com/hashicorp/go-hclog"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/memory"
)

// The rules of the design hold whatever the controller goes through with two Rollouts on the same tables, and whatever
// people do meanwhile. world is those Rollouts and tables.
type world struct {
	cluster  *memory.Cluster
	tables   []*table
	releases []*release
}

func drawWorld(t *rapid.T) *world {
	w := &world{cluster: &memory.Cluster{Services: map[string]intent.Service{}}}
	kind := rapid.SampledFrom([]string{"services", "services", "ping-pong", "hash"}).Draw(t, "kind")
	for _, name := range []string{"demo", "more"} {
		w.tables = append(w.tables, drawTable(t, w.cluster, name, kind == "hash"))
	}
	for _, of := range [][2]string{{"web", kind}, {"api", "services"}} {
		name, kind := of[0], of[1]
		r := &release{controlled: newControlled(name, drawStrategy(t, name, kind)), byHash: kind == "hash"}
		for _, service := range r.own() {
			w.cluster.Services[service] = intent.Service{Ports: []intent.ServicePort{{Number: 8080}}}
		}
		w.releases = append(w.releases, r)
		r.selectAnew(t)
	}
	w.restartPlugin()
	for _, r := range w.releases {
		w.settle(t, r)
	}
	return w
}

// restartPlugin replaces the plugin's process by another.
func (w *world) restartPlugin() {
	router := plugin.OnCluster(w.cluster, hclog.New(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Off}))
	for _, r := range w.releases {
		r.router, r.clearedAt = router, -1
	}
}

// reconcile lets the controller reconcile one Rollout, and checks what comes of it.
func (w *world) reconcile(t *rapid.T, r *release, cut int) {
	before := map[*table]*view{}
	for _, tb := range w.tables {
		before[tb] = tb.live(t)
	}
	writes, excused := w.cluster.Writes, w.cluster.Forbidden != nil && r.mirrors()
	r.controlled.reconcile(cut, func(result reconciled) {
		if result.cleared {
			r.clearedAt = r.version
		}
		if r.changed = r.changed || result.err != nil; result.err != nil && !errors.Is(result.err, errCut) && !excused {
			t.Fatalf("%s: %v\n%s", r.ro.Name, result.err, w)
		}
		for _, tb := range w.tables {
			w.checkOthers(t, r, tb, before[tb])
		}
		if !result.done {
			return
		}
		r.changed, r.forgotten = false, false
		if result.verified != types.Verified && !excused {
			t.Fatalf("%s: not verified\n%s", r.ro.Name, w)
		}
		for _, tb := range w.tables {
			w.checkShares(t, r, tb, result)
			w.checkRequests(t, r, tb)
			w.checkManaged(t, r, tb)
		}
		if w.cluster.Writes > writes {
			w.checkIdempotence(t, r)
		}
	})
}

// settle gives a Rollout all pods and reconciles it until nothing changes any more.
func (w *world) settle(t *rapid.T, r *release) {
	for range 20 {
		clear(r.missing)
		version := r.version
		w.reconcile(t, r, -1)
		if version == r.version {
			return
		}
	}
	t.Fatalf("%s does not settle", r.ro.Name)
}

// finish lets both Rollouts come to rest and checks rule 4: the tables are as their owners have them.
func (w *world) finish(t *rapid.T) {
	w.cluster.Forbidden = nil
	for _, r := range w.releases {
		r.table, r.main = "", false
		r.setBlock()
		if r.isUpdating() || r.template != r.ro.Status.CurrentPodHash {
			r.rollBack()
		}
	}
	for _, r := range []*release{w.releases[0], w.releases[1], w.releases[0]} { // the first to rest may have to wait for the other
		w.settle(t, r)
	}
	w.checkAlways(t)
	for _, tb := range w.tables {
		w.checkRestored(t, tb)
	}
	if len(w.cluster.Policies) > 0 {
		t.Fatalf("%d policies are left, as %s", len(w.cluster.Policies), w.cluster.Policies[0].JSON)
	}
}

// String prints the world for the reader of a failure.
func (w *world) String() string {
	text := &strings.Builder{}
	for _, tb := range w.tables {
		fmt.Fprintf(text, "--- %s in the cluster\n%s--- and as its owners have it\n%s", tb.name, asYAML(tb.object().JSON), asYAML(asJSON(tb.mine)))
	}
	for _, r := range w.releases {
		strategy, err := json.Marshal(r.ro.Spec.Strategy.Canary)
		if err != nil {
			return err.Error()
		}
		status, err := json.Marshal(r.ro.Status)
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(text, "--- Rollout %s at %s, template %s, missing pods %v\n%s%s", r.ro.Name, r.ro.ResourceVersion, r.template, r.missing, asYAML(strategy), asYAML(status))
	}
	return text.String()
}

func asYAML(raw []byte) string {
	text, err := yaml.JSONToYAML(raw)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// mayForget reports whether the annotations may be lost now, and reckons with it: see [release].
func (w *world) mayForget(t *rapid.T) bool {
	if w.releases[0].changed || w.releases[1].changed || w.policiesIdle(t) {
		return false
	}
	w.releases[0].forgotten, w.releases[1].forgotten = true, true
	return true
}

// lists reports whether the owners list a destination in any table.
func (w *world) lists(name string) bool {
	return slices.ContainsFunc(w.tables, func(tb *table) bool {
		return slices.ContainsFunc(routes(tb.mine["spec"].(tree), "http"), func(r tree) bool { return slices.Contains(names(r), name) })
	})
}

// policiesIdle reports whether a policy is left that finds no route, because it could not be deleted.
func (w *world) policiesIdle(t *rapid.T) bool {
	return slices.ContainsFunc(w.cluster.Policies, func(o engine.Object) bool {
		return !slices.ContainsFunc(w.tables, func(tb *table) bool {
			return slices.ContainsFunc(tb.live(t).served.HTTP, func(route *gateway.Route) bool {
				return policy(t, o).Selects(tb.live(t).served, route, "")
			})
		})
	})
}

func TestRulesUnderTheController(t *testing.T) {
	rapid.Check(t, rulesUnderTheController)
}

func rulesUnderTheController(t *rapid.T) {
	w := drawWorld(t)
	pick := func(t *rapid.T) *release { return w.releases[rapid.IntRange(0, len(w.releases)-1).Draw(t, "rollout")] }
	at := func(t *rapid.T) *table { return w.tables[rapid.IntRange(0, len(w.tables)-1).Draw(t, "table")] }
	updating := func(t *rapid.T, do func(*release)) {
		if r := pick(t); r.isUpdating() {
			do(r)
		} else {
			r.newRevision()
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"a new revision":  func(t *rapid.T) { pick(t).newRevision() },
		"roll back":       func(t *rapid.T) { updating(t, (*release).rollBack) },
		"abort":           func(t *rapid.T) { updating(t, (*release).abort) },
		"retry":           func(t *rapid.T) { updating(t, (*release).retry) },
		"promote":         func(t *rapid.T) { updating(t, (*release).skipStep) },
		"promote in full": func(t *rapid.T) { updating(t, (*release).promoteFull) },
		"edit the steps": func(t *rapid.T) {
			r := pick(t)
			if r.forgotten {
				return
			}
			r.canary().Steps, r.stepsChanged, r.changed = drawSteps(t, r.max()), true, true
			r.touch()
		},
		"rename the canary": func(*rapid.T) {
			r := w.releases[1]
			if r.forgotten && w.lists(r.canary().CanaryService) {
				return
			}
			r.changed = r.changed || w.lists(r.canary().CanaryService)
			names := map[string]string{"api-canary": "api-canary2", "api-canary2": "api-canary"}
			r.canary().CanaryService = names[r.canary().CanaryService]
			r.touch()
		},
		"select anew": func(t *rapid.T) {
			if r := pick(t); !r.forgotten {
				r.selectAnew(t)
				r.changed = true
			}
		},
		"an experiment": func(t *rapid.T) {
			r := pick(t)
			r.service = rapid.SampledFrom([]*string{nil, new(""), new(r.ro.Name + "-exp")}).Draw(t, "service")
		},
		"restart the plugin": func(*rapid.T) { w.restartPlugin() },
		"lose the annotation": func(t *rapid.T) {
			if tb := at(t); !w.releases[0].needsMemory(tb) && w.mayForget(t) {
				tb.loseAnnotations()
			}
		},
		"revert": func(t *rapid.T) { at(t).revert(rapid.Bool().Draw(t, "annotations") && w.mayForget(t)) },
		"edit":   func(t *rapid.T) { drawEdit(t, at(t)) },
		"somebody is faster": func(t *rapid.T) {
			if rapid.IntRange(0, 3).Draw(t, "is") > 0 { // the plugin waits then, which takes time
				return
			}
			tb := at(t)
			w.cluster.Meddle = func() {
				w.cluster.Meddle = nil
				tb.edit(func(spec tree) { spec["weight"] = json.Number("7") })
			}
		},
		"cut short": func(t *rapid.T) { w.reconcile(t, pick(t), rapid.IntRange(0, 4).Draw(t, "call")) },
		"policies are forbidden, or not": func(t *rapid.T) {
			w.cluster.Forbidden = rapid.SampledFrom([][]string{nil, nil, {"policy create"}, {"policy delete"}, {"policy patch"}, {"policy list"}}).Draw(t, "forbidden")
		},
		"the policies are deleted": func(*rapid.T) { w.cluster.Policies = nil },
		"pods come and go": func(t *rapid.T) {
			r := pick(t)
			for _, hash := range []string{r.template, r.ro.Status.StableRS} {
				r.missing[hash] = rapid.SampledFrom([]int32{0, 0, replicas, replicas / 2, 1}).Draw(t, "missing")
			}
		},
		"settle": func(t *rapid.T) { w.settle(t, pick(t)) },
		"": func(t *rapid.T) {
			w.checkAlways(t)
			w.checkMirrors(t)
			if rapid.IntRange(0, 2).Draw(t, "reconcile") > 0 {
				w.reconcile(t, pick(t), -1)
				w.checkAlways(t)
				w.checkMirrors(t)
			}
		},
	})
	w.finish(t)
}
