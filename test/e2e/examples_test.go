package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/preview"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// What the examples are called.
const (
	exampleNamespace = "gloo-rollout-demo"
	blue             = "argoproj/rollouts-demo:blue"
	yellow           = "argoproj/rollouts-demo:yellow"
)

var exampleTable = client.ObjectKey{Namespace: "gloo-mesh", Name: "default"}

// exampleStories tell what docs/ says of the manifests in each folder of examples/; the first is of those that are in none.
var exampleStories = []struct {
	folder, rollout string
	tell            func(*exampleStory)
}{
	{".", "demo", exampleOfWeights},
	{"header-routes", "demo", exampleOfHeaderRoutes},
	{"mirroring", "demo", exampleOfMirroring},
	{"verification", "demo", exampleOfVerification},
	{"subsets", "demo-subsets", exampleOfSubsets},
	{"experiments", "demo", exampleOfExperiments},
	{"gatewayapi", "demo-gateway", exampleOfGatewayAPI},
	{"ping-pong", "demo-ping-pong", exampleOfPingPong},
}

// The manifests of examples/ do what docs/ and a preview say of them, as they stand: their names are fixed, so one story
// follows another.
func TestExamples(t *testing.T) {
	t.Parallel()
	bed.For(t)                                                                             // or skip
	mesh := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: exampleTable.Namespace}} // in a cluster, Gloo brings it
	if err := bed.Client.Create(t.Context(), mesh); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	for _, s := range exampleStories {
		t.Run(s.folder, func(t *testing.T) {
			d := example(t, s.folder, s.rollout)
			s.tell(d)
			d.isPreviewedThroughout()
		})
	}
}

