package check

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
)

// Right is what the plugin does with a resource. deploy/rbac grants just those of Rights.
type Right struct {
	schema.GroupResource
	// Tables says that it is done where RouteTables are; else, where Rollouts are.
	Tables bool
	Verbs  []Verb
	// Folder is the one that grants it, and that with -namespaced after it namespace by namespace.
	Folder string
}

// Verb is one thing that is done.
type Verb struct {
	Name string
	// Needed says when it has to be allowed; otherwise it only should be.
	Needed Need
	// Without is what is so without it.
	Without string
}

// Need says when a right has to be there.
type Need int

const (
	never Need = iota
	always
	byLabel   // if some Rollout selects its tables by label
	mirroring // if some Rollout mirrors traffic; if none does, nobody misses it
)

// GatewayRight returns what the plugin does with a kind of the Gateway API's routes, where Rollouts select some.
func GatewayRight(of schema.GroupResource) Right {
	return Right{of, true, []Verb{
		{"get", always, "no route can be read"},
		{"list", byLabel, "routes are found by their names alone, and what a changed selection leaves behind is not found"},
		{"watch", never, "nothing is remembered, and each call asks the API server"},
		{"patch", always, "no weight can be moved"},
	}, "deploy/rbac-gateway-api"}
}

// Rights are all that the plugin does in a cluster whose Rollouts select RouteTables alone.
var Rights = []Right{
	{gloo.RouteTables{}.Resource().GroupResource(), true, []Verb{
		{"get", always, "no table can be read"},
		{"list", byLabel, "tables are found by their names alone, and what a changed selection leaves behind is not found"},
		{"watch", never, "nothing is remembered, and each call asks the API server"},
		{"patch", always, "no weight can be moved"},
	}, "deploy/rbac"},
	{gloo.RouteTables{}.Policies().Resource.GroupResource(), true, []Verb{
		{"get", never, "a policy that somebody else changes meanwhile is not mended"},
		{"list", mirroring, "steps setMirrorRoute fail"},
		{"watch", never, "nothing is remembered, and calls of Rollouts that mirror ask the API server"},
		{"create", mirroring, "steps setMirrorRoute fail"},
		{"patch", mirroring, "a mirror's percentage cannot be changed"},
		{"delete", mirroring, "policies that mirror nothing any more are left"},
	}, "deploy/rbac"},
	{schema.GroupResource{Resource: "services"}, false, []Verb{
		{"get", always, "a canary that the table does not list gets no traffic"},
		{"list", never, "nothing is remembered, and new weights ask the API server"},
		{"watch", never, "nothing is remembered, and new weights ask the API server"},
	}, "deploy/rbac"},
	{schema.GroupResource{Resource: "events"}, false, []Verb{
		{"create", never, "what a step waits for is not to be seen on the Rollout"},
		{"patch", never, "an event that comes again is not counted"},
	}, "deploy/rbac"},
}

// demands are what the Rollouts that use the plugin need of it, and where.
type demands struct {
	// rollouts are the namespaces of Rollouts, and objects those of the objects that they select, by resource.
	rollouts []string
	objects  map[string][]string
	// byLabel are the resources of which some are selected by label.
	byLabel map[string]bool
	mirrors bool
}

// matters reports whether some Rollout selects objects of a routing API; RouteTables matter also where none selects any at all.
func (d demands) matters(api engine.API) bool {
	_, some := d.objects[api.Resource().Resource]
	return some
}

// rights returns what has to be allowed.
func (d demands) rights(apis []engine.API) []Right {
	policies := gloo.RouteTables{}.Policies().Resource.GroupResource()
	var rights []Right
	for _, r := range Rights {
		if !r.Tables || d.matters(gloo.RouteTables{}) || r.GroupResource == policies && d.mirrors {
			rights = append(rights, r)
		}
	}
	for _, api := range apis {
		if api != (gloo.RouteTables{}) && d.matters(api) {
			rights = append(rights, GatewayRight(api.Resource().GroupResource()))
		}
	}
	return rights
}

// mark says how bad it is that a verb is not allowed.
func (d demands) mark(v Verb, r Right) Mark {
	switch {
	case v.Needed == always, v.Needed == byLabel && d.byLabel[r.Resource], v.Needed == mirroring && d.mirrors:
		return Fail
	case r.Resource == gloo.RouteTables{}.Policies().Resource.Resource && !d.mirrors:
		return Note
	default:
		return Warn
	}
}

func (d demands) namespaces(r Right) []string {
	if policies := (gloo.RouteTables{}).Policies(); r.GroupResource == policies.Resource.GroupResource() {
		return d.objects[gloo.RouteTables{}.Resource().Resource]
	}
	if r.Tables {
		return d.objects[r.Resource]
	}
	return d.rollouts
}

// subject is somebody whose rights are looked at.
type subject struct {
	// name is how findings name it.
	name string
	// may asks whether the subject may do something; namespace empty: in all namespaces.
	may func(ctx context.Context, verb string, of schema.GroupResource, namespace string) (bool, error)
	// grant says what to do about a right that is missing.
	grant func(Right) string
}

