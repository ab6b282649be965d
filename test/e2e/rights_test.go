package e2e

import (
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/utils/plugin/types"
)

// Rules as deploy/ has them, each in one line.
const (
	onTables   = `{apiGroups: [networking.gloo.solo.io], resources: [routetables], verbs: [get, list, watch, patch]}`
	onPolicies = `{apiGroups: [trafficcontrol.policy.gloo.solo.io], resources: [mirrorpolicies], verbs: [get, list, watch, create, patch, delete]}`
	onServices = `{apiGroups: [""], resources: [services], verbs: [get, list, watch]}`
)

// userWith makes a user who has these rules in the story's namespace and no others, and returns the path of a kubeconfig.
func (d *story) userWith(rules ...string) string {
	d.t.Helper()
	user := "mover-" + d.Namespace
	if len(rules) > 0 {
		d.Apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: mover}
rules: [` + strings.Join(rules, ", ") + `]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: mover}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: mover}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + user + `}]
`)
	}
	_, kubeconfig, err := bed.AddUser(user)
	if err != nil {
		d.t.Fatal(err)
	}
	return kubeconfig
}

// What a Rollout's user reads if a rule is missing: it names the rule. Nothing is written then.
func TestMissingRights(t *testing.T) {
	without := func(rule, verb string) string { return strings.Replace(rule, ", "+verb, "", 1) }
	mirrors := setup{steps: []v1alpha1.CanaryStep{mirrorStep(), {SetWeight: new(int32(10))}}, edit: managesRoutes}
	for _, tt := range []struct {
		name  string
		setup setup
		rules []string
		want  string // may not be done
	}{
		{"any", setup{}, nil, "get routetables.networking.gloo.solo.io"},
		{"patch tables", setup{}, []string{without(onTables, "patch"), onServices}, "patch routetables.networking.gloo.solo.io"},
		{"get tables", setup{}, []string{`{apiGroups: [networking.gloo.solo.io], resources: [routetables], verbs: [patch]}`, onServices},
			"get routetables.networking.gloo.solo.io"},
		{"list tables that are found by label", setup{block: "routeTableSelector: {labels: {app: demo}}"},
			[]string{`{apiGroups: [networking.gloo.solo.io], resources: [routetables], verbs: [get, patch]}`, onServices},
			"list routetables.networking.gloo.solo.io"},
		{"get Services", setup{}, []string{onTables}, "get services"},
		{"list policies", mirrors, []string{onTables, onServices}, "list mirrorpolicies.trafficcontrol.policy.gloo.solo.io"},
		{"create policies", mirrors, []string{onTables, onServices, without(onPolicies, "create")}, "create mirrorpolicies.trafficcontrol.policy.gloo.solo.io"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := tt.setup.prepare(t)
			router := dial(t, d.userWith(tt.rules...))
			got := router.SetWeight(underWay(rolloutOf(t, tt.setup, d.Namespace), 1), 10, nil).ErrorString
			want := "the plugin's service account may not " + tt.want + " in namespace " + d.Namespace + "; grant that to the Argo Rollouts controller's role"
			if !strings.Contains(got, want) {
				t.Errorf("SetWeight: %q, want %q", got, want)
			}
			d.isUntouched()
		})
	}
}

// underWay makes a Rollout one that releases its second version and is at a step.
func underWay(ro *v1alpha1.Rollout, step int32) *v1alpha1.Rollout {
	ro.Annotations = map[string]string{"rollout.argoproj.io/revision": "2"}
	ro.Status.StableRS, ro.Status.CurrentPodHash, ro.Status.CurrentStepIndex = "old", "new", &step
	return ro
}

// With these and no more, tables are moved and put at rest: looking for what is left behind elsewhere is not permitted then, and
// not needed.
func TestFewRightsAreEnough(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rules []string
	}{
		{"in one namespace", []string{onTables, onServices}},
		{"get and patch alone", []string{
			`{apiGroups: [networking.gloo.solo.io], resources: [routetables], verbs: [get, patch]}`,
			`{apiGroups: [""], resources: [services], verbs: [get]}`,
		}},
		{"without watch", []string{
			`{apiGroups: [networking.gloo.solo.io], resources: [routetables], verbs: [get, list, patch]}`,
			`{apiGroups: [""], resources: [services], verbs: [get, list]}`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := setup{}.prepare(t)
			router, ro := dial(t, d.userWith(tt.rules...)), rolloutOf(t, setup{}, d.Namespace)
			if err := router.SetWeight(ro, 10, nil); err.HasError() {
				t.Error(err)
			}
			d.lists("demo", "web 90, web-canary 10")
			d.isServed() // else it is not verified yet
			if verified, err := router.VerifyWeight(ro, 10, nil); verified != types.Verified || err.HasError() {
				t.Errorf("VerifyWeight: %v, %v", verified, err)
			}
			if err := router.SetWeight(ro, 0, nil); err.HasError() {
				t.Error(err)
			}
			d.isAtRest()
		})
	}
}
