package kube_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/kube"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/logs"
)

// leadingTo writes a kubeconfig of a server, with a token.
func leadingTo(t *testing.T, server, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`
apiVersion: v1
kind: Config
clusters: [{name: it, cluster: {server: %q}}]
users: [{name: me, user: {token: %q}}]
contexts: [{name: it, context: {cluster: it, user: me}}]
current-context: it
`, server, token)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// tally counts requests by verb, resource and code.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (a *tally) add(r kube.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counts == nil {
		a.counts = map[string]int{}
	}
	a.counts[fmt.Sprintf("%s %s %d", r.Verb, r.Resource, r.Code)]++
}

func (a *tally) of() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.counts)
}

// Every request that goes over the network is told of, those of watches and those that fail included.
func TestRequestsAreObserved(t *testing.T) {
	s, a := startAPIServer(t, "a"), &tally{}
	c, err := kube.Connect(kube.Access{}, kube.Access{Kubeconfig: leadingTo(t, s.URL, "none"), Observe: a.add}, kube.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	cache := kube.NewCache(c, time.Hour, discarded())
	s.remembers(t, cache)
	before := a.of()
	if before["list routetables 200"] != 1 || before["watch routetables 200"] != 1 {
		t.Errorf("for the cache there were %v", before)
	}
	s.breakWatches()
	cache.Close()

	a.counts = nil
	_, _ = c.Get(t.Context(), routeTables, "apps", "a") // what comes of these is not what is looked at
	_, _ = c.Get(t.Context(), routeTables, "apps", "b")
	_, _ = c.List(t.Context(), routeTables, "apps", labels.Everything())
	_, _ = c.Patch(t.Context(), routeTables, "apps", "a", []byte("[]"))
	s.set(func() { s.forbidden = "patch" })
	_, _ = c.Patch(t.Context(), routeTables, "apps", "a", []byte("[]"))
	s.Close()
	_, _ = c.Get(t.Context(), routeTables, "apps", "a")
	want := map[string]int{
		"get routetables 200": 1, "get routetables 404": 1, "list routetables 200": 1, "patch routetables 200": 1, "patch routetables 403": 1,
		"get routetables 0": 1,
	}
	if got := a.of(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWhatIsRemembered(t *testing.T) {
	s := startAPIServer(t, "a", "b")
	c := s.cache(t, time.Hour)
	if got := c.Remembered(); len(got) != 0 {
		t.Errorf("before the first read: %v", got)
	}
	s.remembers(t, c)
	if got, want := c.Remembered(), []kube.Remembered{{Resource: "routetables", Objects: 2, Watched: 1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}

	s = startAPIServer(t, "a", "b")
	s.set(func() { s.forbidden = "list" })
	c = s.cache(t, time.Hour)
	versionOf(t, c, "a") // which is kept in the view of all namespaces and in that of its own
	if got, want := c.Remembered(), []kube.Remembered{{Resource: "routetables", Objects: 2, Plain: 2}}; !reflect.DeepEqual(got, want) {
		t.Errorf("where listing is forbidden: got %v, want %v", got, want)
	}
}

// At its most talkative the log tells neither the token nor a password in the server's address.
func TestLogHasNoCredentials(t *testing.T) {
	out := bytes.Buffer{}
	log, err := logs.New(&out, logs.Hclog, "trace")
	if err != nil {
		t.Fatal(err)
	}
	logs.Adopt(log)
	t.Cleanup(klog.ClearLogger)
	s := startAPIServer(t, "a")
	s.set(func() { s.forbidden = "watch" })
	server := strings.Replace(s.URL, "http://", "http://me:s3cret@", 1)
	clusters, err := kube.Connect(kube.Access{}, kube.Access{Kubeconfig: leadingTo(t, server, "s3cret-token")}, kube.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	cache := kube.NewCache(clusters, time.Hour, log)
	versionOf(t, cache, "a")
	s.Close()
	if _, err = cache.Fresh(t.Context(), routeTables, "apps", "a"); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Fatal(err)
	}
	cache.Close()
	if text := out.String() + err.Error(); strings.Contains(text, "s3cret") || !strings.Contains(text, "asking the API server each time") {
		t.Error(text)
	}
}
