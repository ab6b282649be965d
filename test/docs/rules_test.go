package docs

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/check"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
)

// grants are what rules allow, one by one: "patch routetables.networking.gloo.solo.io".
type grants map[string]bool

func grantsOf(rules []rbacv1.PolicyRule) grants {
	g := grants{}
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					g[strings.TrimSuffix(verb+" "+resource+"."+group, ".")] = true
				}
			}
		}
	}
	return g
}

// without returns what is not in other.
func (g grants) without(other grants) grants {
	rest := maps.Clone(g)
	maps.DeleteFunc(rest, func(grant string, _ bool) bool { return other[grant] })
	return rest
}

// rulesOf are the rules of all roles in a kustomization's objects whose name matches.
func (b built) rulesOf(t *testing.T, name string) []rbacv1.PolicyRule {
	t.Helper()
	var all []rbacv1.PolicyRule
	for key := range b {
		kind, rest, _ := strings.Cut(key, " ")
		if (kind == "ClusterRole" || kind == "Role") && regexp.MustCompile("^("+name+")$").MatchString(rest) {
			role := rbacv1.ClusterRole{} // a Role has the same fields
			b.read(t, key, &role)
			all = append(all, role.Rules...)
		}
	}
	return all
}

// needed is what the plugin needs, which deploy/rbac says.
func needed(t *testing.T) grants {
	t.Helper()
	return grantsOf(build(t, disk(t), "/deploy/rbac").rulesOf(t, ".*"))
}

// checkMissingRules checks that rules are those that the plugin needs and the controller has not.
func checkMissingRules(t *testing.T, rules []rbacv1.PolicyRule) {
	t.Helper()
	own := grantsOf(build(t, disk(t), "/upstream/cluster-install").rulesOf(t, "argo-rollouts"))
	if want, got := needed(t).without(own), grantsOf(rules); len(want) == 0 || !maps.Equal(got, want) {
		t.Errorf("granted is %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// All ways to grant rights grant the same.
func TestRolesGrantTheSame(t *testing.T) {
	want := needed(t)
	if got := grantsOf(build(t, disk(t), "/deploy/rbac-namespaced").rulesOf(t, ".*")); len(want) == 0 || !maps.Equal(got, want) {
		t.Errorf("deploy/rbac-namespaced grants %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	for _, install := range []string{"cluster-install", "namespace-install"} {
		own := len(build(t, disk(t), "/upstream/"+install).rulesOf(t, "argo-rollouts"))
		all := withComponents(t, install, "rules").rulesOf(t, "argo-rollouts")
		if own == 0 {
			t.Fatalf("%s has no rules", install)
		}
		checkMissingRules(t, all[own:])
	}
}

// checkGatewayRules checks that rules are those that the plugin needs on the Gateway API's routes.
func checkGatewayRules(t *testing.T, rules []rbacv1.PolicyRule) {
	t.Helper()
	var want []rbacv1.PolicyRule
	for _, api := range plugin.APIs() {
		if api.Kind() == "RouteTable" {
			continue
		}
		r := check.GatewayRight(api.Resource().GroupResource())
		for _, v := range r.Verbs {
			want = append(want, rbacv1.PolicyRule{APIGroups: []string{r.Group}, Resources: []string{r.Resource}, Verbs: []string{v.Name}})
		}
	}
	if got, want := grantsOf(rules), grantsOf(want); len(want) == 0 || !maps.Equal(got, want) {
		t.Errorf("granted is %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// All ways to grant rights on the Gateway API's routes grant what check looks at.
func TestGatewayRolesGrantTheSame(t *testing.T) {
	for _, folder := range []string{"rbac-gateway-api", "rbac-gateway-api-namespaced"} {
		checkGatewayRules(t, build(t, disk(t), "/deploy/"+folder).rulesOf(t, ".*"))
	}
	for _, install := range []string{"cluster-install", "namespace-install"} {
		own := len(build(t, disk(t), "/upstream/"+install).rulesOf(t, "argo-rollouts"))
		checkGatewayRules(t, withComponents(t, install, "gateway-api-rules").rulesOf(t, "argo-rollouts")[own:])
	}
}

// The page about security lists what is granted.
func TestSecurityPageListsTheRules(t *testing.T) {
	listed := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| (`.*`) \\|.*\\|.*\\|$").FindAllStringSubmatch(read(t, "docs/security.md"), -1) {
		listed[m[1]] = strings.NewReplacer("`", "", ",", "").Replace(m[2])
	}
	granted := map[string]string{}
	for _, rule := range build(t, disk(t), "/deploy/rbac").rulesOf(t, ".*") {
		for _, resource := range rule.Resources {
			granted[resource] = strings.Join(rule.Verbs, " ")
		}
	}
	if !maps.Equal(listed, granted) {
		t.Errorf("docs/security.md lists %v, and deploy/rbac grants %v", listed, granted)
	}
}
