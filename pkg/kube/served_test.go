package kube_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/kube"
)

// httpRoutes are those of any version that is served.
var httpRoutes = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Resource: "httproutes"}

// gatewayAPI is an API server that serves HTTPRoutes in these versions, the preferred one first, and notes what it was asked for.
type gatewayAPI struct {
	mu       sync.Mutex
	versions []string
	asked    []string
}

func (g *gatewayAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/apis/gateway.networking.k8s.io" && len(g.versions) > 0 {
		list := ""
		for i, v := range g.versions {
			if i > 0 {
				list += ", "
			}
			list += fmt.Sprintf(`{"version": %q}`, v)
		}
		fmt.Fprintf(w, `{"versions": [%s]}`, list)
		return
	}
	for _, v := range g.versions {
		switch r.URL.Path {
		case "/apis/gateway.networking.k8s.io/" + v:
			fmt.Fprint(w, `{"resources": [{"name": "httproutes"}]}`)
			return
		case "/apis/gateway.networking.k8s.io/" + v + "/namespaces/apps/httproutes/demo":
			fmt.Fprint(w, fine.body)
			return
		}
	}
	status(404, "NotFound", "the server could not find the requested resource", `{}`)(w, r)
}

// serve lets it serve other versions, and forgets what it was asked for.
func (g *gatewayAPI) serve(versions ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.versions, g.asked = versions, nil
}

func (g *gatewayAPI) wasAskedFor(t *testing.T, want ...string) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range want {
		want[i] = "/apis/gateway.networking.k8s.io" + want[i]
	}
	if !slices.Equal(g.asked, want) {
		t.Errorf("asked for\n%q, want\n%q", g.asked, want)
	}
	g.asked = nil
}

// A version is asked for once, and again after it was not served.
func TestVersionIsFoundOnce(t *testing.T) {
	const v1, v1beta1 = "/v1/namespaces/apps/httproutes/demo", "/v1beta1/namespaces/apps/httproutes/demo"
	g := &gatewayAPI{}
	c, _ := client(t, g.ServeHTTP)
	get := func(c *kube.Client) error {
		_, err := c.Get(t.Context(), httpRoutes, "apps", "demo")
		return err
	}
	want := "the cluster serves no httproutes.gateway.networking.k8s.io; is its custom resource definition installed?"
	if err := get(c); !errors.Is(err, engine.ErrUnserved) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	g.wasAskedFor(t, "")
	g.serve("v1beta1")
	for range 2 {
		if err := get(c); err != nil {
			t.Fatal(err)
		}
	}
	g.wasAskedFor(t, "", "/v1beta1", v1beta1, v1beta1)
	g.serve("v1", "v1beta1")
	if err := get(c); err != nil { // it knows one that will do
		t.Fatal(err)
	}
	g.wasAskedFor(t, v1beta1)
	g.serve("v1")
	if err := get(c); !errors.Is(err, engine.ErrUnserved) {
		t.Errorf("got %v", err)
	}
	if err := get(c); err != nil {
		t.Fatal(err)
	}
	g.wasAskedFor(t, v1beta1, "", "/v1", v1)
}
