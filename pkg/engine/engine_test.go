package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/memory"
)

// memoryCluster is a cluster of RouteTables.
type memoryCluster struct{ memory.Cluster }

// tables returns a cluster with Services web and web-canary, and these RouteTables of namespace apps, each given as its
// name, its label app and the destinations of its only route.
func tables(given ...[3]string) *memoryCluster {
	c := &memoryCluster{memory.Cluster{Services: map[string]intent.Service{
		"web":        {Ports: []intent.ServicePort{{Number: 8080}}},
		"web-canary": {Ports: []intent.ServicePort{{Number: 8080}}},
	}}}
	for _, t := range given {
		raw, err := yaml.YAMLToJSON([]byte(fmt.Sprintf(
			"metadata: {namespace: apps, name: %s, labels: {app: '%s'}}\nspec: {http: [{name: all, forwardTo: {destinations: [%s]}}]}", t[0], t[1], t[2])))
		if err != nil {
			panic(err)
		}
		c.Put(raw)
	}
	return c
}

// weights prints the weights of a table's only route, as "web 90, web-canary 10"; a missing one is a dash.
func (c *memoryCluster) weights(table string) string {
	routes, err := gloo.RouteTables{}.Routes(c.Objects[c.Index("apps", table)].JSON)
	if err != nil {
		return err.Error()
	}
	return weightsOf(routes[0])
}

func weightsOf(r engine.Route) string {
	var texts []string
	for _, e := range r.Entries {
		weight := "-"
		if e.Weight != nil {
			weight = fmt.Sprint(*e.Weight)
		}
		texts = append(texts, e.Name+" "+weight)
	}
	return strings.Join(texts, ", ")
}

func on(c *memoryCluster) *engine.Engine {
	return engine.New(c, hclog.NewNullLogger())
}

func byName(name string) []engine.Target {
	return []engine.Target{{API: gloo.RouteTables{}, Namespace: "apps", Name: name}}
}

func byLabel(t testing.TB, selector string) []engine.Target {
	s, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	return []engine.Target{{API: gloo.RouteTables{}, Namespace: "apps", Selector: s}}
}

func canary(share int) intent.Intent {
	service := func(name string) intent.Destination {
		return intent.Destination{Kind: config.KindService, Namespace: "apps", Name: name}
	}
	return intent.Intent{Owner: "apps/web", Namespace: "apps", Stable: service("web"), Canary: service("web-canary"), CanaryShare: share, MaxShare: 100}
}

const (
	web   = "{ref: {name: web}}"
	other = "{ref: {name: other}}"
)

