package check_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/check"
)

func TestRights(t *testing.T) {
	const account = "ServiceAccount argo-rollouts/argo-rollouts"
	const grant = "; kubectl apply -k deploy/rbac, or the role of that namespace in deploy/rbac-namespaced\n"
	denied := func(words ...string) func(*cluster) { return func(c *cluster) { c.denied = words } }
	for _, tt := range []row{
		{"no patch", nil, denied("patch routetables"), `
fail  ` + account + `: may not patch routetables.networking.gloo.solo.io in namespace gloo-mesh: no weight can be moved` + grant},
		{"no watch", nil, denied("watch routetables"), `
warn  ` + account + `: may not watch routetables.networking.gloo.solo.io in namespace gloo-mesh: nothing is remembered, and each call asks the API server` + grant},
		{"get and patch alone, for a table by its name", nil, denied("list routetables", "watch routetables"), `
warn  ` + account + `: may not list routetables.networking.gloo.solo.io in namespace gloo-mesh: tables are found by their names alone, and what a changed selection leaves behind is not found` + grant + `
warn  ` + account + `: may not watch routetables.networking.gloo.solo.io in namespace gloo-mesh: nothing is remembered, and each call asks the API server` + grant},
		{"no list, for tables by label", []string{"routeTableSelector: {name: front", "routeTableSelector: {labels: {app: shop}"}, denied("list routetables"), `
fail  ` + account + `: may not list routetables.networking.gloo.solo.io in namespace gloo-mesh: tables are found by their names alone, and what a changed selection leaves behind is not found` + grant},
		{"in the namespace that matters alone", nil, func(c *cluster) {
			c.denied, c.granted = []string{"get routetables", "patch routetables"}, []string{"get routetables in gloo-mesh", "patch routetables in gloo-mesh"}
		}, ""},
		{"no policies, which nobody needs", nil, denied("delete mirrorpolicies"), `
note  ` + account + `: may not delete mirrorpolicies.trafficcontrol.policy.gloo.solo.io in namespace gloo-mesh: policies that mirror nothing any more are left` + grant},
		{"no policies, which somebody needs", mirroring, denied("create mirrorpolicies"), `
fail  ` + account + `: may not create mirrorpolicies.trafficcontrol.policy.gloo.solo.io in namespace gloo-mesh: steps setMirrorRoute fail` + grant},
		{"policies are not watched", mirroring, denied("watch mirrorpolicies"), `
warn  ` + account + `: may not watch mirrorpolicies.trafficcontrol.policy.gloo.solo.io in namespace gloo-mesh: nothing is remembered, and calls of Rollouts that mirror ask the API server` + grant},
		{"no Services", nil, denied("get services"), `
fail  ` + account + `: may not get services in namespace apps: a canary that the table does not list gets no traffic` + grant},
		{"no Events", nil, denied("create events"), `
warn  ` + account + `: may not create events in namespace apps: what a step waits for is not to be seen on the Rollout` + grant},
		{"nobody may ask", nil, func(c *cluster) { c.forbidden = []string{"create subjectaccessreviews"} }, `
warn  ` + account + `: you may not read what it may do, so what is to be said of that is missing here; ask somebody who may
`},
	} {
		tt.want = strings.ReplaceAll(tt.want, grant+"\n", grant)
		tt.check(t, options())
	}
}

// It is the service account of the flags that is asked about.
func TestRightsOfWhom(t *testing.T) {
	c, o := healthy(t), options()
	o.ServiceAccount = "rollouts"
	run(t, c, o)
	if asked := slices.Collect(maps.Keys(c.asked)); !slices.Equal(asked, []string{"system:serviceaccount:argo-rollouts:rollouts"}) {
		t.Errorf("asked about %q", asked)
	}
}

// With RouteTables in another cluster, the rights there are those of the kubeconfig's user.
func TestRightsInTwoClusters(t *testing.T) {
	tables, controller := healthy(t), healthy(t)
	controller.denied = []string{"patch routetables"} // which nobody asks it about
	tables.denied = []string{"watch routetables", "get services"}
	r := check.Run(t.Context(), check.Clusters{Tables: tables, Controller: controller, Apart: true}, options())
	want := `note  User of the RouteTables' cluster: its rights are those of the user by whom this check asks; give the kubeconfig by --kubeconfig that the plugin has among its args
warn  User of the RouteTables' cluster: may not watch routetables.networking.gloo.solo.io in namespace gloo-mesh: nothing is remembered, and each call asks the API server; grant it to the user of the kubeconfig that the plugin is given
`
	if got := lines(t, r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if asked := slices.Collect(maps.Keys(tables.asked)); !slices.Equal(asked, []string{""}) {
		t.Errorf("asked about %q", asked)
	}
}

// What is looked at is what deploy/rbac grants, which others compare with what the plugin does.
func TestRightsAreThoseGranted(t *testing.T) {
	text, err := os.ReadFile("../../deploy/rbac/clusterrole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	role := rbacv1.ClusterRole{}
	document, _, _ := strings.Cut(string(text), "\n---\n")
	if err := yaml.UnmarshalStrict([]byte(document), &role); err != nil {
		t.Fatal(err)
	}
	granted, known := map[string]bool{}, map[string]bool{}
	for _, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			granted[verb+" "+rule.Resources[0]+" "+rule.APIGroups[0]] = true
		}
	}
	for _, r := range check.Rights {
		for _, verb := range r.Verbs {
			known[verb.Name+" "+r.Resource+" "+r.Group] = true
		}
	}
	if !maps.Equal(granted, known) {
		t.Errorf("granted are\n%v\nlooked at are\n%v", slices.Sorted(maps.Keys(granted)), slices.Sorted(maps.Keys(known)))
	}
}
