package testbed

import "testing"

// What Options.GatewayAPI says is served, in the versions that routes are written in.
func TestGatewayAPIIsInstalled(t *testing.T) {
	t.Parallel()
	s := bed.For(t)
	const group = "gateway.networking.k8s.io/"
	for _, tt := range []struct{ version, kind, spec string }{
		{"v1", "Gateway", `{gatewayClassName: a, listeners: [{name: http, port: 80, protocol: HTTP}]}`},
		{"v1", "HTTPRoute", `{rules: [{name: a, backendRefs: [{name: web, port: 80, weight: 9}]}]}`},
		{"v1beta1", "HTTPRoute", `{rules: [{backendRefs: [{name: web, port: 80}]}]}`},
		{"v1", "GRPCRoute", `{rules: [{backendRefs: [{name: web, port: 80}]}]}`},
		{"v1alpha2", "TCPRoute", `{rules: [{backendRefs: [{name: web, port: 80}]}]}`},
		{"v1alpha2", "TLSRoute", `{hostnames: [a.b], rules: [{backendRefs: [{name: web, port: 80}]}]}`},
		{"v1beta1", "ReferenceGrant", `{from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: a}], to: [{group: "", kind: Service}]}`},
	} {
		t.Run(tt.version+" "+tt.kind, func(t *testing.T) {
			if _, err := create(t, s, group+tt.version, tt.kind, tt.spec); err != nil {
				t.Error(err)
			}
		})
	}
}