func TestEveryExampleHasAStory(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join("..", "..", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	folders, told := []string{"."}, []string{}
	for _, entry := range entries {
		if entry.IsDir() {
			folders = append(folders, entry.Name())
		}
	}
	for _, s := range exampleStories {
		told = append(told, s.folder)
	}
	if !slices.Equal(folders, slices.Sorted(slices.Values(told))) {
		t.Errorf("folders of examples/ are %v, stories are of %v", folders, told)
	}
}

// exampleStory is a story of a folder of examples/, of which a preview was seen before.
type exampleStory struct {
	*story
	foreseen []preview.Moment
	compared map[*preview.Moment]bool
}

// example applies the first example, brings it to rest at its own image, and applies those of a folder on top.
func example(t *testing.T, folder, rollout string) *exampleStory {
	t.Helper()
	d := newStory(t, bed, "demo")
	d.Namespace = exampleNamespace
	d.copies("examples")
	seen := d.WaitFor(d.name, testbed.Condition{Name: "the spec that was applied", Met: func(ro *v1alpha1.Rollout) bool {
		return testbed.Healthy.Met(ro) || testbed.Updating.Met(ro)
	}})
	if testbed.Updating.Met(seen) { // from what the story before ended with
		d.PromoteFull(d.name)
	}
	d.completes(blue)
	d.isServed() // its Services may have come after the table
	if folder != "." {
		d.copies(filepath.Join("examples", folder))
	}
	d.name = rollout
	return &exampleStory{story: d, foreseen: previewed(t, folder, rollout), compared: map[*preview.Moment]bool{}}
}

// pausesAt waits for the pause at this step, counted from 0, and for the gateway to serve it. The tables must be as previewed.
func (d *exampleStory) pausesAt(step int32) {
	d.t.Helper()
	d.WaitFor(d.name, testbed.PausedAt(step))
	d.isServed()
	d.isAsPreviewed(int(step) + 1)
}

// copies applies what is in a folder, as kubectl does.
func (d *story) copies(folder string) {
	d.t.Helper()
	files, err := filepath.Glob(filepath.Join(bed.Root, folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		d.t.Fatalf("%s: %d files, %v", folder, len(files), err)
	}
	for _, file := range slices.Sorted(slices.Values(files)) {
		text, err := os.ReadFile(file)
		if err != nil {
			d.t.Fatal(err)
		}
		for _, object := range d.Apply(string(text)) {
			d.takes(object)
		}
	}
}

// answers sends n requests with these headers, and checks how many answers come from each image.
func (d *story) answers(n int, url string, want shares, headers ...string) {
	d.t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	tally, err := d.client.Share(d.t.Context(), n, req)
	if err != nil {
		d.t.Fatal(err)
	}
	d.check(fmt.Sprintf("%s %v", url, headers), want, tally.Images, n)
}

// shown returns a block of YAML that a page of docs/ shows under a comment.
func shown(t *testing.T, page, comment string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(bed.Root, "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)<!-- " + regexp.QuoteMeta(comment) + " -->\n```yaml\n(.*?)\n```").FindSubmatch(text)
	if m == nil {
		t.Fatalf("%s shows nothing under %q", page, comment)
	}
	block := map[string]any{}
	if err := yaml.Unmarshal(m[1], &block); err != nil {
		t.Fatal(err)
	}
	return block
}

// isAsShown checks a part of an object against what a page shows; what the page leaves out is not compared.
func (d *story) isAsShown(page, comment string, object map[string]any) {
	d.t.Helper()
	if err := equal(page+", "+comment, pruned(object, shown(d.t, page, comment)), shown(d.t, page, comment)); err != nil {
		d.t.Error(err)
	}
}

// pruned returns a JSON value with those fields alone that another one has as well. Lists stay whole.
func pruned(value, like any) any {
	fields, isObject := value.(map[string]any)
	wanted, alike := like.(map[string]any)
	if !isObject || !alike {
		return plain(value)
	}
	kept := map[string]any{}
	for name := range wanted {
		if inner, found := fields[name]; found {
			kept[name] = pruned(inner, wanted[name])
		}
	}
	return kept
}

// plain returns a JSON value with its numbers as YAML gives them.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		all := map[string]any{}
		for name, inner := range v {
			all[name] = plain(inner)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, inner := range v {
			all[i] = plain(inner)
		}
		return all
	case int64:
		return float64(v)
	default:
		return v
	}
}

func exampleOfWeights(d *exampleStory) {
	const url = "http://demo.example.com/demo"
	d.release(yellow)
	for _, pause := range []struct {
		step int32
		want shares
	}{
		{1, shares{blue: 90, yellow: 10}},
		{3, shares{blue: 50, yellow: 50}},
		{5, shares{yellow: 100}},
	} {
		d.pausesAt(pause.step)
		d.answers(requests, url, pause.want)
		d.promote()
	}
	d.completes(yellow)
	d.isAsPreviewed(atTheEnd)
	d.answers(requests, url, shares{yellow: 100})
}

func exampleOfHeaderRoutes(d *exampleStory) {
	const url = "http://demo.example.com/demo"
	d.release(yellow)
	d.pausesAt(2)
	d.isAsShown("header-routes.md", "seen at the first pause, in RouteTable gloo-mesh/default", d.table(exampleTable).Object)
	d.answers(requestsAtZero, url, shares{blue: 100})
	d.answers(requests, url, shares{blue: 100}, "x-beta", "no")
	d.answers(requests, url, shares{yellow: 100}, "X-Beta", "yes")
	d.answers(requests, url, shares{yellow: 100}, "user-agent", "beta-app/2.17")
	d.answers(requests, url, shares{blue: 100}, "user-agent", "beta-app/27")
	d.promote()
	d.pausesAt(5)
	d.answers(requests, url, shares{blue: 50, yellow: 50})
	d.answers(requests, url, shares{yellow: 100}, "x-beta", "yes")
	d.promote()
	d.pausesAt(7)
	d.answers(requests, url, shares{blue: 50, yellow: 50}, "x-beta", "yes")
	d.promote()
	d.completes(yellow)
	d.isAsPreviewed(atTheEnd)
}

// mirrorPolicies returns the policies beside the example's table.
func (d *story) mirrorPolicies() []unstructured.Unstructured {
	d.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("trafficcontrol.policy.gloo.solo.io/v2")
	list.SetKind("MirrorPolicyList")
	if err := bed.Client.List(d.t.Context(), list, client.InNamespace(exampleTable.Namespace)); err != nil {
		d.t.Fatal(err)
	}
	return list.Items
}

func exampleOfMirroring(d *exampleStory) {
	t := d.t
	const url = "http://demo.example.com/demo"
	const page = "mirroring.md"
	d.release(yellow)
	d.pausesAt(2)
	d.isAsShown(page, "seen at the first pause, in RouteTable gloo-mesh/default", d.table(exampleTable).Object)
	policies := d.mirrorPolicies()
	if len(policies) != 1 {
		t.Fatalf("%d policies, want one", len(policies))
	}
	policy := policies[0]
	d.isAsShown(page, "seen at the first pause, beside that table", policy.Object)
	if owners := policy.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != d.table(exampleTable).GetUID() {
		t.Errorf("the policy belongs to %v, want the table", owners)
	}
	if _, err := gw.WaitPolicy(t.Context(), policy.GetNamespace(), policy.GetName(), gateway.Accepted); err != nil {
		t.Fatal(err)
	}
	d.answers(requestsAtZero, url, shares{blue: 100})
	post, err := http.NewRequest(http.MethodPost, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gw.Share(t.Context(), requests, post); err != nil {
		t.Fatal(err)
	}
	copies := gw.Mirrored(policy.GetNamespace(), policy.GetName())
	if copies.Requests != requestsAtZero {
		t.Errorf("%d requests came by the mirror route, want the %d GETs", copies.Requests, requestsAtZero)
	}
	if !plausible(copies.Images[yellow], requestsAtZero, 35) || copies.Images[yellow] != copies.Copies {
		t.Errorf("of %d requests %d were copied, to %v; want 35 percent, to %s", requestsAtZero, copies.Copies, copies.Images, yellow)
	}
	d.promote()
	d.pausesAt(6)
	if left := d.mirrorPolicies(); len(left) > 0 {
		t.Errorf("%d policies are left, want none", len(left))
	}
	d.answers(requests, url, shares{blue: 50, yellow: 50})
	d.promote()
	d.completes(yellow)
	d.isAsPreviewed(atTheEnd)
}

func exampleOfVerification(d *exampleStory) {
	d.isServed()
	const url = "http://demo.example.com/demo"
	relent := gw.Reject(exampleTable.Namespace, exampleTable.Name, "the canary is not to my taste")
	defer relent()
	d.release(yellow)
	event := d.WaitForEvent(d.name, "WeightNotVerified", "not to my taste")
	want := shown(d.t, "verification.md", "seen among the Rollout's events, while Gloo rejects the table")["message"]
	if event != want {
		d.t.Errorf("the event says\n%s\nwant\n%s", event, want)
	}
	d.WaitUntil("a second look", func(context.Context) (bool, error) {
		return len(bed.Controller.Log().Grep("10 not yet verified.*namespace="+exampleNamespace)) > 1, nil
	})
	d.WaitFor(d.name, testbed.AtStep(0), testbed.CanaryWeight(10))
	d.answers(requests, url, shares{blue: 100})
	relent()
	d.pausesAt(1)
	d.answers(requests, url, shares{blue: 90, yellow: 10})
	d.promote()
	d.pausesAt(3)
	d.promote()
	d.completes(yellow)
	d.isAsPreviewed(atTheEnd)
}

func exampleOfSubsets(d *exampleStory) {
	delete(d.tables, exampleTable)
	const url = "http://subsets.example.com/"
	d.WaitFor(d.name, testbed.Healthy)
	// lists waits until the route lists these destinations, where stable and canary stand for the hashes of two versions.
	lists := func(want, stable, canary string) {
		d.t.Helper()
		d.soonLists(d.name, strings.NewReplacer("STABLE", stable, "CANARY", canary).Replace(want))
	}
	stable := d.WaitFor(d.name, testbed.Healthy).Status.StableRS
	lists("demo-subsets/STABLE", stable, "")
	for _, image := range []string{yellow, blue} {
		d.release(image)
		canary := d.WaitFor(d.name, testbed.PausedAt(1)).Status.CurrentPodHash
		lists("demo-subsets/STABLE 90, demo-subsets/CANARY 10", stable, canary)
		d.pausesAt(1)
		before := map[string]string{yellow: blue, blue: yellow}[image]
		d.answers(requests, url, shares{before: 90, image: 10})
		d.promote()
		d.pausesAt(3)
		lists("demo-subsets/STABLE 50, demo-subsets/CANARY 50", stable, canary)
		d.answers(requests, url, shares{before: 50, image: 50})
		d.promote()
		d.WaitFor(d.name, testbed.Healthy)
		stable = canary
		lists("demo-subsets/STABLE", stable, "")
		d.isAsPreviewed(atTheEnd)
		d.answers(requests, url, shares{image: 100})
	}
	d.release(yellow)
	d.WaitFor(d.name, testbed.PausedAt(1))
	d.Abort(d.name)
	d.WaitFor(d.name, testbed.Aborted, testbed.CanaryWeight(0))
	lists("demo-subsets/STABLE", stable, "")
	d.answers(requests, url, shares{blue: 100})
}
