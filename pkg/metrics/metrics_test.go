package metrics_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/kube"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/logs"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/metrics"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/memory"
)

// eventful returns metrics of a process in which a little of everything has happened.
func eventful(t *testing.T) *metrics.Metrics {
	t.Helper()
	m := metrics.New(metrics.Build{Version: "v1.0.0", Commit: "c0ffee", Go: "go1.26"})
	m.Call("SetWeight", "done", 2*time.Millisecond)
	m.Call("SetWeight", "error", 20*time.Second)
	m.Call("VerifyWeight", "not_verified", time.Millisecond)
	m.Request(kube.Request{Verb: "patch", Resource: "routetables", Code: http.StatusConflict, Took: 4 * time.Millisecond})
	m.Request(kube.Request{Verb: "list", Resource: "routetables"})
	m.Remember(func() []kube.Remembered {
		return []kube.Remembered{{Resource: "routetables", Objects: 7, Watched: 1}, {Resource: "services", Objects: 3, Watched: 1, Plain: 2}}
	})
	c := &memory.Cluster{}
	c.Put([]byte(`{"metadata":{"namespace":"apps","name":"demo"}}`))
	for _, patch := range []string{
		`[{"op":"replace","path":"/metadata/resourceVersion","value":"1"}]`,
		`[{"op":"replace","path":"/metadata/resourceVersion","value":"1"}]`, // which is old by now
		`[{"op":"remove","path":"/nowhere"}]`,
	} {
		_, _ = m.Cluster(c).Patch(t.Context(), schema.GroupVersionResource{Resource: "routetables"}, "apps", "demo", []byte(patch)) // the errors are what is counted
	}
	return m
}

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		t.Errorf("status %d", w.Code)
	}
	return w.Body.String()
}

func TestExposition(t *testing.T) {
	var got []string
	for line := range strings.Lines(scrape(t, eventful(t))) {
		if strings.HasPrefix(line, "rollouts_gloo_") && !strings.Contains(line, "_bucket{") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	want := []string{
		`rollouts_gloo_api_request_duration_seconds_sum{resource="routetables",verb="list"} 0`,
		`rollouts_gloo_api_request_duration_seconds_count{resource="routetables",verb="list"} 1`,
		`rollouts_gloo_api_request_duration_seconds_sum{resource="routetables",verb="patch"} 0.004`,
		`rollouts_gloo_api_request_duration_seconds_count{resource="routetables",verb="patch"} 1`,
		`rollouts_gloo_api_requests_total{code="none",resource="routetables",verb="list"} 1`,
		`rollouts_gloo_api_requests_total{code="409",resource="routetables",verb="patch"} 1`,
		`rollouts_gloo_build_info{commit="c0ffee",goversion="go1.26",version="v1.0.0"} 1`,
		`rollouts_gloo_cache_objects{resource="routetables"} 7`,
		`rollouts_gloo_cache_objects{resource="services"} 3`,
		`rollouts_gloo_cache_views{resource="routetables",state="plain"} 0`,
		`rollouts_gloo_cache_views{resource="routetables",state="watched"} 1`,
		`rollouts_gloo_cache_views{resource="services",state="plain"} 2`,
		`rollouts_gloo_cache_views{resource="services",state="watched"} 1`,
		`rollouts_gloo_call_duration_seconds_sum{verb="SetWeight"} 20.002`,
		`rollouts_gloo_call_duration_seconds_count{verb="SetWeight"} 2`,
		`rollouts_gloo_call_duration_seconds_sum{verb="VerifyWeight"} 0.001`,
		`rollouts_gloo_call_duration_seconds_count{verb="VerifyWeight"} 1`,
		`rollouts_gloo_calls_total{outcome="done",verb="SetWeight"} 1`,
		`rollouts_gloo_calls_total{outcome="error",verb="SetWeight"} 1`,
		`rollouts_gloo_calls_total{outcome="not_verified",verb="VerifyWeight"} 1`,
		`rollouts_gloo_patches_total{outcome="applied",resource="routetables"} 1`,
		`rollouts_gloo_patches_total{outcome="conflict",resource="routetables"} 1`,
		`rollouts_gloo_patches_total{outcome="error",resource="routetables"} 1`,
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Names, units and help texts are as Prometheus' conventions have them.
func TestNamesFollowConventions(t *testing.T) {
	problems, err := promlint.New(strings.NewReader(scrape(t, eventful(t)))).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// Before the first call nothing is remembered, and a scrape is answered all the same.
func TestScrapeBeforeTheFirstCall(t *testing.T) {
	if got := scrape(t, metrics.New(metrics.Build{})); strings.Contains(got, "rollouts_gloo_cache") || !strings.Contains(got, "process_resident_memory_bytes ") {
		t.Error(got)
	}
}

// get returns the status and text of an answer.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// Whoever finds the port taken goes on without metrics, and says so. Nothing but metrics is served.
func TestServe(t *testing.T) {
	out := bytes.Buffer{}
	log, err := logs.New(&out, logs.Text, "info")
	if err != nil {
		t.Fatal(err)
	}
	at, stop := eventful(t).Serve("127.0.0.1:0", log)
	defer stop()
	for _, address := range []string{at.String(), "8092"} {
		second, stopSecond := metrics.New(metrics.Build{}).Serve(address, log)
		defer stopSecond()
		if second != nil {
			t.Errorf("a second one is served at %v", second)
		}
	}
	want := "[INFO]  metrics are served: address=" + at.String() + "\n" +
		`[WARN]  no metrics are served: reason="--metrics-address ` + at.String() + `: listen tcp ` + at.String() + `: bind: address already in use"` + "\n" +
		`[WARN]  no metrics are served: reason="--metrics-address 8092: listen tcp: address 8092: missing port in address"` + "\n"
	if out.String() != want {
		t.Errorf("the log has\n%swant\n%s", out.String(), want)
	}
	for path, want := range map[string]int{"/metrics": http.StatusOK, "/": http.StatusNotFound, "/debug/pprof/": http.StatusNotFound} {
		if code, text := get(t, "http://"+at.String()+path); code != want || code == http.StatusOK && !strings.Contains(text, "rollouts_gloo_calls_total") {
			t.Errorf("%s is answered with %d\n%s", path, code, text)
		}
	}
}