func TestSet(t *testing.T) {
	for _, tt := range []struct {
		name    string
		cluster *memoryCluster
		targets []engine.Target
		want    map[string]string
		writes  int
		err     string
	}{
		{"by name, and no other table", tables([3]string{"a", "x", web}, [3]string{"b", "x", web}), byName("a"),
			map[string]string{"a": "web 90, web-canary 10", "b": "web -"}, 1, ""},
		{"by label, passing over what does not forward to stable",
			tables([3]string{"a", "x", web}, [3]string{"b", "x", web}, [3]string{"c", "x", other}, [3]string{"d", "y", web}), byLabel(t, "app=x"),
			map[string]string{"a": "web 90, web-canary 10", "b": "web 90, web-canary 10", "c": "other -", "d": "web -"}, 2, ""},
		{"as asked already", tables([3]string{"a", "x", "{ref: {name: web}, weight: 90}, {ref: {name: web-canary}, weight: 10}"}), byName("a"),
			map[string]string{"a": "web 90, web-canary 10"}, 1, ""}, // what was there is remembered
		{"no such table", tables([3]string{"a", "x", web}, [3]string{"b", "x", web}), byName("c"), nil, 0,
			"RouteTable apps/c does not exist; there are a, b: correct the selector or create it"},
		{"no tables at all", tables(), byName("c"), nil, 0,
			"RouteTable apps/c does not exist; that namespace has none at all: is it the right one?"},
		{"no table with the label", tables([3]string{"a", "x", web}), byLabel(t, "app=z"), nil, 0,
			"no RouteTable in namespace apps matches app=z; there are a: correct the selector or create it"},
		{"nothing but tables to pass over", tables([3]string{"a", "x", other}, [3]string{"b", "x", other}), byLabel(t, "app=x"),
			map[string]string{"a": "other -"}, 0,
			`RouteTable apps/a: none of its 1 routes forwards to stable Service apps/web (http[0] "all" forwards to Service apps/other); add it to a route or select its table; ` +
				`RouteTable apps/b: none of its 1 routes forwards to stable Service apps/web (http[0] "all" forwards to Service apps/other); add it to a route or select its table`},
		{"one that cannot be served does not keep the others back",
			tables([3]string{"a", "x", "{ref: {name: web}, subset: {v: '1'}}"}, [3]string{"b", "x", web}), byLabel(t, "app=x"),
			map[string]string{"a": "web -", "b": "web 90, web-canary 10"}, 1,
			`RouteTable apps/a: http[0] "all": stable has a subset and no canary is listed; list it or set canary.subset`},
		{"a named table without the labels", tables([3]string{"a", "x", web}), []engine.Target{{API: gloo.RouteTables{}, Namespace: "apps", Name: "a", Selector: labels.Set{"app": "z"}.AsSelector()}},
			map[string]string{"a": "web -"}, 0,
			"RouteTable apps/a: its labels do not match app=z, as the config block wants; drop the labels there or add them here"},
		{"a port that the canary's Service lacks", tables([3]string{"a", "x", "{ref: {name: web}, port: {number: 80}}"}), byName("a"),
			map[string]string{"a": "web -"}, 0,
			`RouteTable apps/a: http[0] "all": Service apps/web-canary has no port 80 (it has 8080); add it, or list the destination with another`},
		{"a destination of another cluster is not looked up", tables([3]string{"a", "x", "{ref: {name: web, cluster: east}, port: {number: 80}}"}), byName("a"),
			map[string]string{"a": "web 90, web-canary 10"}, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := on(tt.cluster).Set(context.Background(), canary(10), tt.targets)
			if text := fmt.Sprint(err); tt.err != "" && text != tt.err || tt.err == "" && err != nil {
				t.Errorf("got  %v\nwant %s", err, tt.err)
			}
			for table, want := range tt.want {
				if got := tt.cluster.weights(table); got != want {
					t.Errorf("%s has %s, want %s", table, got, want)
				}
			}
			if tt.cluster.Writes != tt.writes {
				t.Errorf("%d writes, want %d", tt.cluster.Writes, tt.writes)
			}
			if verdict := on(tt.cluster).Verify(context.Background(), canary(10), tt.targets, true); verdict.Verified() != (tt.err == "") {
				t.Errorf("verdict %+v", verdict)
			}
		})
	}
}

func TestSetWritesOnlyWhatDiffers(t *testing.T) {
	c := tables([3]string{"a", "x", web})
	for range 3 {
		if err := on(c).Set(context.Background(), canary(10), byName("a")); err != nil {
			t.Fatal(err)
		}
	}
	if c.Writes != 1 {
		t.Errorf("%d writes for one change, want 1", c.Writes)
	}
}

func TestSetWithoutTheCanaryService(t *testing.T) {
	c := tables([3]string{"a", "x", web})
	delete(c.Services, "web-canary")
	err := on(c).Set(context.Background(), canary(10), byName("a"))
	if want := `RouteTable apps/a: http[0] "all": Service apps/web-canary does not exist, so traffic cannot be sent to it; create it`; fmt.Sprint(err) != want || c.Writes > 0 {
		t.Errorf("got  %v, %d writes\nwant %s", err, c.Writes, want)
	}
}

func TestSetPlansAfreshOnConflict(t *testing.T) {
	c := tables([3]string{"a", "x", web})
	c.Meddle = func() { // somebody adds a destination just then
		c.Meddle = nil
		c.Put([]byte(strings.Replace(string(c.Objects[0].JSON), `[{"ref":{"name":"web"}}]`, `[{"ref":{"name":"web"},"weight":60},{"ref":{"name":"other"},"weight":40}]`, 1)))
	}
	if err := on(c).Set(context.Background(), canary(10), byName("a")); err != nil {
		t.Fatal(err)
	}
	if got, want := c.weights("a"), "web 54, other 40, web-canary 6"; got != want {
		t.Errorf("a has %s, want %s", got, want)
	}
}

func TestSetIsPatient(t *testing.T) { synctest.Test(t, setIsPatient) } // in no time

