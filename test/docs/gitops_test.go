package docs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/itchyny/gojq"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gatewayapi"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/steps"
)

// midRelease is the intent of Rollout apps/demo with a weight and a header route.
func midRelease() intent.Intent {
	service := func(name string) intent.Destination {
		return intent.Destination{Kind: config.KindService, Namespace: "apps", Name: name}
	}
	return intent.Intent{
		Owner: "apps/demo", Namespace: "apps", Stable: service("demo"), Canary: service("demo-canary"), CanaryShare: 20, MaxShare: 100,
		Managed: []intent.ManagedRoute{steps.Header("demo-beta", steps.Exact("x-beta", "yes"))},
		Label:   intent.Label{Key: "rollouts.argoproj.io/gatewayapi-canary", Value: "in-progress"},
	}
}

// byHash is the same by subsets of one Service.
func byHash() intent.Intent {
	in := midRelease()
	in.Stable.HashLabel = "rollouts-pod-template-hash"
	in.Canary = in.Stable
	return in.WithHashes("old", "new")
}

// What docs/gitops.md tells Argo CD to ignore is all that differs from git in the middle of a release, as jq has it; and of an object in git that
// lists stable alone, without a weight, it ignores nothing.
func TestIgnoredDifferencesAreTheReleases(t *testing.T) {
	const table = "{metadata: {name: demo, namespace: apps}, spec: {http: [{name: first, redirect: {hostRedirect: a.example.com}}, {name: demo, forwardTo: {pathRewrite: /, destinations: [{ref: {name: demo}}]}}]}}"
	const route = "{metadata: {name: demo, namespace: apps, labels: {app: demo}}, spec: {rules: [{matches: [{path: {type: PathPrefix, value: /}}], backendRefs: [{group: '', kind: Service, name: demo, port: 80}]}]}}"
	pieces := map[string]string{}
	for heading, text := range sections(t, "docs/gitops.md") {
		for _, b := range yamlBlocks(text) {
			if b.before == "<!-- Argo CD -->" {
				pieces[heading] = b.yaml
			}
		}
	}
	for heading, tt := range map[string]struct {
		api engine.API
		git string
		in  intent.Intent
	}{
		"Argo CD":                   {gloo.RouteTables{}, table, midRelease()},
		"Routes of the Gateway API": {gatewayapi.HTTPRoutes("v1"), route, midRelease()},
		"Subsets by pod hash":       {gloo.RouteTables{}, table, byHash()},
	} {
		t.Run(heading, func(t *testing.T) {
			git := objects.Read(t, tt.git)
			plan, err := engine.MakePlan(tt.api, git, engine.Selection{}, tt.in)
			if err != nil {
				t.Fatal(err)
			}
			live := objects.Patched(t, git, plan.Patch)
			if len(plan.Added) == 0 || objects.Same(live.JSON, git.JSON) {
				t.Fatalf("nothing changes\n%s", objects.YAML(live.JSON))
			}
			ignored := expressions(t, pieces[heading])
			if got := without(t, live.JSON, ignored); !objects.Same(got, git.JSON) {
				t.Errorf("left is\n%s\nin git is\n%s", objects.YAML(got), objects.YAML(git.JSON))
			}
			if got := without(t, git.JSON, ignored); !objects.Same(got, git.JSON) {
				t.Errorf("of what is in git is left\n%s", objects.YAML(got))
			}
		})
		delete(pieces, heading)
	}
	if len(pieces) > 0 {
		t.Errorf("pieces for Argo CD that no test tries: %v", pieces)
	}
}

// sections returns the text of a page below each of its headings.
func sections(t *testing.T, page string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for part := range strings.SplitSeq(read(t, page), "\n#") {
		heading, text, _ := strings.Cut(part, "\n")
		all[strings.Trim(heading, "# ")] = text
	}
	return all
}

// expressions returns those of a piece of an Application.
func expressions(t *testing.T, piece string) []string {
	t.Helper()
	ignored := decodeApplication(t, piece).Spec.IgnoreDifferences
	if len(ignored) != 1 {
		t.Fatalf("%d kinds are told of in\n%s", len(ignored), piece)
	}
	return ignored[0].JQPathExpressions
}

// without returns an object without what the expressions name, as Argo CD compares it, and without maps that are empty then.
func without(t *testing.T, raw []byte, paths []string) []byte {
	t.Helper()
	var value any = objects.Tree(t, raw)
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &value); err != nil { // gojq wants numbers
		t.Fatal(err)
	}
	for _, path := range paths {
		query, err := gojq.Parse("del(" + path + ")")
		if err != nil {
			t.Fatal(err)
		}
		result, _ := query.Run(value).Next()
		if err, failed := result.(error); failed {
			t.Fatalf("%s: %v", path, err)
		}
		value = result
	}
	meta := value.(map[string]any)["metadata"].(map[string]any)
	for _, field := range []string{"annotations", "labels"} {
		if texts, found := meta[field].(map[string]any); found && len(texts) == 0 {
			delete(meta, field)
		}
	}
	if data, err = json.Marshal(value); err != nil {
		t.Fatal(err)
	}
	return data
}
