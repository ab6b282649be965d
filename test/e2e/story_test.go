package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// annotation is where tables remember what Rollouts hold on them, while a release is under way.
const annotation = "rollouts.argoproj.io/traffic-weights"

var (
	tableKind  = schema.GroupVersionKind{Group: "networking.gloo.solo.io", Version: "v2", Kind: "RouteTable"}
	policyKind = schema.GroupVersionKind{Group: "trafficcontrol.policy.gloo.solo.io", Version: "v2", Kind: "MirrorPolicy"}
)

// setup is what a story begins with. The zero value is Rollout web with its Services and a table that lists stable only.
type setup struct {
	// services is YAML of Services. Default: testdata/services.yaml.
	services string
	// tables and routes are YAML of RouteTables and of routes of the Gateway API. Default: table-stable.yaml, and no route;
	// with routes, no table.
	tables, routes string
	// plugin is the name in the Rollout. Default: today's.
	plugin string
	// block is the plugin's block in the Rollout, in YAML. Default: table demo; with routes, HTTPRoute demo.
	block string
	// steps replace those of testdata/rollout.yaml.
	steps []v1alpha1.CanaryStep
	// edit is what else is different about the Rollout.
	edit func(*v1alpha1.RolloutSpec)
	// elsewhere is another bed, with a gateway for routes of its own.
	elsewhere *elsewhere
}

// story is one test's Rollout and all that people apply beside it. Its methods are what people do and see, in their order;
// what they see otherwise than they should is an error of the test.
type story struct {
	*testbed.Scope
	t    *testing.T
	name string // the Rollout's
	// tables are the RouteTables as people wrote them, whatever the plugin does to them meanwhile.
	tables map[client.ObjectKey]*unstructured.Unstructured
	// routes are those of the Gateway API, likewise.
	routes map[routeKey]*unstructured.Unstructured
	// client sends its requests through the gateway that serves them.
	client *gateway.Client
}

// prepare applies everything but the Rollout.
func (s setup) prepare(t *testing.T) *story {
	t.Helper()
	at := elsewhere{bed, edge}
	if s.elsewhere != nil {
		at = *s.elsewhere
	}
	d := newStory(t, at.bed, "web")
	t.Cleanup(d.ends)
	d.Apply(or(s.services, file(t, "services.yaml")))
	if s.routes == "" {
		d.applies(or(s.tables, file(t, "table-stable.yaml")))
		return d
	}
	d.client = at.edge.Client
	d.Apply(file(t, "gateway.yaml"))
	d.applies(s.tables + "\n---\n" + s.routes)
	return d
}

func newStory(t *testing.T, bed *testbed.Bed, rollout string) *story {
	t.Helper()
	scope := bed.For(t) // or skip: then there is no gateway
	return &story{
		Scope: scope, t: t, name: rollout, client: gw.Client,
		tables: map[client.ObjectKey]*unstructured.Unstructured{}, routes: map[routeKey]*unstructured.Unstructured{},
	}
}

// ends deletes what the controller and the plugin would go on looking at: a Rollout that cannot be served is tried again and
// again, and every table may hold something of every Rollout.
func (d *story) ends() {
	kinds := []client.Object{&v1alpha1.Rollout{}}
	for _, written := range d.written() {
		objects := &unstructured.Unstructured{}
		objects.SetGroupVersionKind(written.GroupVersionKind())
		kinds = append(kinds, objects)
	}
	for _, kind := range kinds {
		// the test's own context has ended
		if err := d.Bed.Client.DeleteAllOf(context.Background(), kind, client.InNamespace(d.Namespace)); err != nil {
			d.t.Error(err)
		}
	}
}

// begin applies everything, and waits until the first version is up. A first deployment moves nothing.
func (s setup) begin(t *testing.T) *story {
	t.Helper()
	d := s.prepare(t)
	d.Apply(s.rollout(t))
	d.WaitFor(d.name, testbed.Healthy)
	d.isAtRest()
	return d
}

// applies creates or replaces tables, routes and what is beside them.
func (d *story) applies(text string) {
	d.t.Helper()
	for _, object := range d.Apply(text) {
		d.takes(object)
	}
}

// takes notes how people wrote an object, if it is a table or a route.
func (d *story) takes(object *unstructured.Unstructured) {
	kind, key := object.GroupVersionKind(), client.ObjectKeyFromObject(object)
	switch {
	case kind == tableKind:
		d.tables[key] = object
	case slices.Contains(routeKinds, kind):
		d.routes[routeKey{kind, key}] = object
	}
}