func setIsPatient(t *testing.T) {
	c := tables([3]string{"a", "x", web})
	left := 15
	c.Meddle = func() {
		if left--; left >= 0 {
			c.Put(c.Objects[0].JSON)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	if err := on(c).Set(ctx, canary(10), byName("a")); err != nil {
		t.Fatalf("after 15 conflicts: %v", err)
	}
	written := 0
	c.Meddle = func() {
		written++
		c.Put(c.Objects[0].JSON)
	}
	err := on(c).Set(ctx, canary(20), byName("a"))
	want := fmt.Sprintf("RouteTable apps/a: others changed it each of the %d times that it was about to be written; it will be tried again (", written)
	if written < 15 || err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s...", err, want)
	}
}

func TestSetAfterAChangeOfMind(t *testing.T) {
	for _, tt := range []struct {
		name      string
		forbidden []string
	}{
		{"with lists of all namespaces", nil},
		{"with lists of one namespace", []string{"list"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := tables([3]string{"a", "x", web}, [3]string{"b", "x", web})
			c.Forbidden = tt.forbidden
			for _, name := range []string{"a", "b"} {
				if err := on(c).Set(context.Background(), canary(10), byName(name)); err != nil {
					t.Fatal(err)
				}
			}
			if got := c.weights("a") + "; " + c.weights("b"); got != "web -; web 90, web-canary 10" {
				t.Errorf("after the block named b in place of a: %s", got)
			}
			if c.Objects[0].Annotations[engine.Annotation] != "" {
				t.Errorf("the annotation of a is left: %v", c.Objects[0].Annotations)
			}
		})
	}
}

// What the selection leaves behind is found, or it is said that it was not.
func TestSetFindsWhatIsLeftBehind(t *testing.T) {
	for _, tt := range []struct {
		name    string
		meddle  func(*memoryCluster)
		targets []engine.Target
		want    string
		atRest  bool
	}{
		{"the label was taken off", func(c *memoryCluster) {
			c.Put([]byte(strings.Replace(string(c.Objects[0].JSON), `"app":"x"`, `"app":"z"`, 1)))
		}, byLabel(t, "app=x"), "no RouteTable in namespace apps matches app=x; there are a: correct the selector or create it", true},
		{"another name was given", func(*memoryCluster) {}, byName("b"), "RouteTable apps/b does not exist; there are a: correct the selector or create it", true},
		{"tables cannot be listed just now", func(c *memoryCluster) {
			c.Put([]byte(`{"metadata":{"namespace":"apps","name":"b"},"spec":{"http":[{"forwardTo":{"destinations":[{"ref":{"name":"web"}}]}}]}}`))
			c.Failing = "list"
		}, byName("b"), "the list failed", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := tables([3]string{"a", "x", web})
			if err := on(c).Set(context.Background(), canary(50), byName("a")); err != nil {
				t.Fatal(err)
			}
			tt.meddle(c)
			err := on(c).Set(context.Background(), canary(0), tt.targets)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if got := c.weights("a"); (got == "web -") != tt.atRest {
				t.Errorf("a has %s", got)
			}
			if verdict := on(c).Verify(context.Background(), canary(0), tt.targets, false); verdict.Verified() {
				t.Error("verified")
			}
		})
	}
}

// The annotation of a table that is not selected any more was lost: the Rollout's status and the mark tell.
func TestSetFindsWhatIsLeftBehindWithoutItsAnnotation(t *testing.T) {
	c := tables([3]string{"a", "x", web}, [3]string{"b", "x", web})
	if err := on(c).Set(context.Background(), canary(50), byName("a")); err != nil {
		t.Fatal(err)
	}
	c.Put([]byte(strings.Replace(string(c.Objects[0].JSON), engine.Annotation, "somebody/else", 1)))
	in := canary(50)
	in.Used = []intent.Destination{in.Canary}
	if err := on(c).Set(context.Background(), in, byName("b")); err != nil {
		t.Fatal(err)
	}
	if got := c.weights("a"); got != "web 100" {
		t.Errorf("a has %s", got)
	}
}

