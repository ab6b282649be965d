package faults

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/proxy"
)

// gate is an API server's address that only one token opens. It speaks TLS: client-go keeps tokens to itself otherwise.
type gate struct {
	*httptest.Server
	token atomic.Value
}

// newGate stands before a proxy.
func newGate(t *testing.T, p *proxy.Proxy) *gate {
	g := &gate{}
	g.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+g.token.Load().(string) {
			answers(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized)
			return
		}
		r.Header.Del("Authorization") // the proxy has credentials of its own
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		g.CloseClientConnections()
		g.Close()
	})
	return g
}

// kubeconfig leads to the gate, with a user as YAML says.
func (g *gate) kubeconfig(path, user string) error {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.Certificate().Raw})
	return os.WriteFile(path, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
clusters: [{name: gate, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: plugin, user: {%s}}]
contexts: [{name: gate, context: {cluster: gate, user: plugin}}]
current-context: gate
`, g.URL, base64.StdEncoding.EncodeToString(ca), user), 0o600)
}

// The plugin's token is accepted no more in the middle of a release. The calls say so, and what is served stays; when there is
// another token where the first one was, the release goes on.
func TestTokenThatExpires(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		inFile bool // the kubeconfig names the token's file
	}{
		{"in the kubeconfig", false},
		{"in a file of its own", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var g *gate
			var issue func(token string) error
			d := setup{kubeconfig: func(t *testing.T, p *proxy.Proxy, path string) {
				g = newGate(t, p)
				issue = func(token string) error { return g.kubeconfig(path, "token: "+token) }
				if tt.inFile {
					file := filepath.Join(filepath.Dir(path), "token")
					issue = func(token string) error { return os.WriteFile(file, []byte(token), 0o600) }
					if err := g.kubeconfig(path, "tokenFile: "+file); err != nil {
						t.Fatal(err)
					}
				}
				g.token.Store("first")
				if err := issue("first"); err != nil {
					t.Fatal(err)
				}
			}}.begin(t)
			d.reaches(at10)
			g.token.Store("second")
			d.releases[0].next()
			d.failsWith(d.releases[0], "SetWeight: ", "does not accept the plugin's credentials")
			d.check(issue("second"))
			d.finishes()
		})
	}
}
