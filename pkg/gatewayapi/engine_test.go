package gatewayapi_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gatewayapi"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/memory"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
)

// cluster holds Services web and web-canary, and these routes, given as YAML.
func cluster(t *testing.T, routes ...string) *memory.Cluster {
	t.Helper()
	c := &memory.Cluster{Services: map[string]intent.Service{
		"web":        {Ports: []intent.ServicePort{{Number: 8080}}},
		"web-canary": {Ports: []intent.ServicePort{{Number: 8080}}},
	}}
	for _, text := range routes {
		put(t, c, text)
	}
	return c
}

func put(t *testing.T, c *memory.Cluster, text string) {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c.Put(raw)
}

// targets are an HTTPRoute and a TCPRoute, each by its name.
var targets = []engine.Target{
	{API: http, Namespace: "apps", Name: "demo"},
	{API: gatewayapi.TCPRoutes("v1alpha2"), Namespace: "apps", Name: "raw"},
}

// raw returns a TCPRoute apps/raw with these backendRefs.
func raw(backendRefs string) string {
	return strings.NewReplacer("name: demo", "name: raw", "HTTPRoute", "TCPRoute").Replace(rule(backendRefs))
}

func TestSetMovesRoutesOfTwoKindsTogether(t *testing.T) {
	c := cluster(t, rule("{name: web, port: 8080}"), raw("{name: web, port: 8080}"))
	e := engine.New(c, hclog.NewNullLogger())
	for _, tt := range []struct{ share, writes int }{{10, 2}, {10, 0}, {0, 2}, {0, 0}} {
		before := c.Writes
		if err := e.Set(t.Context(), canary(tt.share), targets); err != nil {
			t.Fatal(err)
		}
		if got := c.Writes - before; got != tt.writes {
			t.Errorf("%d writes at %d, want %d", got, tt.share, tt.writes)
		}
		if v := e.Verify(t.Context(), canary(tt.share), targets, true); !v.Verified() {
			t.Errorf("at %d, of routes on which nobody reports: %+v", tt.share, v)
		}
	}
}

func TestSetServesOneWhereAnotherCannotBe(t *testing.T) {
	c := cluster(t, rule("{name: other}"), raw("{name: web, port: 8080}"))
	err := engine.New(c, hclog.NewNullLogger()).Set(t.Context(), canary(10), targets)
	if err == nil || !strings.HasPrefix(err.Error(), "HTTPRoute apps/demo: none of its 1 rules forwards to stable") {
		t.Errorf("got %v", err)
	}
	want := objects.Spec(t, objects.Read(t, raw("{name: web, port: 8080, weight: 90}, {name: web-canary, port: 8080, weight: 10}")))
	if got := objects.Spec(t, c.Objects[c.Index("apps", "raw")]); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A step that these routes cannot serve yet is refused, whatever their kind, and no route is taken for a policy.
func TestSetRefusesManagedRoutes(t *testing.T) {
	all := 100
	for _, tt := range []struct {
		name   string
		mirror *int
	}{{"header", nil}, {"mirror", &all}} {
		t.Run(tt.name, func(t *testing.T) {
			c := cluster(t, rule("{name: web, port: 8080}"), raw("{name: web, port: 8080}"))
			e := engine.New(c, hclog.NewNullLogger())
			in := canary(0)
			in.MayMirror = tt.mirror != nil
			in.Managed = []intent.ManagedRoute{{Name: "beta", Mirror: tt.mirror, Matches: []intent.RequestMatch{{}}}}
			if err := e.Set(t.Context(), in, targets); err == nil || !strings.Contains(err.Error(), "no header or mirror route can be added") {
				t.Errorf("got %v", err)
			}
			if v := e.Verify(t.Context(), in, targets, true); v.Verified() {
				t.Error("verified all the same")
			}
			in.Managed = nil
			if err := e.Set(t.Context(), in, targets); err != nil {
				t.Error(err)
			}
			if rests, err := e.PlanRest(t.Context(), http, in, "apps", targets); err != nil || len(rests) > 0 {
				t.Errorf("to rest there are %v, %v", rests, err)
			}
			if err := e.RemoveManaged(t.Context(), in, targets); err != nil {
				t.Error(err)
			}
			if c.Writes != 0 || len(c.Objects) != 2 {
				t.Errorf("%d writes, %d routes left", c.Writes, len(c.Objects))
			}
		})
	}
}

func TestSetLooksForTheCanarysService(t *testing.T) {
	c := cluster(t, rule("{name: web, port: 8080}"))
	delete(c.Services, "web-canary")
	err := engine.New(c, hclog.NewNullLogger()).Set(t.Context(), canary(10), targets[:1])
	const want = `HTTPRoute apps/demo: rules[0] "all": Service apps/web-canary does not exist, so traffic cannot be sent to it; create it`
	if err == nil || err.Error() != want || c.Writes != 0 {
		t.Errorf("got %v and %d writes, want %s", err, c.Writes, want)
	}
}

func TestVerifyWaitsForTheGateway(t *testing.T) {
	c := cluster(t, rule("{name: web, port: 8080}"))
	e := engine.New(c, hclog.NewNullLogger())
	if err := e.Set(t.Context(), canary(10), targets[:1]); err != nil {
		t.Fatal(err)
	}
	written := c.Objects[0] // of generation 2
	for _, tt := range []struct {
		name, status   string
		verified       bool
		waiting, fault string
	}{
		{"of before", parent("{name: edge}", "True", "True", 1), false, "HTTPRoute apps/demo: its status speaks of generation 1, generation 2 is awaited", ""},
		{"undecided", parent("{name: edge}", "Unknown", "True", 2), false, "HTTPRoute apps/demo: generation 2 is pending", ""},
		{"refused", parent("{name: edge}", "True", "False", 2), false, "",
			"HTTPRoute apps/demo: not accepted: Gateway apps/edge by example.com/c: ResolvedRefs is False: R; until that is mended, requests to what it refers to and cannot reach are answered with an error"},
		{"accepted", parent("{name: edge}", "True", "True", 2), true, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := objects.Tree(t, written.JSON)
			tree["status"] = objects.Tree(t, objects.Read(t, "{parents: ["+tt.status+"]}").JSON)
			c.Put(objects.OfTree(t, tree).JSON)
			v := e.Verify(t.Context(), canary(10), targets[:1], true)
			fault := ""
			if v.Fault() != nil {
				fault = v.Fault().Error()
			}
			if v.Verified() != tt.verified || strings.Join(v.Waiting, "") != tt.waiting || fault != tt.fault {
				t.Errorf("verified %v, waiting %q, fault %q", v.Verified(), v.Waiting, fault)
			}
		})
	}
}
