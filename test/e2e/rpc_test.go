package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/caller"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// dial starts the plugin as the controller does, with the credentials in a kubeconfig.
func dial(t *testing.T, kubeconfig string, args ...string) *caller.Plugin {
	t.Helper()
	if binary == "" {
		t.Skip("the plugin is not built: the test bed is switched off")
	}
	p, err := caller.Start(binary, kubeconfig, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop()
		if text := p.Log(); strings.Contains(text, "DATA RACE") || strings.Contains(text, "panic: ") {
			t.Error(text)
		}
	})
	return p
}

// kubeconfigOf writes a kubeconfig that leads to an address.
func kubeconfigOf(t *testing.T, address string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`
apiVersion: v1
kind: Config
clusters: [{name: away, cluster: {server: "http://%s"}}]
contexts: [{name: away, context: {cluster: away}}]
current-context: away
`, address)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// rolloutOf is the Rollout of a setup, in a namespace.
func rolloutOf(t *testing.T, s setup, namespace string) *v1alpha1.Rollout {
	t.Helper()
	ro := &v1alpha1.Rollout{}
	if err := yaml.UnmarshalStrict([]byte(s.rollout(t)), ro); err != nil {
		t.Fatal(err)
	}
	ro.Namespace = namespace
	return ro
}

// Without an API server the handshake succeeds all the same. A release stands still, and nothing that must not fail does.
func TestAPIServerAway(t *testing.T) {
	t.Parallel()
	address := testbed.UnusedAddress(t)
	router := dial(t, kubeconfigOf(t, address))
	ro := rolloutOf(t, setup{}, "apps")

	if got := router.SetWeight(ro, 10, nil).ErrorString; !strings.Contains(got, "RouteTable apps/demo: API server http://"+address+" cannot be reached") {
		t.Errorf("SetWeight: %q", got)
	}
	if verified, err := router.VerifyWeight(ro, 10, nil); verified != types.NotVerified || err.HasError() {
		t.Errorf("VerifyWeight: %v, %v; want not verified and no error, which would end the asking", verified, err)
	}
	if err := router.RemoveManagedRoutes(ro); err.HasError() {
		t.Errorf("RemoveManagedRoutes: %v", err)
	}
	if err := router.UpdateHash(ro, "canary", "stable", nil); err.HasError() {
		t.Errorf("UpdateHash: %v", err)
	}
}
