package engine_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// gone is what is wanted for Rollout apps/web when it does not exist any more.
var gone = intent.OfGone("apps", "web", "")

// released returns a cluster in which Rollout apps/web is in the middle of a release on tables a and b, with a mirror route on
// each, and Rollout apps/api on a. Nobody is on c.
func released(t *testing.T) *memoryCluster {
	t.Helper()
	c := tables([3]string{"a", "x", web + ", {ref: {name: api}, weight: 40}"}, [3]string{"b", "x", web}, [3]string{"c", "y", web})
	api := canary(50)
	api.Owner, api.Stable.Name, api.Canary.Name = "apps/api", "api", "api-canary"
	c.Services["api"], c.Services["api-canary"] = c.Services["web"], c.Services["web"]
	set(t, c, api, byName("a"))
	set(t, c, mirroring(20, 35), byLabel(t, "app=x"))
	return c
}

func set(t *testing.T, c *memoryCluster, in intent.Intent, targets []engine.Target) {
	t.Helper()
	if err := on(c).Set(t.Context(), in, targets); err != nil {
		t.Fatal(err)
	}
}

// all prints the weights of the only route of each table that the plugin did not make, and how many policies there are.
func (c *memoryCluster) all() string {
	var texts []string
	for _, o := range c.Objects {
		routes, err := gloo.RouteTables{}.Routes(o.JSON)
		if err != nil {
			return err.Error()
		}
		for _, r := range routes[:len(routes)-1] {
			texts = append(texts, o.Name+": "+r.Name)
		}
		texts = append(texts, o.Name+": "+weightsOf(routes[len(routes)-1]))
	}
	for _, p := range c.Policies {
		texts = append(texts, "policy "+p.Name[:strings.LastIndex(p.Name, "-")])
	}
	return strings.Join(texts, "; ")
}

// putAtRest plans, and does what was planned.
func putAtRest(c *memoryCluster, in intent.Intent, namespace string, targets []engine.Target, meanwhile func()) error {
	e := on(c)
	rests, err := e.PlanRest(context.Background(), gloo.RouteTables{}, in, namespace, targets)
	if meanwhile != nil {
		meanwhile()
	}
	for _, rest := range rests {
		if put := e.PutAtRest(context.Background(), in, rest); err == nil {
			err = put
		}
	}
	return err
}

