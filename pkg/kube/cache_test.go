package kube_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/kube"
)

// apiServer serves RouteTables of namespace apps, and says what it was asked for. The tests with a real API server are the
// end-to-end ones; this one breaks watches, forbids, and keeps changes to itself.
type apiServer struct {
	*httptest.Server

	mu        sync.Mutex
	forbidden string         // verbs, each with "all " before it where only all namespaces are meant
	silent    bool           // watches are told nothing
	versions  map[string]int // of the tables, by name
	version   int
	asked     map[string]int // how often, by verb
	watches   map[chan string]bool
	// instead answers a request by its verb in the server's place; nil: it does not.
	instead func(verb string, r *http.Request) http.HandlerFunc
}

func startAPIServer(t *testing.T, tables ...string) *apiServer {
	t.Helper()
	s := &apiServer{versions: map[string]int{}, asked: map[string]int{}, watches: map[chan string]bool{}}
	for _, name := range tables {
		s.change(name)
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.breakWatches()
		s.Close()
	})
	return s
}

// cache returns a cache of the server that compares the two every relist.
func (s *apiServer) cache(t *testing.T, relist time.Duration) *kube.Cache {
	t.Helper()
	client, err := kube.NewClient(&rest.Config{Host: s.URL, QPS: 1000, Burst: 1000})
	if err != nil {
		t.Fatal(err)
	}
	c := kube.NewCache(kube.Clusters{Client: client, Controller: client}, relist, discarded())
	t.Cleanup(func() {
		s.breakWatches()
		c.Close()
	})
	return c
}

func discarded() hclog.Logger { return hclog.New(&hclog.LoggerOptions{Output: io.Discard}) }

func table(name string, version int) string {
	return fmt.Sprintf(`{"kind":"RouteTable","metadata":{"namespace":"apps","name":%q,"resourceVersion":"%d","labels":{"app":"demo"}}}`, name, version)
}

// change changes a table, or creates it.
func (s *apiServer) change(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changeLocked(name)
}

func (s *apiServer) changeLocked(name string) int {
	s.version++
	s.versions[name] = s.version
	s.tell(`{"type":"MODIFIED","object":` + table(name, s.version) + `}`)
	return s.version
}

func (s *apiServer) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	delete(s.versions, name)
	s.tell(`{"type":"DELETED","object":` + table(name, s.version) + `}`)
}

func (s *apiServer) tell(event string) {
	for w := range s.watches {
		if !s.silent {
			w <- event
		}
	}
}

func (s *apiServer) breakWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		close(w)
		delete(s.watches, w)
	}
}

func (s *apiServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// requests returns how often the server was asked for what, watches left out, since it was last asked.
func (s *apiServer) requests() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, verb := range slices.Sorted(maps.Keys(s.asked)) {
		if verb != "watch" {
			all = append(all, fmt.Sprintf("%s %d", verb, s.asked[verb]))
		}
	}
	clear(s.asked)
	return strings.Join(all, ", ")
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	steps := strings.Split(strings.TrimPrefix(r.URL.Path, "/apis/networking.gloo.solo.io/v2/"), "/")
	all, name := steps[0] == "routetables", ""
	if len(steps) == 4 {
		name = steps[3]
	}
	verb := strings.ToLower(r.Method)
	switch {
	case r.URL.Query().Get("watch") != "":
		verb = "watch"
	case name == "":
		verb = "list"
	}
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	s.asked[verb]++
	if s.instead != nil {
		if answer := s.instead(verb, r); answer != nil {
			s.mu.Unlock()
			answer(w, r)
			return
		}
	}
	verbs := strings.Split(s.forbidden, ",")
	if slices.Contains(verbs, verb) || all && slices.Contains(verbs, "all "+verb) {
		s.mu.Unlock()
		status(403, "Forbidden", "no", `{"kind":"routetables"}`)(w, r)
		return
	}
	defer s.mu.Unlock()
	switch verb {
	case "watch":
		s.serveWatch(r.Context(), w)
	case "list":
		var items []string
		for _, name := range slices.Sorted(maps.Keys(s.versions)) {
			items = append(items, table(name, s.versions[name]))
		}
		fmt.Fprintf(w, `{"kind":"RouteTableList","metadata":{"resourceVersion":"%d"},"items":[%s]}`, s.version, strings.Join(items, ","))
	case "patch":
		fmt.Fprint(w, table(name, s.changeLocked(name)))
	default:
		if version, found := s.versions[name]; found {
			fmt.Fprint(w, table(name, version))
			return
		}
		status(404, "NotFound", "not found", fmt.Sprintf(`{"name":%q,"kind":"routetables"}`, name))(w, nil)
	}
}

// serveWatch is called with the lock held, and holds it when it returns: when the watch is broken, or its client is gone.
func (s *apiServer) serveWatch(client context.Context, w http.ResponseWriter) {
	events := make(chan string, 100)
	s.watches[events] = true
	w.(http.Flusher).Flush()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watches, events)
	}()
	for {
		select {
		case event, more := <-events:
			if !more {
				return
			}
			fmt.Fprintln(w, event)
			w.(http.Flusher).Flush()
		case <-client.Done():
			return
		}
	}
}

// versionOf reads a table through the cache, and returns its version; none if it is not there.
func versionOf(t *testing.T, c *kube.Cache, name string) string {
	t.Helper()
	o, err := c.Get(t.Context(), routeTables, "apps", name)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return o.ResourceVersion
}

func listed(t *testing.T, c *kube.Cache, namespace string) (names string, err error) {
	t.Helper()
	objects, err := c.List(t.Context(), routeTables, namespace, labels.Set{"app": "demo"}.AsSelector())
	for _, o := range objects {
		names += o.Name
	}
	return names, err
}