// rollout returns the Rollout in YAML.
func (s setup) rollout(t *testing.T) string {
	t.Helper()
	ro := &v1alpha1.Rollout{}
	if err := yaml.UnmarshalStrict([]byte(file(t, "rollout.yaml")), ro); err != nil {
		t.Fatal(err)
	}
	canary := ro.Spec.Strategy.Canary
	if s.steps != nil {
		canary.Steps = s.steps
	}
	byDefault := "routeTableSelector: {name: demo}"
	if s.routes != "" {
		byDefault = "httpRoute: demo"
	}
	block, err := yaml.YAMLToJSON([]byte(or(s.block, byDefault)))
	if err != nil {
		t.Fatal(err)
	}
	canary.TrafficRouting.Plugins = map[string]json.RawMessage{or(s.plugin, today): block}
	if s.edit != nil {
		s.edit(&ro.Spec)
	}
	text, err := yaml.Marshal(ro)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// stepsTo sets each of these weights, and pauses after it.
func stepsTo(weights ...int32) []v1alpha1.CanaryStep {
	var steps []v1alpha1.CanaryStep
	for _, weight := range weights {
		steps = append(steps, v1alpha1.CanaryStep{SetWeight: &weight}, v1alpha1.CanaryStep{Pause: &v1alpha1.RolloutPause{}})
	}
	return steps
}

func or(given, byDefault string) string {
	if given != "" {
		return given
	}
	return byDefault
}

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// release gives the Rollout another image.
func (d *story) release(image string) {
	d.t.Helper()
	d.SetImage(d.name, image)
}

// promote ends the pause that the Rollout is at.
func (d *story) promote() {
	d.t.Helper()
	d.Promote(d.name)
}

// reaches waits for the pause after the step that sets this weight, and for the gateway to serve it. What the plugin has
// written by then must be what Gloo takes.
func (d *story) reaches(weight int32) {
	d.t.Helper()
	ro := &v1alpha1.Rollout{}
	if err := d.Bed.Client.Get(d.t.Context(), d.Key(d.name), ro); err != nil {
		d.t.Fatal(err)
	}
	d.WaitFor(d.name, testbed.PausedAt(pauseAfter(d.t, ro, weight)), testbed.CanaryWeight(weight))
	d.isServed()
}

func pauseAfter(t *testing.T, ro *v1alpha1.Rollout, weight int32) int32 {
	t.Helper()
	reached := false
	for i, step := range ro.Spec.Strategy.Canary.Steps {
		reached = reached || step.SetWeight != nil && *step.SetWeight == weight
		if reached && step.Pause != nil {
			return int32(i)
		}
	}
	t.Fatalf("no pause after setWeight %d", weight)
	return 0
}

// completes waits until this image is the stable one, and checks that nothing is left of the release.
func (d *story) completes(image string) {
	d.t.Helper()
	ro := d.WaitFor(d.name, testbed.Healthy)
	if got := ro.Spec.Template.Spec.Containers[0].Image; got != image {
		d.t.Errorf("%s is healthy, want %s", got, image)
	}
	d.isAtRest()
}

// aborts waits until the Rollout is back at stable, and checks that nothing is left of the release.
func (d *story) aborts() {
	d.t.Helper()
	d.WaitFor(d.name, testbed.Aborted, testbed.Degraded, testbed.CanaryWeight(0))
	d.isAtRest()
}

// isServed waits until the gateways serve every table, policy and route as it is now, and checks that Gloo would take the tables.
func (d *story) isServed() {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), testbed.DefaultTimeout)
	defer cancel()
	for key := range d.tables {
		// A Service that came after its table may be noticed after it.
		if _, err := gw.WaitApproval(ctx, key.Namespace, key.Name, gateway.Accepted); err != nil {
			d.t.Fatalf("RouteTable %s is not accepted: %v", key, err)
		}
		if err := checkSchema(d.table(key).Object["spec"]); err != nil {
			d.t.Errorf("RouteTable %s: %v", key, err)
		}
	}
	for _, policy := range d.policies() {
		if _, err := gw.WaitPolicy(ctx, policy.GetNamespace(), policy.GetName(), gateway.Accepted); err != nil {
			d.t.Fatal(err)
		}
	}
	for _, written := range d.routes {
		d.isAccepted(written)
	}
}

// policies reads the MirrorPolicies of the story's namespace.
func (d *story) policies() []unstructured.Unstructured {
	d.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(policyKind.GroupVersion().WithKind(policyKind.Kind + "List"))
	if err := d.Bed.Client.List(d.t.Context(), list, client.InNamespace(d.Namespace)); err != nil {
		d.t.Fatal(err)
	}
	return list.Items
}

// isAtRest waits until every table and route is what people wrote, and is served as such.
func (d *story) isAtRest() {
	d.t.Helper()
	d.isAsWritten()
	d.isServed()
}

// isAsWritten waits until every table and route is what people wrote. Nothing of the plugin's is left in it or beside it.
func (d *story) isAsWritten() {
	d.t.Helper()
	d.WaitUntil("no policy", func(context.Context) (bool, error) { return len(d.policies()) == 0, nil })
	for _, written := range d.written() {
		what := written.GetKind() + " " + client.ObjectKeyFromObject(written).String()
		d.WaitUntil(what+" as it was written", func(context.Context) (bool, error) {
			now := d.now(written)
			if err := equal("spec", now.Object["spec"], written.Object["spec"]); err != nil {
				return false, err
			}
			if err := equal("annotations", now.GetAnnotations(), written.GetAnnotations()); err != nil {
				return false, err
			}
			err := equal("labels", now.GetLabels(), written.GetLabels())
			return err == nil, err
		})
	}
}

