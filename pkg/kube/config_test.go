package kube_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/kube"
)

// kubeconfig writes a file with two contexts, here and there, the first of which is the current one. Their API servers are
// https://here.NAME and https://there.NAME.
func kubeconfig(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	text := strings.ReplaceAll(`
apiVersion: v1
kind: Config
clusters: [{name: here, cluster: {server: "https://here.NAME"}}, {name: there, cluster: {server: "https://there.NAME"}}]
contexts: [{name: here, context: {cluster: here}}, {name: there, context: {cluster: there}}]
current-context: here
`, "NAME", name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAccess(t *testing.T) {
	inherited, named := kubeconfig(t, "inherited"), kubeconfig(t, "named")
	home := clientcmd.RecommendedHomeFile
	t.Cleanup(func() { clientcmd.RecommendedHomeFile = home })
	clientcmd.RecommendedHomeFile = filepath.Join(t.TempDir(), "none")
	for _, tt := range []struct {
		name       string
		kubeconfig string // the environment's
		access     kube.Access
		host, err  string
	}{
		{"as the controller's child", inherited, kube.Access{}, "https://here.inherited", ""},
		{"another context", inherited, kube.Access{Context: "there"}, "https://there.inherited", ""},
		{"another file", inherited, kube.Access{Kubeconfig: named}, "https://here.named", ""},
		{"another file and context", "", kube.Access{Kubeconfig: named, Context: "there"}, "https://there.named", ""},
		{"no such context", inherited, kube.Access{Context: "nowhere"}, "", "KUBECONFIG " + inherited + ": context \"nowhere\" does not exist"},
		{"no such file", inherited, kube.Access{Kubeconfig: "/nowhere"}, "", "kubeconfig /nowhere: stat /nowhere: no such file or directory"},
		{"neither file nor pod", "", kube.Access{}, "", "no API server is known: KUBECONFIG is not set and this is no pod"},
		{"a context without a file", "", kube.Access{Context: "there"}, "", "context there: there is no kubeconfig to look for it in; name one by --kubeconfig"},
		{"a person without any", "", kube.Access{Person: true}, "", "no API server is known: name a kubeconfig by --kubeconfig or KUBECONFIG"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", tt.kubeconfig)
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			config, err := tt.access.Config()
			if tt.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.err) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil || config.Host != tt.host {
				t.Errorf("got %v, %v; want %s", config, err, tt.host)
			}
		})
	}
}

// The routes and the controller have a client each where they have a cluster each, and one otherwise.
func TestConnect(t *testing.T) {
	t.Setenv("KUBECONFIG", kubeconfig(t, "inherited"))
	named := kubeconfig(t, "named")
	for _, tt := range []struct {
		routes, controller kube.Access
		oneClient          bool
	}{
		{kube.Access{}, kube.Access{}, true},
		{kube.Access{}, kube.Access{Kubeconfig: named}, true},
		{kube.Access{Kubeconfig: named}, kube.Access{}, false},
		{kube.Access{Context: "there"}, kube.Access{}, false},
	} {
		t.Run(fmt.Sprint(tt.routes, tt.controller), func(t *testing.T) {
			clusters, err := kube.Connect(tt.routes, tt.controller, kube.DefaultLimits)
			if err != nil || (clusters.Client == clusters.Controller) != tt.oneClient {
				t.Errorf("got %v, %v; want one client: %v", clusters, err, tt.oneClient)
			}
		})
	}
}