func TestSetSaysWhatItCannotPutAtRest(t *testing.T) {
	c := tables([3]string{"a", "x", "{ref: {name: web}, weight: 60}, {ref: {name: other}, weight: 40}"}, [3]string{"b", "x", web})
	if err := on(c).Set(context.Background(), canary(50), byName("a")); err != nil {
		t.Fatal(err)
	}
	c.Put([]byte(strings.Replace(string(c.Objects[0].JSON), `{"ref":{"name":"web"},"weight":30},`, "", 1)))
	err := on(c).Set(context.Background(), canary(50), byName("b"))
	want := `RouteTable apps/a: http[0] "all": still holds Service apps/web-canary but forwards to stable no more; list stable again, or take the others out`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if got := c.weights("b"); got != "web 50, web-canary 50" {
		t.Errorf("b has %s", got)
	}
	if verdict := on(c).Verify(context.Background(), canary(50), byName("b"), false); verdict.Verified() {
		t.Error("verified")
	}
}

// A table that is found by label and does not forward to stable any more is passed over, but not with the canary in it.
func TestSetRestsWhatItPassesOver(t *testing.T) {
	c := tables([3]string{"a", "x", web}, [3]string{"b", "x", "{ref: {name: web2}}"})
	if err := on(c).Set(context.Background(), canary(50), byLabel(t, "app=x")); err != nil {
		t.Fatal(err)
	}
	renamed := canary(50)
	renamed.Stable.Name = "web2"
	if err := on(c).Set(context.Background(), renamed, byLabel(t, "app=x")); err != nil {
		t.Fatal(err)
	}
	if got := c.weights("a") + "; " + c.weights("b"); got != "web -; web2 50, web-canary 50" {
		t.Errorf("got %s", got)
	}
}

func TestSetSaysWhenServicesCannotBeRead(t *testing.T) {
	c := tables([3]string{"a", "x", web})
	c.Failing = "service"
	in := canary(10)
	in.Experiments = []intent.Experiment{{Destination: in.Canary, Share: 10}}
	err := on(c).Set(context.Background(), in, byName("a"))
	if want := "Service apps/web: the read failed"; err == nil || err.Error() != want || c.Writes > 0 {
		t.Errorf("got %v, %d writes; want %s", err, c.Writes, want)
	}
}

// A patch that no longer fits, because the route it is about moved meanwhile, is planned again.
func TestPatchThatDoesNotFitAnyMore(t *testing.T) {
	c := tables([3]string{"a", "x", web})
	moves := 3
	c.Meddle = func() {
		if moves--; moves >= 0 {
			c.Put([]byte(strings.Replace(string(c.Objects[0].JSON), `"http":[`, `"http":[{"redirect":{}},`, 1)))
		}
	}
	if err := on(c).Set(context.Background(), canary(50), byName("a")); err != nil {
		t.Fatal(err)
	}
	if c.Writes != 1 || !strings.Contains(string(c.Objects[0].JSON), `"weight":50`) {
		t.Errorf("%d writes, %s", c.Writes, c.Objects[0].JSON)
	}
}

// Of two Rollouts that share a table, one waits while the other writes, and then plans on what that has written.
func TestRolloutsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tables([3]string{"a", "x", "{ref: {name: web}, weight: 50}, {ref: {name: api}, weight: 50}"})
		c.Services["api-canary"] = c.Services["web-canary"]
		e, api := on(c), canary(50)
		api.Owner, api.Stable.Name, api.Canary.Name = "apps/api", "api", "api-canary"
		second, patches := make(chan error, 1), 0
		c.Meddle = func() {
			if patches++; patches > 1 {
				return
			}
			go func() { second <- e.Set(t.Context(), api, byName("a")) }()
			synctest.Wait() // until it has nothing to do but wait
			if patches > 1 {
				t.Error("the second wrote while the first one did")
			}
		}
		if err := errors.Join(e.Set(t.Context(), canary(50), byName("a")), <-second); err != nil {
			t.Fatal(err)
		}
		if got := c.weights("a"); got != "web 25, api 25, web-canary 25, api-canary 25" || patches != 2 {
			t.Errorf("%s after %d patches, want 2", got, patches)
		}
	})
}

