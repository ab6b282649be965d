package gatewayapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gatewayapi"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/memory"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/steps"
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

// Managed rules are added where they can be and are wanted, and taken out again by the call for that, at rest and by restore.
func TestSetAddsManagedRules(t *testing.T) {
	for _, managed := range []intent.ManagedRoute{beta, steps.Mirror(100, steps.Gets())} {
		for _, tt := range []struct {
			name   string
			remove func(*engine.Engine, intent.Intent) error
		}{
			{"removed", func(e *engine.Engine, in intent.Intent) error { return e.RemoveManaged(t.Context(), in, targets) }},
			{"at rest", func(e *engine.Engine, _ intent.Intent) error { return e.Set(t.Context(), canary(0), targets) }},
			{"restored", func(e *engine.Engine, in intent.Intent) error { return restore(t, e, in) }},
		} {
			t.Run(managed.Name+" "+tt.name, func(t *testing.T) {
				c := cluster(t, rule("{name: web, port: 8080}"), raw("{name: web, port: 8080}"))
				applied := c.Objects[0]
				e, in := engine.New(c, hclog.NewNullLogger()), withManaged(0, managed)
				in.MayMirror = managed.Mirror != nil
				for range 2 {
					if err := e.Set(t.Context(), in, targets); err != nil {
						t.Fatal(err)
					}
				}
				if v := e.Verify(t.Context(), in, targets, true); !v.Verified() || c.Writes != 1 {
					t.Errorf("%+v after %d writes", v, c.Writes)
				}
				if err := tt.remove(e, in); err != nil {
					t.Fatal(err)
				}
				if objects.Spec(t, c.Objects[0]) != objects.Spec(t, applied) || len(c.Objects[0].Annotations) > 0 || c.Writes != 2 {
					t.Errorf("after %d writes\n%s", c.Writes, objects.YAML(c.Objects[0].JSON))
				}
			})
		}
	}
}

// restore puts the routes at rest as a person does.
func restore(t *testing.T, e *engine.Engine, in intent.Intent) error {
	t.Helper()
	rests, err := e.PlanRest(t.Context(), http, in, "apps", targets)
	if err != nil || len(rests) != 1 {
		t.Fatalf("to rest there are %v, %v", rests, err)
	}
	return e.PutAtRest(t.Context(), in, rests[0])
}

// A step that would change nothing is refused, and nothing is written.
func TestSetRefusesManagedRulesThatNoRouteCanHave(t *testing.T) {
	unwanted := targets[0]
	unwanted.NoHeaders = true
	for _, tt := range []struct {
		name    string
		targets []engine.Target
		want    string
	}{
		{"not wanted", []engine.Target{unwanted, targets[1]}, "HTTPRoute apps/demo: header routes are added only where useHeaderRoutes is true, which it is not; set it; " +
			"TCPRoute apps/raw: only rules without headers match (rules[0] \"all\"), so no header or mirror route can be added; select an HTTPRoute or a GRPCRoute as well"},
		{"of a kind without headers", targets[1:], "TCPRoute apps/raw: only rules without headers match (rules[0] \"all\"), so no header or mirror route can be added; select an HTTPRoute or a GRPCRoute as well"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := cluster(t, rule("{name: web, port: 8080}"), raw("{name: web, port: 8080}"))
			e, in := engine.New(c, hclog.NewNullLogger()), withManaged(0, beta)
			if err := e.Set(t.Context(), in, tt.targets); err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if v := e.Verify(t.Context(), in, tt.targets, true); v.Verified() || v.Fault().Error() != tt.want {
				t.Errorf("verified: %+v", v)
			}
			if c.Writes != 0 {
				t.Errorf("%d writes", c.Writes)
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

// An API server that does not know how to mirror a part of the requests would mirror them all. It is asked beforehand.
func TestSetRehearsesAMirrorOfAPart(t *testing.T) {
	for _, tt := range []struct {
		drops      string
		percentage int
		writes     int
		want       string
	}{
		{"", 35, 1, ""},
		{"percent", 100, 1, ""},
		{"percent", 35, 0, "HTTPRoute apps/demo: nothing was written, since the API server would not keep that a part of the requests is to be mirrored: its definition of HTTPRoute is too old for it; mirror all of them, or install a newer one"},
	} {
		t.Run(fmt.Sprint(tt.percentage, " without ", tt.drops), func(t *testing.T) {
			c := cluster(t, strings.Replace(rule("{port: 8080, name: web}"), "name: all, ", "", 1))
			c.Drops = tt.drops
			e, in := engine.New(c, hclog.NewNullLogger()), withManaged(20, steps.Mirror(tt.percentage, steps.Gets()))
			for range 2 {
				if err := e.Set(t.Context(), in, targets[:1]); err == nil && tt.want != "" || err != nil && err.Error() != tt.want {
					t.Errorf("got  %v\nwant %s", err, tt.want)
				}
			}
			if c.Writes != tt.writes {
				t.Errorf("%d writes, want %d", c.Writes, tt.writes)
			}
		})
	}
}