// until waits until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 2*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// remembers waits until reads are answered from memory.
func (s *apiServer) remembers(t *testing.T, c *kube.Cache) {
	t.Helper()
	until(t, "answered from memory", func() bool {
		s.requests()
		versionOf(t, c, "a")
		return s.requests() == ""
	})
}

func TestCacheAnswersFromMemory(t *testing.T) {
	s := startAPIServer(t, "a", "b")
	c := s.cache(t, time.Hour)
	s.remembers(t, c)

	if got := versionOf(t, c, "b"); got != "2" {
		t.Errorf("b is at version %q, want 2", got)
	}
	if got, err := listed(t, c, "apps"); got != "ab" || err != nil {
		t.Errorf("listed %q, %v", got, err)
	}
	byName := engine.Index{Name: "name", Keys: func(o engine.Object) []string { return []string{o.Name} }}
	if got, err := c.Find(t.Context(), routeTables, "", byName, "b"); len(got) != 1 || err != nil {
		t.Errorf("found %v, %v", got, err)
	}
	if got := s.requests(); got != "" {
		t.Errorf("asked for %s", got)
	}
	s.change("a")
	until(t, "the change", func() bool { return versionOf(t, c, "a") == "3" })
	s.remove("b")
	until(t, "the deletion", func() bool { got, _ := listed(t, c, "apps"); return got == "a" })
	if got := c.Objects(); got != 1 {
		t.Errorf("%d objects, want 1", got)
	}
}

// What this process writes it sees at once, though the watch says nothing yet.
func TestCacheSeesItsOwnWrites(t *testing.T) {
	s := startAPIServer(t, "a")
	c := s.cache(t, time.Hour)
	s.remembers(t, c)
	s.set(func() { s.silent = true })
	for range 20 {
		written, err := c.Patch(t.Context(), routeTables, "apps", "a", []byte("[]"))
		if got := versionOf(t, c, "a"); err != nil || got != written.ResourceVersion {
			t.Fatalf("version %s, %v; want %s", got, err, written.ResourceVersion)
		}
	}
	if err := c.Delete(t.Context(), routeTables, "apps", "a"); err != nil {
		t.Fatal(err)
	}
	if got, err := listed(t, c, "apps"); got != "" || err != nil {
		t.Errorf("after the deletion: %q, %v", got, err)
	}
}

// What a watch leaves out is seen by Fresh at once, and by the next list.
func TestCacheOutlivesASilentWatch(t *testing.T) {
	s := startAPIServer(t, "a")
	c := s.cache(t, 200*time.Millisecond)
	s.remembers(t, c)
	s.set(func() { s.silent = true })
	s.change("a")
	if o, err := c.Fresh(t.Context(), routeTables, "apps", "a"); err != nil || o.ResourceVersion != "2" || versionOf(t, c, "a") != "2" {
		t.Errorf("fresh: %v, %v, then %s; want version 2", o, err, versionOf(t, c, "a"))
	}
	s.change("a")
	s.change("b")
	until(t, "the next list", func() bool { got, _ := listed(t, c, "apps"); return got == "ab" && versionOf(t, c, "a") == "3" })
}

// While no watch is up, the API server is asked.
func TestCacheDoubtsWithoutAWatch(t *testing.T) {
	s := startAPIServer(t, "a")
	c := s.cache(t, time.Hour)
	s.remembers(t, c)
	s.set(func() { s.forbidden = "watch,list" })
	s.breakWatches()
	until(t, "asked for", func() bool {
		s.change("a")
		return versionOf(t, c, "a") == fmt.Sprint(s.version) && strings.Contains(s.requests(), "get")
	})
}

// Without the right to list or watch, objects are still read one by one; lists that are refused are not asked for again and
// again.
func TestCacheWithoutRights(t *testing.T) {
	for _, tt := range []struct {
		forbidden       string
		list            string // what a list of the namespace says
		listErr         bool
		again, allAgain string // what is asked for by a further read of a table and a list; and by a list of all namespaces
	}{
		{"", "a", false, "", ""},
		{"all list", "a", false, "", ""},
		{"all watch", "a", false, "", "list 1"},
		{"list", "", true, "get 1", ""},
		{"watch", "a", false, "get 1, list 1", "list 1"},
	} {
		t.Run(tt.forbidden, func(t *testing.T) {
			s := startAPIServer(t, "a")
			s.forbidden = tt.forbidden
			c := s.cache(t, time.Hour)
			for range 3 {
				if got := versionOf(t, c, "a"); got != "1" {
					t.Errorf("version %q, want 1", got)
				}
				got, err := listed(t, c, "apps")
				if got != tt.list || apierrors.IsForbidden(err) != tt.listErr {
					t.Errorf("listed %q, %v", got, err)
				}
			}
			s.requests()
			versionOf(t, c, "a")
			if _, err := listed(t, c, "apps"); (err != nil) != tt.listErr {
				t.Error(err)
			}
			if got := s.requests(); got != tt.again {
				t.Errorf("asked for %q, want %q", got, tt.again)
			}
			_, err := listed(t, c, "")
			if got := s.requests(); got != tt.allAgain {
				t.Errorf("all namespaces: %v; asked for %q, want %q", err, got, tt.allAgain)
			}
		})
	}
}

// What the plugin writes to is what the API server sent, but for what is not worth remembering.
func TestCacheKeepsTheJSON(t *testing.T) {
	s := startAPIServer(t, "a")
	c := s.cache(t, time.Hour)
	s.remembers(t, c)
	o, err := c.Get(t.Context(), routeTables, "apps", "a")
	if err != nil || !json.Valid(o.JSON) || !strings.Contains(string(o.JSON), `"kind":"RouteTable"`) {
		t.Errorf("got %s, %v", o.JSON, err)
	}
}