func TestSetNoticesWhatIsChangedBack(t *testing.T) {
	c := tables([3]string{"a", "x", web})
	c.Reverts = true
	err := on(c).Set(context.Background(), canary(50), byName("a"))
	if want := "RouteTable apps/a: it was written and is not as it was to be; does an admission webhook change it back?"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestRemoveManaged(t *testing.T) {
	c := tables([3]string{"a", "x", web}, [3]string{"b", "x", web})
	in := canary(0)
	in.Managed = []intent.ManagedRoute{{Name: "beta", Matches: []intent.RequestMatch{{Headers: []intent.HeaderMatch{
		{Name: "x-beta", ValueMatch: intent.ValueMatch{Type: intent.Exact, Value: "1"}},
	}}}}}
	for _, name := range []string{"a", "b"} {
		if err := on(c).Set(context.Background(), in, byName(name)); err != nil {
			t.Fatal(err)
		}
	}
	writes := c.Writes
	for range 2 {
		if err := on(c).RemoveManaged(context.Background(), canary(50), byName("a")); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.weights("a") + "; " + c.weights("b"); got != "web -; web -" {
		t.Errorf("left: %s", got)
	}
	if c.Writes != writes+1 {
		t.Errorf("%d writes, want 1: of b it was taken when a was selected no more", c.Writes-writes)
	}
	if err := on(tables()).RemoveManaged(context.Background(), canary(50), byName("gone")); err != nil {
		t.Errorf("without any table: %v", err)
	}
}

// TestChangesOfMind is rules 4, 5 and 8 over several tables: whatever a Rollout selects and asks for, with whomever in
// between, a call that succeeds leaves what is selected as asked and the rest at rest; one that fails writes nothing to
// the tables that it names.
func TestChangesOfMind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shapes := []string{web, "{ref: {name: web}, weight: 60}, {ref: {name: other}, weight: 40}",
			"{ref: {name: web}, weight: 100}, {ref: {name: web-canary}, weight: 0}", other, "{ref: {name: web}, subset: {v: '1'}}",
			"{ref: {name: web}, weight: 20}, {ref: {name: other}, weight: 20}"}
		var given [][3]string
		for _, name := range []string{"a", "b", "c"} {
			given = append(given, [3]string{name, rapid.SampledFrom([]string{"x", "y"}).Draw(t, "label"), rapid.SampledFrom(shapes).Draw(t, "shape")})
		}
		c := tables(given...)
		applied := append([]engine.Object{}, c.Objects...)
		meddled := 0
		c.Meddle = func() {
			if meddled++; meddled%3 == 0 {
				i := meddled % len(c.Objects)
				c.Put(c.Objects[i].JSON)
			}
		}
		targets := byName("a")
		in := canary(0)
		t.Repeat(map[string]func(*rapid.T){
			"set weight": func(t *rapid.T) { in.CanaryShare = rapid.SampledFrom([]int{0, 10, 100}).Draw(t, "share") },
			"by name": func(t *rapid.T) {
				targets = byName(rapid.SampledFrom([]string{"a", "b", "c", "none"}).Draw(t, "table"))
			},
			"by label": func(t *rapid.T) {
				targets = []engine.Target{{API: gloo.RouteTables{}, Namespace: "apps", Selector: labels.Set{"app": rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "label")}.AsSelector()}}
			},
			"": func(t *rapid.T) {
				before := append([]engine.Object{}, c.Objects...)
				err := on(c).Set(context.Background(), in, targets)
				if verdict := on(c).Verify(context.Background(), in, targets, true); verdict.Verified() != (err == nil) {
					t.Fatalf("Set: %v; verdict %+v", err, verdict)
				}
				for i, o := range c.Objects {
					selected := targets[0].Name == o.Name || targets[0].Name == "" && targets[0].Selector.Matches(labels.Set(o.Labels))
					if err == nil && !selected && !sameSpec(t, o, applied[i]) {
						t.Fatalf("%s is not selected and not at rest: %s", o.Name, c.weights(o.Name))
					}
					if named := fmt.Sprintf("RouteTable apps/%s:", o.Name); err != nil && strings.Contains(err.Error(), named) && !sameSpec(t, o, before[i]) {
						t.Fatalf("%v, yet %s was changed to %s", err, o.Name, c.weights(o.Name))
					}
				}
			},
		})
	})
}

func sameSpec(t *rapid.T, a, b engine.Object) bool {
	var left, right struct{ Spec json.RawMessage }
	if err := json.Unmarshal(a.JSON, &left); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.JSON, &right); err != nil {
		t.Fatal(err)
	}
	return string(left.Spec) == string(right.Spec)
}