func TestRest(t *testing.T) {
	const before = "a: shadow; a: web 48, api 20, api-canary 20, web-canary 12; b: shadow; b: web 80, web-canary 20; c: web -; policy shadow; policy shadow"
	const atRest = "a: web -, api 20, api-canary 20; b: web -; c: web -"
	given := func(c *memoryCluster) {
		c.Put(tables([3]string{"c", "y", "{ref: {name: web}, weight: 70}, {ref: {name: web-canary}, weight: 30}"}).Objects[0].JSON)
	}
	for _, tt := range []struct {
		name      string
		damage    func(*memoryCluster)
		in        intent.Intent
		namespace string
		targets   []engine.Target
		want      string
		writes    int
		// remembered says that table a still tells of the Rollout.
		remembered bool
		err        string
	}{
		{"a Rollout that is gone", nil, gone, "", nil, atRest, 4, false, ""},
		{"a Rollout that is there", nil, canary(0), "", byLabel(t, "app=x"), atRest, 4, false, ""},
		{"one that selects other tables by now", nil, canary(0), "", byName("c"), atRest, 4, false, ""},
		{"one that selects a table that is not there", nil, canary(0), "", byName("z"), atRest, 4, false, ""},
		{"what a selected table gives the canary, though nothing is remembered", given, canary(0), "", byName("c"),
			"a: web -, api 20, api-canary 20; b: web -; c: web 100, web-canary 0", 5, false, ""},
		{"not what another table gives", given, canary(0), "", []engine.Target{{API: gloo.RouteTables{}, Namespace: "prod", Name: "c"}},
			"a: web -, api 20, api-canary 20; b: web -; c: web 70, web-canary 30", 4, false, ""},
		{"one that selects a table which does not forward to stable", func(c *memoryCluster) { strip(c, 2, `"name":"web"`, `"name":"new"`) }, canary(0), "", byName("c"),
			"a: web -, api 20, api-canary 20; b: web -; c: new -", 4, false, ""},
		{"in its namespace", nil, gone, "apps", nil, atRest, 4, false, ""},
		{"in another namespace", nil, gone, "prod", nil, before, 0, true, ""},
		{"the Rollout of another cluster", nil, intent.OfGone("apps", "web", "east"), "", nil, before, 0, true, ""},
		{"where the annotation was lost, what carries a label", func(c *memoryCluster) { strip(c, 1, `"annotations":`, `"forgotten":`) }, gone, "apps", nil,
			"a: web -, api 20, api-canary 20; b: web 80, web-canary 20; c: web -", 4, false, ""},
		{"where the table was applied again, the policies", func(c *memoryCluster) { c.Put(tables([3]string{"b", "x", web}).Objects[0].JSON) }, gone, "", nil, atRest, 3, false, ""},
		{"policies that nobody may list are remembered", func(c *memoryCluster) { c.Forbidden = []string{"policy list"} }, gone, "", nil,
			atRest + "; policy shadow; policy shadow", 2, true,
			`RouteTable apps/a: MirrorPolicy: mirrorpolicies.trafficcontrol.policy.gloo.solo.io is forbidden: to list; RouteTable apps/b: MirrorPolicy: mirrorpolicies.trafficcontrol.policy.gloo.solo.io is forbidden: to list`},
		{"policies that nobody may delete", func(c *memoryCluster) { c.Forbidden = []string{"policy delete"} }, gone, "", nil,
			atRest + "; policy shadow; policy shadow", 2, false,
			`RouteTable apps/a: MirrorPolicy NAME is left and mirrors nothing any more: mirrorpolicies.trafficcontrol.policy.gloo.solo.io is forbidden: to delete`},
		{"a cluster without policies", func(c *memoryCluster) { c.Forbidden, c.Policies = []string{"policy unserved"}, nil }, gone, "", nil, atRest, 2, false, ""},
		{"tables that nobody may list", func(c *memoryCluster) { c.Forbidden = []string{"list"} }, gone, "", nil, before, 0, true,
			"RouteTables: routetables.networking.gloo.solo.io is forbidden: in all namespaces"},
		{"a table that cannot be served does not keep the others back", func(c *memoryCluster) { strip(c, 1, `"name":"web"`, `"name":"new"`) }, gone, "", nil,
			"a: web -, api 20, api-canary 20; b: shadow; b: new 80, web-canary 20; c: web -; policy shadow", 2, false,
			`RouteTable apps/b: http[1] "all": still holds Service apps/web-canary but forwards to stable no more; list stable again, or take the others out`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := released(t)
			if tt.damage != nil {
				tt.damage(c)
			}
			writes := c.Writes
			err := putAtRest(c, tt.in, tt.namespace, tt.targets, nil)
			text := ""
			if err != nil {
				text = policyName.ReplaceAllString(err.Error(), "NAME")
			}
			if got := c.all(); got != tt.want || c.Writes-writes != tt.writes || text != tt.err {
				t.Errorf("%s\nafter %d writes with %q\nwant %s\nafter %d with %q", got, c.Writes-writes, text, tt.want, tt.writes, tt.err)
			}
			annotation := c.Objects[0].Annotations[engine.Annotation]
			if got := strings.Contains(annotation, `"apps/web"`); got != tt.remembered {
				t.Errorf("remembered: %v, want %v", got, tt.remembered)
			}
			if !strings.Contains(annotation, `"apps/api"`) {
				t.Error("the other Rollout is forgotten")
			}
		})
	}
}

var policyName = regexp.MustCompile(`shadow-[0-9a-f]+`)

// strip puts one text for another in a table.
func strip(c *memoryCluster, table int, text, by string) {
	c.Put([]byte(strings.ReplaceAll(string(c.Objects[table].JSON), text, by)))
}

// What was shown is what is written: a table that is another by then stays as it is, and its policies too.
func TestRestOfWhatChangedMeanwhile(t *testing.T) {
	c := released(t)
	err := putAtRest(c, gone, "", nil, func() { strip(c, 0, `"weight":48`, `"weight":47`) })
	want := "RouteTable apps/a: somebody has changed it meanwhile, so nothing was written to it; look at it again"
	if err == nil || err.Error() != want || !apierrors.IsConflict(err) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if got, want := c.all(), "a: shadow; a: web 47, api 20, api-canary 20, web-canary 12; b: web -; c: web -; policy shadow"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A webhook that changes everything back is told of.
func TestRestThatDoesNotStay(t *testing.T) {
	c := released(t)
	err := putAtRest(c, gone, "", nil, func() { c.Reverts = true })
	if want := "RouteTable apps/a: it was written and is not as it was to be; does an admission webhook change it back?"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