// written returns the tables and routes as people wrote them.
func (d *story) written() []*unstructured.Unstructured {
	return slices.AppendSeq(slices.Collect(maps.Values(d.tables)), maps.Values(d.routes))
}

// isUntouched checks that nobody has written to any table or route but the people who created it.
func (d *story) isUntouched() {
	d.t.Helper()
	d.isAsWritten()
	for _, written := range d.written() {
		if generation := d.now(written).GetGeneration(); generation != 1 {
			d.t.Errorf("%s %s has generation %d, want 1: somebody wrote", written.GetKind(), written.GetName(), generation)
		}
	}
}

func equal(what string, got, want any) error {
	if reflect.DeepEqual(got, want) {
		return nil
	}
	g, errG := yaml.Marshal(got)
	w, errW := yaml.Marshal(want)
	if err := errors.Join(errG, errW); err != nil {
		return err
	}
	return fmt.Errorf("%s:\n%swant\n%s", what, g, w)
}

// now reads the object that somebody wrote.
func (d *story) now(written *unstructured.Unstructured) *unstructured.Unstructured {
	d.t.Helper()
	now, err := read(d.t.Context(), d.Bed, written.GroupVersionKind(), client.ObjectKeyFromObject(written))
	if err != nil {
		d.t.Fatal(err)
	}
	return now
}

// table reads a table.
func (d *story) table(key client.ObjectKey) *unstructured.Unstructured {
	d.t.Helper()
	table, err := read(d.t.Context(), d.Bed, tableKind, key)
	if err != nil {
		d.t.Fatal(err)
	}
	return table
}

func read(ctx context.Context, bed *testbed.Bed, kind schema.GroupVersionKind, key client.ObjectKey) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object, bed.Client.Get(ctx, key, object)
}

// someoneEdits changes a table of the story's namespace as another person would, who knows nothing of the release. The
// edit is to be there at the end.
func (d *story) someoneEdits(name string, edit func(table *unstructured.Unstructured)) {
	d.t.Helper()
	d.remembers(name, edit)
	d.changes(name, edit)
}

// remembers notes how a table is to be at the end, beside what was applied.
func (d *story) remembers(name string, edit func(table *unstructured.Unstructured)) {
	edit(d.tables[d.Key(name)])
}

// changes edits a table in a way that is not to last.
func (d *story) changes(name string, edit func(table *unstructured.Unstructured)) {
	d.t.Helper()
	if err := change(d.t.Context(), d.Key(name), edit); err != nil {
		d.t.Fatal(err)
	}
}

// change reads a table, edits it and writes it, again on a conflict.
func change(ctx context.Context, key client.ObjectKey, edit func(table *unstructured.Unstructured)) error {
	return retry.RetryOnConflict(testbed.Patience, func() error {
		table, err := read(ctx, bed, tableKind, key)
		if err != nil {
			return err
		}
		edit(table)
		return bed.Client.Update(ctx, table)
	})
}

// lists checks the destinations of a route, as in lists("shop", "web 90, web-canary 10"). A destination without a weight
// has none in the text either.
func (d *story) lists(route, want string) {
	d.t.Helper()
	if got := d.destinations(route); got != want {
		d.t.Errorf("route %s lists %q, want %q", route, got, want)
	}
}

// soonLists waits until lists is right, and served.
func (d *story) soonLists(route, want string) {
	d.t.Helper()
	d.WaitUntil(fmt.Sprintf("route %s with %s", route, want), func(context.Context) (bool, error) {
		if got := d.destinations(route); got != want {
			return false, fmt.Errorf("it lists %s", got)
		}
		return true, nil
	})
	d.isServed()
}

// destinations writes the destinations of an http route of a table, or of a rule, in whatever object it is, as a text.
func (d *story) destinations(name string) string {
	d.t.Helper()
	for _, written := range d.written() {
		raw, err := json.Marshal(d.now(written).Object["spec"])
		if err != nil {
			d.t.Fatal(err)
		}
		spec := struct{ HTTP, Rules []routeView }{}
		if err := json.Unmarshal(raw, &spec); err != nil {
			d.t.Fatal(err)
		}
		for _, r := range slices.Concat(spec.HTTP, spec.Rules) {
			if r.Name == name {
				return r.String()
			}
		}
	}
	d.t.Fatalf("there is no route %s", name)
	return ""
}

// routeView is what the tests look at in a route of a table, or in a rule.
type routeView struct {
	Name        string
	ForwardTo   struct{ Destinations []destinationView }
	BackendRefs []destinationView
}

// destinationView is of a destination, or of a backendRef, which has its name for itself.
type destinationView struct {
	Ref    struct{ Name string }
	Name   string
	Subset map[string]string
	Weight *int
}

func (r routeView) String() string {
	var texts []string
	for _, d := range slices.Concat(r.ForwardTo.Destinations, r.BackendRefs) {
		text := d.Ref.Name + d.Name
		for _, key := range slices.Sorted(maps.Keys(d.Subset)) {
			text += "/" + d.Subset[key]
		}
		if d.Weight != nil {
			text += fmt.Sprintf(" %d", *d.Weight)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
