package rules_test

import (
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
)

// labelKey is one by which a Rollout may show that it is under way, and inProgress the value that all of them then give it. Users set
// other values.
const (
	labelKey      = "example.com/canary"
	otherLabelKey = "example.com/other-canary"
	inProgress    = "in-progress"
)

// drawLabel draws the label by which a Rollout shows that it is under way; perhaps it does not.
func drawLabel(t *rapid.T) intent.Label {
	key := rapid.SampledFrom([]string{labelKey, labelKey, otherLabelKey, ""}).Draw(t, "label")
	if key == "" {
		return intent.Label{}
	}
	return intent.Label{Key: key, Value: inProgress}
}

// setLabel changes a label in both objects, as a person would; an empty value takes it away. A label that the plugin put there
// is taken away from the cluster alone: the owners do not have it.
func (w *world) setLabel(t *rapid.T, key, value string) {
	for _, o := range []*engine.Object{&w.live, &w.mine} {
		tree := objects.Tree(t, o.JSON)
		meta := tree["metadata"].(map[string]any)
		labels, _ := meta["labels"].(map[string]any)
		if labels == nil {
			labels = map[string]any{}
		}
		if labels[key] = value; value == "" {
			delete(labels, key)
		}
		if meta["labels"] = labels; len(labels) == 0 {
			delete(meta, "labels")
		}
		*o = objects.OfTree(t, tree)
	}
}

// dropProgress takes the plugin's labels out of an object's metadata.
func dropProgress(meta map[string]any) {
	labels, found := meta["labels"].(map[string]any)
	maps.DeleteFunc(labels, isProgress)
	if found && len(labels) == 0 {
		delete(meta, "labels")
	}
}

// ownersLabels returns an object's labels; once the annotation was lost, without those that may be the plugin's: with another
// label since, nothing tells of the one before.
func (w *world) ownersLabels(o engine.Object) map[string]string {
	labels := maps.Clone(o.Labels)
	maps.DeleteFunc(labels, func(key, value string) bool { return w.lost && isProgress(key, value) })
	return labels
}

func isProgress(key string, value any) bool {
	return (key == labelKey || key == otherLabelKey) && value == inProgress
}

// checkLabels says what the plugin's labels show after a call: that the Rollout is under way here, or that it is not, and of every
// other Rollout what they showed before. Where the API has none, there are none. Once the annotation was lost, one Rollout may take
// for its own what shows another, until that is asked for again.
func (w *world) checkLabels(t *rapid.T, ro *rolloutModel, after engine.Object, in intent.Intent, selected bool) {
	shows := in.Label
	if !selected || !in.UnderWay() || !w.api.Labelled() {
		shows = intent.Label{}
	}
	if ro.shows = shows; after.Labels[shows.Key] != inProgress { // it is somebody else's
		ro.shows = intent.Label{}
	}
	if w.lost {
		if shows.Key != "" && after.Labels[shows.Key] == "" {
			t.Fatalf("label %s does not show that %s is under way\n%s", shows.Key, ro.name, objects.YAML(after.JSON))
		}
		return
	}
	wanted := []intent.Label{shows}
	for _, other := range w.rollouts {
		if other != ro {
			wanted = append(wanted, other.shows)
		}
	}
	for _, key := range []string{labelKey, otherLabelKey} {
		was, is := w.live.Labels[key], after.Labels[key]
		want := was
		switch asked := slices.ContainsFunc(wanted, func(l intent.Label) bool { return l.Key == key }); {
		case was == inProgress && !asked, shows.Key == key && was == "":
			want = map[bool]string{true: inProgress}[asked]
		}
		if is != want {
			t.Fatalf("label %s was %q and is %q, want %q: %s shows %v, all of them %v\n%s", key, was, is, want, ro.name, shows, wanted, objects.YAML(after.JSON))
		}
	}
}
