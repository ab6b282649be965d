package gatewayapi

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func grant(t *testing.T, text string) Grant {
	t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return newGrant(obj)
}

// Conditions of a route on Gateway gw, which has listener http.
func TestStatuses(t *testing.T) {
	around := Surroundings{
		Service: func(_, name string) *corev1.Service {
			if name == "none" {
				return nil
			}
			return &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		},
		Grants: []Grant{
			grant(t, `{metadata: {namespace: open}, spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: ns}], to: [{group: "", kind: Service}]}}`),
			grant(t, `{metadata: {namespace: part}, spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: ns}], to: [{group: "", kind: Service, name: web}]}}`),
			grant(t, `{metadata: {namespace: shut}, spec: {from: [{group: gateway.networking.k8s.io, kind: GRPCRoute, namespace: ns}], to: [{group: "", kind: Service}]}}`),
		},
	}
	gateways := Gateways{{"ns", "gw", ""}: true, {"ns", "gw", "http"}: true}
	for _, tt := range []struct{ name, parent, backend, want string }{
		{"all is well", "{name: gw}", "{name: web, port: 80}", "Accepted ResolvedRefs"},
		{"on a listener", "{name: gw, sectionName: http}", "{name: web, port: 80}", "Accepted ResolvedRefs"},
		{"no listener", "{name: gw, sectionName: x}", "{name: web, port: 80}", "NoMatchingParent ResolvedRefs"},
		{"another's Gateway", "{name: other}", "{name: web, port: 80}", ""},
		{"another kind", "{name: gw, kind: Service, group: ''}", "{name: web, port: 80}", ""},
		{"no Service", "{name: gw}", "{name: none, port: 80}", "Accepted BackendNotFound"},
		{"no port", "{name: gw}", "{name: web, port: 81}", "Accepted BackendNotFound"},
		{"another kind of backend", "{name: gw}", "{name: web, kind: HTTPRoute, group: gateway.networking.k8s.io}", "Accepted InvalidKind"},
		{"permitted", "{name: gw}", "{name: any, namespace: open, port: 80}", "Accepted ResolvedRefs"},
		{"permitted by name", "{name: gw}", "{name: web, namespace: part, port: 80}", "Accepted ResolvedRefs"},
		{"permitted to another name", "{name: gw}", "{name: api, namespace: part, port: 80}", "Accepted RefNotPermitted"},
		{"permitted to another kind", "{name: gw}", "{name: web, namespace: shut, port: 80}", "Accepted RefNotPermitted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := route(t, HTTP, "r", 0, "{parentRefs: ["+tt.parent+"], rules: [{backendRefs: ["+tt.backend+"]}]}").Resolved(around)
			got := ""
			for _, s := range r.statuses(gateways, 7) {
				got = s.Conditions[0].Reason + " " + s.Conditions[1].Reason
				for _, c := range s.Conditions {
					if (c.Status == "True") != (c.Reason == c.Type) || (c.Message == "") != (c.Status == "True") || c.ObservedGeneration != 7 {
						t.Errorf("condition %+v", c)
					}
				}
			}
			if got != tt.want {
				t.Errorf("reasons %q, want %q", got, tt.want)
			}
		})
	}
}

// What others say stays; what is said already is not written again.
func TestStatusPatch(t *testing.T) {
	r := route(t, HTTP, "r", 0, "{parentRefs: [{name: gw}], rules: []}")
	want := r.statuses(Gateways{{"ns", "gw", ""}: true}, 1)
	others := json.RawMessage(`{"parents": [{"controllerName": "other/one", "parentRef": {"name": "x"}, "conditions": []}]}`)
	patch, err := statusPatch(others, "5", want, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	view := struct{ Status json.RawMessage }{}
	if err := json.Unmarshal(patch, &view); err != nil {
		t.Fatal(err)
	}
	parents := struct{ Parents []parentStatus }{}
	if err := json.Unmarshal(view.Status, &parents); err != nil {
		t.Fatal(err)
	}
	if len(parents.Parents) != 2 || parents.Parents[0].ControllerName != "other/one" || parents.Parents[1].ControllerName != ControllerName {
		t.Errorf("the patch is %s", patch)
	}
	again, err := statusPatch(view.Status, "6", r.statuses(Gateways{{"ns", "gw", ""}: true}, 1), time.Unix(9, 0))
	if err != nil || again != nil {
		t.Errorf("the second patch is %s, %v; want none", again, err)
	}
	if next, err := statusPatch(view.Status, "6", r.statuses(Gateways{{"ns", "gw", ""}: true}, 2), time.Unix(9, 0)); err != nil || next == nil {
		t.Errorf("the next generation's patch is %s, %v; want one", next, err)
	}
}
