package gloo_test

import (
	"bytes"
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// tb is what *testing.T and *rapid.T have in common here.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// object reads a table as the API server would send it. A text without metadata gets some.
func object(t tb, text string) engine.Object {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return fromJSON(t, raw)
}

func fromJSON(t tb, raw []byte) engine.Object {
	t.Helper()
	var o struct {
		Metadata struct {
			Namespace   string            `json:"namespace"`
			Name        string            `json:"name"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatalf("%v in\n%s", err, raw)
	}
	return engine.Object{
		Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Labels: o.Metadata.Labels, Annotations: o.Metadata.Annotations, JSON: raw,
		PoliciesKnown: true,
	}
}

// apply returns the object as the API server would keep it after the patch.
func apply(t tb, o engine.Object, patch []engine.Operation) engine.Object {
	t.Helper()
	if len(patch) == 0 {
		return o
	}
	data, err := json.Marshal(patch)
	if err != nil {
		t.Fatalf("%v", err)
	}
	decoded, err := jsonpatch.DecodePatch(data)
	if err != nil {
		t.Fatalf("%v", err)
	}
	raw, err := decoded.Apply(o.JSON)
	if err != nil {
		t.Fatalf("%v: %s on\n%s", err, data, asYAML(o.JSON))
	}
	return fromJSON(t, raw)
}

// tree decodes JSON, keeping numbers as they are written.
func tree(t tb, raw []byte) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var tree map[string]any
	if err := decoder.Decode(&tree); err != nil {
		t.Fatalf("%v", err)
	}
	return tree
}

// asYAML prints JSON for a person.
func asYAML(raw []byte) string {
	text, err := yaml.JSONToYAML(raw)
	if err != nil {
		return string(raw)
	}
	return string(text)
}

// same reports whether two JSON texts hold equal values.
func same(a, b []byte) bool { return jsonpatch.Equal(a, b) }

// spec returns the spec alone.
func spec(t tb, o engine.Object) string {
	t.Helper()
	var whole struct {
		Spec json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(o.JSON, &whole); err != nil {
		t.Fatalf("%v", err)
	}
	return asYAML(whole.Spec)
}

// canary returns the intent of Rollout apps/web with services web and web-canary.
func canary(share int, experiments ...intent.Experiment) intent.Intent {
	return intent.Intent{
		Owner: "apps/web", Namespace: "apps", Stable: service("web"), Canary: service("web-canary"),
		CanaryShare: share, MaxShare: 100, Experiments: experiments,
		Services: map[string]intent.Service{
			"web":   {Ports: []intent.ServicePort{{Number: 8080, Name: "http", Target: "http"}}},
			"exp-a": {Ports: []intent.ServicePort{{Number: 9090, Name: "metrics", Target: "9090"}, {Number: 3000, Name: "http", Target: "3000"}}},
		},
	}
}

func service(name string) intent.Destination {
	return intent.Destination{Kind: config.KindService, Namespace: "apps", Name: name}
}

func experiment(name string, share int) intent.Experiment {
	return intent.Experiment{Destination: service(name), Share: share}
}

// table returns a RouteTable apps/demo whose spec is text, indented by nothing.
func table(spec string) string {
	return fmt.Sprintf("apiVersion: networking.gloo.solo.io/v2\nkind: RouteTable\nmetadata: {name: demo, namespace: apps, resourceVersion: \"7\"}\nspec:\n%s", spec)
}
