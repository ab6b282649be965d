package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/rollout/trafficrouting/plugin/rpc"
	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"sigs.k8s.io/yaml"
)

// dial starts the plugin as the controller does, with the credentials in a kubeconfig.
func dial(t *testing.T, kubeconfig string) rpc.TrafficRouterPlugin {
	t.Helper()
	if binary == "" {
		t.Skip("the plugin is not built: the test bed is switched off")
	}
	stderr := &log{}
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: 1, MagicCookieKey: "ARGO_ROLLOUTS_RPC_PLUGIN", MagicCookieValue: "trafficrouter",
		},
		Plugins: goplugin.PluginSet{"RpcTrafficRouterPlugin": &rpc.RpcTrafficRouterPlugin{}},
		Cmd:     cmd,
		Logger:  hclog.NewNullLogger(),
		Stderr:  stderr,
	})
	t.Cleanup(func() {
		client.Kill()
		if text := stderr.String(); strings.Contains(text, "DATA RACE") {
			t.Error(text)
		}
	})
	protocol, err := client.Client()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	dispensed, err := protocol.Dispense("RpcTrafficRouterPlugin")
	if err != nil {
		t.Fatal(err)
	}
	router := dispensed.(rpc.TrafficRouterPlugin)
	if err := router.InitPlugin(); err.HasError() {
		t.Fatal(err)
	}
	return router
}

// log is what a process writes, readable meanwhile.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
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

// unusedAddress is one of this machine that nobody listens at.
func unusedAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return address
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
	address := unusedAddress(t)
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

// A user who may read but not write, and one who may not even read.
func TestRBACForbids(t *testing.T) {
	const rights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules:
  - {apiGroups: [networking.gloo.solo.io], resources: [routetables], verbs: [get, list, watch]}
  - {apiGroups: [""], resources: [services], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader-NAMESPACE}]
`
	for _, tt := range []struct{ name, user, want string }{
		{"to write", "reader-NAMESPACE", "RouteTable NAMESPACE/demo: the plugin's service account may not patch routetables.networking.gloo.solo.io in namespace NAMESPACE; " +
			"grant that to the Argo Rollouts controller's role"},
		{"to read", "nobody-NAMESPACE", "RouteTable NAMESPACE/demo: the plugin's service account may not get routetables.networking.gloo.solo.io in namespace NAMESPACE; " +
			"grant that to the Argo Rollouts controller's role"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := setup{}.prepare(t)
			d.Apply(rights)
			here := strings.NewReplacer("NAMESPACE", d.Namespace)
			_, kubeconfig, err := bed.AddUser(here.Replace(tt.user))
			if err != nil {
				t.Fatal(err)
			}
			got := dial(t, kubeconfig).SetWeight(rolloutOf(t, setup{}, d.Namespace), 10, nil).ErrorString
			if want := here.Replace(tt.want); got != want {
				t.Errorf("SetWeight: %q, want %q", got, want)
			}
			d.isUntouched()
		})
	}
}

// A namespaced role is enough: looking for what is left behind elsewhere is not permitted then, and not needed.
func TestNamespacedRoleIsEnough(t *testing.T) {
	t.Parallel()
	d := setup{}.prepare(t)
	d.Apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: mover}
rules:
  - {apiGroups: [networking.gloo.solo.io], resources: [routetables], verbs: [get, list, watch, patch]}
  - {apiGroups: [""], resources: [services], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: mover}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: mover}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mover-NAMESPACE}]
`)
	_, kubeconfig, err := bed.AddUser("mover-" + d.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	router, ro := dial(t, kubeconfig), rolloutOf(t, setup{}, d.Namespace)
	if err := router.SetWeight(ro, 10, nil); err.HasError() {
		t.Error(err)
	}
	d.lists("demo", "web 90, web-canary 10")
	d.isServed() // else it is not verified yet
	if verified, err := router.VerifyWeight(ro, 10, nil); verified != types.Verified || err.HasError() {
		t.Errorf("VerifyWeight: %v, %v", verified, err)
	}
	if err := router.SetWeight(ro, 0, nil); err.HasError() {
		t.Error(err)
	}
	d.isAtRest()
}
