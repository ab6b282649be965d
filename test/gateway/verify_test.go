package gateway

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func services(namespace, name string) *corev1.Service {
	ports := map[string][]corev1.ServicePort{
		"apps/one": {{Name: "http", Port: 80}},
		"apps/two": {{Name: "http", Port: 80}, {Name: "admin", Port: 81}},
	}[namespace+"/"+name]
	if ports == nil {
		return nil
	}
	return &corev1.Service{Spec: corev1.ServiceSpec{Ports: ports}}
}

func TestVerified(t *testing.T) {
	for _, tt := range []struct{ name, destination, want string }{
		{"only port", `{ref: {name: one}}`, ""},
		{"by number", `{ref: {name: two, namespace: apps}, port: {number: 81}}`, ""},
		{"by name", `{ref: {name: two}, port: {name: admin}}`, ""},
		{"no such Service", `{ref: {name: gone}}`, `http[0]: Service apps/gone does not exist`},
		{"another namespace", `{ref: {name: one, namespace: other}}`, `http[0]: Service other/one does not exist`},
		{"no such number", `{ref: {name: one}, port: {number: 81}}`, `http[0]: Service apps/one has no port 81`},
		{"no such name", `{ref: {name: one}, port: {name: admin}}`, `http[0]: Service apps/one has no port admin`},
		{"ambiguous", `{ref: {name: two}}`, `http[0]: Service apps/two has 2 ports, and the destination names none`},
		{"local cluster by name", `{ref: {name: gone, cluster: here}}`, `http[0]: Service apps/gone does not exist`},
		{"another cluster", `{ref: {name: gone, cluster: there}}`, ""},
		{"virtual destination", `{ref: {name: gone}, kind: VIRTUAL_DESTINATION}`, ""},
		{"external service", `{ref: {name: gone}, kind: EXTERNAL_SERVICE}`, ""},
		{"function", `{awsLambda: {function: gone}}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := table(t, "t", `{http: [{forwardTo: {destinations: [`+tt.destination+`]}}]}`)
			if got := before.Verified(services, "here").Faults(); got != tt.want {
				t.Errorf("faults %q, want %q", got, tt.want)
			}
			if before.Faults() != "" {
				t.Error("the table itself has changed")
			}
		})
	}
}

func TestRejectedBreaksForwardingRoutesOnly(t *testing.T) {
	rejected := table(t, "t", `{http: [{forwardTo: {destinations: [{ref: {name: x}}]}}, {redirect: {}}], tcp: [{forwardTo: {destinations: [{ref: {name: x}}]}}]}`).Rejected("no")
	if got, want := rejected.Faults(), "http[0]: no; tcp[0]: no"; got != want {
		t.Errorf("faults %q, want %q", got, want)
	}
}
