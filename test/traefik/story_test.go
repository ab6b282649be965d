package traefik

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// story is one test's Rollout web behind HTTPRoute web.
type story struct {
	*testbed.Scope
	t *testing.T
}

// service is a Service whose pods are one server of the test. Its address is given as a name would be: as an IP address, one of
// the loopback interface is not allowed.
const service = `
apiVersion: v1
kind: Service
metadata: {name: NAME}
spec: {selector: {app: web}, ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: NAME, labels: {kubernetes.io/service-name: NAME}}
addressType: FQDN
endpoints: [{addresses: [127.0.0.1], conditions: {ready: true}}]
ports: [{name: http, port: PORT}]
`

// httpRoute is one that is written for a story. RULES, HOST and NAMESPACE stand for what differs.
const httpRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web}
spec:
  parentRefs: [{name: front, namespace: default}]
  hostnames: [HOST]
  rules: RULES
`

const rollout = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
  strategy:
    canary:
      stableService: web
      canaryService: web-canary
      trafficRouting:
        managedRoutes: [{name: beta}]
        plugins: {argoproj-labs/gatewayAPI: {httpRoutes: [{name: web, useHeaderRoutes: true}]}}
      steps: STEPS
`

// begin applies Services web, web-canary and other, a route with these rules and a Rollout with these steps, and waits until the first version is up.
func begin(t *testing.T, rules, steps string) *story {
	t.Helper()
	if !isBuilt() {
		t.Skip("Traefik is not built; run `make traefik`")
	}
	s := &story{bed.For(t), t}
	for _, name := range []string{"web", "web-canary", "other"} {
		s.Apply(strings.NewReplacer("NAME", name, "PORT", s.serves(name)).Replace(service))
	}
	s.routes(s.host(), rules)
	s.Apply(strings.ReplaceAll(rollout, "STEPS", steps))
	s.WaitFor("web", testbed.Healthy)
	return s
}

// host is the story's own.
func (s *story) host() string { return s.Namespace + ".example.com" }

// routes applies the route, as its author writes it.
func (s *story) routes(host, rules string) {
	s.t.Helper()
	s.Apply(strings.NewReplacer("HOST", host, "RULES", rules).Replace(httpRoute))
}

// serves starts a server that answers in the name of a Service, and returns its port.
func (s *story) serves(service string) string {
	s.t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		(&gateway.Answer{Service: service}).Show(w.Header())
	}))
	s.t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	return port
}

// release gives the Rollout another image, and waits for the pause with this index.
func (s *story) release(image string, pause int32) {
	s.t.Helper()
	s.SetImage("web", image)
	s.reaches(pause)
}

// reaches waits for the pause with this index among the steps.
func (s *story) reaches(pause int32) {
	s.t.Helper()
	s.WaitFor("web", testbed.PausedAt(pause))
}

// counts are how many of 100 requests each Service answers.
type counts map[string]int

// answers waits until 100 requests are answered so. Traefik reports on a route a moment before it serves it.
func (s *story) answers(want counts) {
	s.t.Helper()
	s.answersTo("/", nil, want)
}

// answersTo is answers for requests with a path and headers.
func (s *story) answersTo(path string, headers map[string]string, want counts) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.host()+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	s.WaitUntil(fmt.Sprintf("%s with %v answered by %v", path, headers, want), func(ctx context.Context) (bool, error) {
		tally, err := clients.Share(ctx, 100, req)
		if err != nil {
			return false, err
		}
		if !maps.Equal(tally.Services, want) || tally.Statuses[http.StatusOK] != tally.Total {
			return false, fmt.Errorf("%v answered, with %v", tally.Services, tally.Statuses)
		}
		return true, nil
	})
}
