package e2e

import (
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/utils/plugin/types"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/proxy"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// scraped returns the samples of one metric, by their labels.
func scraped(t *testing.T, address, metric string) map[string]int {
	t.Helper()
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^`+metric+`\{(.*)\} ([0-9]+)$`).FindAllSubmatch(text, -1) {
		if samples[string(m[1])], err = strconv.Atoi(string(m[2])); err != nil {
			t.Fatal(err)
		}
	}
	return samples
}

// byRequest sums up requests that were answered, by verb and resource as the proxy has them. Watches are left out: one that has
// just begun is not answered yet.
func byRequest(samples map[string]int) map[string]int {
	sums := map[string]int{}
	labels := regexp.MustCompile(`^code="[0-9]+",resource="([a-z]+)[^"]*",verb="([a-z]+)"$`)
	for l, count := range samples {
		if m := labels.FindStringSubmatch(l); m != nil && m[2] != "watch" {
			sums[m[2]+" "+m[1]] += count
		}
	}
	return sums
}

// What is scraped is what was done: calls, patches and, request by request, what the API server was asked.
func TestMetricsCountWhatIsDone(t *testing.T) {
	t.Parallel()
	d := setup{}.prepare(t)
	between, err := proxy.Start(bed.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := between.Refuse(); err != nil {
			t.Error(err)
		}
	})
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := between.Kubeconfig(kubeconfig); err != nil {
		t.Fatal(err)
	}
	address := testbed.UnusedAddress(t)
	router, ro := dial(t, kubeconfig, "--metrics-address", address), rolloutOf(t, setup{}, d.Namespace)
	for _, weight := range []int32{10, 10, 50} {
		if err := router.SetWeight(ro, weight, nil); err.HasError() {
			t.Fatal(err)
		}
	}
	d.isServed()
	if verified, err := router.VerifyWeight(ro, 50, nil); verified != types.Verified || err.HasError() {
		t.Fatalf("VerifyWeight: %v, %v", verified, err)
	}
	if got, want := scraped(t, address, "rollouts_gloo_calls_total"), map[string]int{
		`outcome="done",verb="SetWeight"`: 3, `outcome="verified",verb="VerifyWeight"`: 1,
	}; !maps.Equal(got, want) {
		t.Errorf("calls: %v, want %v", got, want)
	}
	patches := scraped(t, address, "rollouts_gloo_patches_total")
	delete(patches, `outcome="conflict",resource="routetables"`) // the gateway may report its status in between
	if want := map[string]int{`outcome="applied",resource="routetables"`: 2}; !maps.Equal(patches, want) {
		t.Errorf("patches: %v, want %v", patches, want)
	}
	sent := between.Counts()
	maps.DeleteFunc(sent, func(request string, _ int) bool { return strings.HasPrefix(request, "watch ") })
	if got := byRequest(scraped(t, address, "rollouts_gloo_api_requests_total")); !maps.Equal(got, sent) {
		t.Errorf("requests: %v, and %v were sent", got, sent)
	}
}
