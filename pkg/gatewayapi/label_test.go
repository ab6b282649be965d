package gatewayapi_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
)

// byWeb and byAPI return the intents of two Rollouts that share a route; a label is key=value, or empty for none.
func byWeb(share int, label string) intent.Intent { return bearing(canary(share), label) }

func byAPI(share int, label string) intent.Intent {
	in := canary(share)
	in.Owner, in.Stable, in.Canary = "apps/api", service("api"), service("api-canary")
	return bearing(in, label)
}

func bearing(in intent.Intent, label string) intent.Intent {
	in.Label.Key, in.Label.Value, _ = strings.Cut(label, "=")
	return in
}

// keeping is the intent of a call about managed routes alone.
func keeping(in intent.Intent) intent.Intent {
	in.KeepWeights = true
	return in
}

// withHeader is the intent of a Rollout whose steps have come to a header route.
func withHeader(in intent.Intent) intent.Intent {
	value := intent.ValueMatch{Type: intent.Exact, Value: "yes"}
	in.Managed = []intent.ManagedRoute{{Name: "beta", Matches: []intent.RequestMatch{{Headers: []intent.HeaderMatch{{Name: "x-beta", ValueMatch: value}}}}}}
	return in
}

// used is the intent of a Rollout whose canary had weight at the last call.
func used(in intent.Intent) intent.Intent {
	in.Used = []intent.Destination{in.Canary}
	return in
}

// labelled returns a route of both Rollouts with a label, if it is not empty.
func labelled(label string) string {
	text := route("{backendRefs: [{name: web}, {name: web-canary, weight: 0}]}, {backendRefs: [{name: api}, {name: api-canary, weight: 0}]}")
	if key, value, found := strings.Cut(label, "="); found {
		text = strings.Replace(text, "namespace: apps", "namespace: apps, labels: {"+key+": "+value+"}", 1)
	}
	return text
}

func labelsOf(o engine.Object) string {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(o.Labels)) {
		texts = append(texts, key+"="+o.Labels[key])
	}
	return strings.Join(texts, " ")
}

func TestLabelShowsWhetherReleasesAreUnderWay(t *testing.T) {
	const a, b = "example.com/a=busy", "example.com/b=busy"
	for _, tt := range []struct {
		name  string
		user  string // the label that the route has at first
		calls []intent.Intent
		want  []string // the labels after each call
	}{
		{"from the first weight to the last", "", []intent.Intent{byWeb(10, a), byWeb(100, a), byWeb(0, a)}, []string{a, a, ""}},
		{"beside a label of the user's", "app=x", []intent.Intent{byWeb(10, a), byWeb(0, a)}, []string{"app=x " + a, "app=x"}},
		{"not if there is to be none", "", []intent.Intent{byWeb(10, ""), byWeb(0, "")}, []string{"", ""}},
		{"not at rest", "", []intent.Intent{byWeb(0, a)}, []string{""}},
		{"a value of the user's stays", "example.com/a=mine", []intent.Intent{byWeb(10, a), byWeb(0, a)}, []string{"example.com/a=mine", "example.com/a=mine"}},
		{"the same label of the user's stays", a, []intent.Intent{byWeb(10, a), byWeb(0, a)}, []string{a, a}},
		{"another key in the middle", "", []intent.Intent{byWeb(10, a), byWeb(10, b), byWeb(0, b)}, []string{a, b, ""}},
		{"another value in the middle", "", []intent.Intent{byWeb(10, a), byWeb(10, "example.com/a=other"), byWeb(0, "")}, []string{a, "example.com/a=other", ""}},
		{"none in the middle", "", []intent.Intent{byWeb(10, a), byWeb(10, ""), byWeb(0, "")}, []string{a, "", ""}},
		{"as long as one of two is under way", "", []intent.Intent{byWeb(10, a), byAPI(10, a), byWeb(0, a), byAPI(0, a)}, []string{a, a, a, ""}},
		{"each has its own", "", []intent.Intent{byWeb(10, a), byAPI(10, b), byWeb(0, a), byAPI(0, b)}, []string{a, a + " " + b, b, ""}},
		{"of two values the first stays, until it is the other's alone", "",
			[]intent.Intent{byWeb(10, a), byAPI(10, "example.com/a=other"), byWeb(0, a), byAPI(10, "example.com/a=other"), byAPI(0, "example.com/a=other")},
			[]string{a, a, a, "example.com/a=other", ""}},
		{"one wants it and one does not", "", []intent.Intent{byWeb(10, a), byAPI(10, ""), byWeb(0, a), byAPI(0, "")}, []string{a, a, "", ""}},
		{"a header route at weight 0", "", []intent.Intent{withHeader(byWeb(0, a)), byWeb(0, a)}, []string{a, ""}},
		{"a call about managed routes alone leaves it", "", []intent.Intent{byWeb(10, a), keeping(byWeb(0, "")), keeping(byWeb(0, a)), byWeb(0, a)}, []string{a, a, a, ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := objects.Read(t, labelled(tt.user))
			for i, in := range tt.calls {
				if o = after(t, http, o, in); labelsOf(o) != tt.want[i] {
					t.Fatalf("after call %d: labels %q, want %q", i, labelsOf(o), tt.want[i])
				}
				if again := after(t, http, o, in); !objects.Same(again.JSON, o.JSON) {
					t.Errorf("call %d again makes\n%s", i, objects.YAML(again.JSON))
				}
			}
			if _, left := o.Annotations[engine.Annotation]; left {
				t.Errorf("left is\n%s", objects.YAML(o.JSON))
			}
		})
	}
}

// What others do to the label in the middle of a release.
func TestLabelThatOthersChange(t *testing.T) {
	const a = "example.com/a=busy"
	for _, tt := range []struct {
		name          string
		labels        map[string]any // that the route then has
		annotated     bool           // the plugin's annotation is still there
		middle, atEnd string
	}{
		{"taken away, it comes again", nil, true, a, ""},
		{"given another value, it is the user's", map[string]any{"example.com/a": "mine"}, true, "example.com/a=mine", "example.com/a=mine"},
		{"the annotation is lost", map[string]any{"example.com/a": "busy"}, false, a, ""},
		{"both are lost", nil, false, a, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := objects.Tree(t, after(t, http, objects.Read(t, labelled("")), byWeb(10, a)).JSON)
			meta := tree["metadata"].(map[string]any)
			if meta["labels"] = tt.labels; !tt.annotated {
				delete(meta, "annotations")
			}
			o := after(t, http, objects.OfTree(t, tree), used(byWeb(20, a)))
			if got := labelsOf(o); got != tt.middle {
				t.Errorf("labels %q, want %q", got, tt.middle)
			}
			if got := labelsOf(after(t, http, o, used(byWeb(0, a)))); got != tt.atEnd {
				t.Errorf("at rest labels %q, want %q", got, tt.atEnd)
			}
		})
	}
}

// A route that is selected no more loses the label, though others of the Rollout keep it; so does one of a Rollout that is gone.
func TestLabelGoesWithTheSelection(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   intent.Intent
	}{{"selected no more", byWeb(20, "example.com/a=busy")}, {"gone", intent.OfGone("apps", "web", "")}} {
		t.Run(tt.name, func(t *testing.T) {
			applied := objects.Read(t, labelled("app=x"))
			o := after(t, http, applied, byWeb(10, "example.com/a=busy"))
			plan, err := engine.MakePlan(http, o, engine.Selection{None: true}, tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if left := objects.Patched(t, o, plan.Patch); !objects.Same(left.JSON, applied.JSON) {
				t.Errorf("left is\n%s", objects.YAML(left.JSON))
			}
		})
	}
}
