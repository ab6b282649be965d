package testbed

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// What the controller may do is what manifests grant it: Argo Rollouts' own and, by default, the plugin's.
func TestRightsOfTheController(t *testing.T) {
	t.Parallel()
	s := bed.For(t)
	for _, tt := range []struct {
		group, resource, verb string
		want                  bool
	}{
		{"apps", "replicasets", "create", true},
		{"networking.gloo.solo.io", "routetables", "patch", true},
		{"networking.gloo.solo.io", "routetables", "delete", false},
		{"", "secrets", "create", false},
	} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               controllerUser,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: s.Namespace, Group: tt.group, Resource: tt.resource, Verb: tt.verb},
		}}
		if err := bed.Client.Create(t.Context(), review); err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed != tt.want {
			t.Errorf("%s %s: allowed is %v, want %v", tt.verb, tt.resource, review.Status.Allowed, tt.want)
		}
	}
}
