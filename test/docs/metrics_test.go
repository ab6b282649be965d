package docs

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/kube"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/metrics"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/memory"
)

// exposed returns the types of the plugin's own metrics by name.
func exposed(t *testing.T) map[string]string {
	t.Helper()
	m := metrics.New(metrics.Build{})
	m.Call("SetWeight", "done", time.Second)
	m.Request(kube.Request{Verb: "get", Resource: "routetables"})
	m.Remember(func() []kube.Remembered { return []kube.Remembered{{Resource: "routetables"}} })
	c := &memory.Cluster{Forbidden: []string{"patch"}}
	if _, err := m.Cluster(c).Patch(t.Context(), schema.GroupVersionResource{}, "", "", nil); err == nil {
		t.Error("a patch was applied that is forbidden")
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	types := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (rollouts_gloo_\w+) (\w+)$`).FindAllStringSubmatch(w.Body.String(), -1) {
		types[m[1]] = m[2]
	}
	if len(types) < 8 {
		t.Errorf("there are %v, want 8 or more", types)
	}
	return types
}

// All metrics are documented, and what pages and rules name is a metric.
func TestMetricsAreDocumented(t *testing.T) {
	known, page := exposed(t), read(t, "docs/observability.md")
	for name := range known {
		if !strings.Contains(page, "| `"+name+"` |") {
			t.Errorf("docs/observability.md does not tell of %s", name)
		}
	}
	for _, name := range regexp.MustCompile(`rollouts_gloo_\w+`).FindAllString(page, -1) {
		of, isBucket := strings.CutSuffix(name, "_bucket")
		if kind, found := known[of]; !found || isBucket != (kind == "histogram" && of != name) {
			t.Errorf("docs/observability.md tells of %s, which is no metric", name)
		}
	}
}

// The port that is scraped is the one that
// the patch names.
func TestScrapedPortIsNamed(t *testing.T) {
	monitor := struct {
		Spec struct {
			PodMetricsEndpoints []struct {
				Port string `json:"port"`
			} `json:"podMetricsEndpoints"`
		} `json:"spec"`
	}{}
	patch := struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}{}
	for file, into := range map[string]any{"podmonitor": &monitor, "deployment-patch": &patch} {
		if err := yaml.Unmarshal([]byte(read(t, "deploy/metrics/"+file+".yaml")), into); err != nil {
			t.Fatal(err)
		}
	}
	named := patch.Spec.Template.Spec.Containers[0].Ports[0]
	if scraped := monitor.Spec.PodMetricsEndpoints[0].Port; scraped != named.Name || len(named.Name) > 15 {
		t.Errorf("%s is scraped and %s is named", scraped, named.Name)
	}
	if page := read(t, "docs/observability.md"); named.ContainerPort != 8092 || !strings.Contains(page, `["--metrics-address", ":8092"]`) {
		t.Errorf("port %d is named, and not the one that the page has the plugin listen at", named.ContainerPort)
	}
}