// judgeRights says of each right whether a subject has it: in all namespaces or, where it does not, in those that matter.
func judgeRights(ctx context.Context, s subject, rights []Right, d demands) []Finding {
	var findings []Finding
	for _, r := range rights {
		allowed := map[string][]string{} // by where
		var places []string
		var missing []Finding
		for _, v := range r.Verbs {
			granted, denied, err := s.review(ctx, v.Name, r.GroupResource, d.namespaces(r))
			if err != nil {
				return append(findings, unread(s.name, "what it may do", err))
			}
			if denied != "" {
				missing = append(missing, Finding{d.mark(v, r), s.name, fmt.Sprintf("may not %s %s %s: %s", v.Name, r.GroupResource, denied, v.Without), s.grant(r)})
			}
			if granted != "" {
				if allowed[granted] == nil {
					places = append(places, granted)
				}
				allowed[granted] = append(allowed[granted], v.Name)
			}
		}
		for _, place := range places {
			findings = append(findings, Finding{OK, s.name, fmt.Sprintf("may %s %s %s", strings.Join(allowed[place], ", "), r.GroupResource, place), ""})
		}
		findings = append(findings, missing...)
	}
	return findings
}

// review says where a subject may do something, and where not: in all namespaces or in some of those given.
func (s subject) review(ctx context.Context, verb string, of schema.GroupResource, namespaces []string) (granted, denied string, err error) {
	const everywhere = "in all namespaces"
	if allowed, err := s.may(ctx, verb, of, ""); err != nil || allowed {
		return everywhere, "", err
	}
	var yes, no []string
	for _, ns := range namespaces {
		allowed, err := s.may(ctx, verb, of, ns)
		switch {
		case err != nil:
			return "", "", err
		case allowed:
			yes = append(yes, ns)
		default:
			no = append(no, ns)
		}
	}
	if len(namespaces) == 0 {
		return "", everywhere, nil
	}
	return inNamespaces(yes), inNamespaces(no), nil
}

func inNamespaces(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "in namespace " + names[0]
	default:
		return "in namespaces " + strings.Join(names, ", ")
	}
}

var (
	accessReviews     = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"}
	selfAccessReviews = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}
)

// serviceAccount returns a service account as a subject, about whom a cluster is asked.
func serviceAccount(cluster Cluster, namespace, name string) subject {
	return subject{
		name: "ServiceAccount " + namespace + "/" + name,
		grant: func(r Right) string {
			return fmt.Sprintf("kubectl apply -k %s, or the role of that namespace in %s-namespaced", r.Folder, r.Folder)
		},
		may: func(ctx context.Context, verb string, of schema.GroupResource, ns string) (bool, error) {
			return ask(ctx, cluster, accessReviews, &authorizationv1.SubjectAccessReview{
				TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
				Spec: authorizationv1.SubjectAccessReviewSpec{
					User:               "system:serviceaccount:" + namespace + ":" + name,
					Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
					ResourceAttributes: attributes(verb, of, ns),
				},
			})
		},
	}
}

// kubeconfigUser returns the user by whom a cluster is asked as a subject.
func kubeconfigUser(cluster Cluster) subject {
	return subject{
		name:  "User of the RouteTables' cluster",
		grant: func(Right) string { return "grant it to the user of the kubeconfig that the plugin is given" },
		may: func(ctx context.Context, verb string, of schema.GroupResource, ns string) (bool, error) {
			return ask(ctx, cluster, selfAccessReviews, &authorizationv1.SelfSubjectAccessReview{
				TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
				Spec:     authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes(verb, of, ns)},
			})
		},
	}
}

func attributes(verb string, of schema.GroupResource, namespace string) *authorizationv1.ResourceAttributes {
	return &authorizationv1.ResourceAttributes{Verb: verb, Group: of.Group, Resource: of.Resource, Namespace: namespace}
}

// ask has a cluster answer an access review.
func ask(ctx context.Context, cluster Cluster, resource schema.GroupVersionResource, question any) (bool, error) {
	raw, err := json.Marshal(question)
	if err != nil {
		return false, err
	}
	answer, err := cluster.Create(ctx, resource, "", raw)
	if err != nil {
		return false, err
	}
	review := struct {
		Status authorizationv1.SubjectAccessReviewStatus `json:"status"`
	}{}
	err = json.Unmarshal(answer.JSON, &review)
	return review.Status.Allowed, err
}

// rights says whether all is allowed that the plugin does, to whom it does it as.
func rights(ctx context.Context, clusters Clusters, namespace, account string, d demands, all []Right) []Finding {
	controller := serviceAccount(clusters.Controller, namespace, account)
	if !clusters.Apart {
		return judgeRights(ctx, controller, all, d)
	}
	user := kubeconfigUser(clusters.Tables)
	var there, here []Right
	for _, r := range all {
		if r.Tables {
			there = append(there, r)
		} else {
			here = append(here, r)
		}
	}
	return slices.Concat(
		[]Finding{{Note, user.name, "its rights are those of the user by whom this check asks", "give the kubeconfig by --kubeconfig that the plugin has among its args"}},
		judgeRights(ctx, user, there, d), judgeRights(ctx, controller, here, d))
}
