package gatewayapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// shop is two Services, each with a ReplicaSet, and routes of all kinds that lead to both.
const shop = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {track: stable}, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: web-canary}
spec: {selector: {track: canary}, ports: [{name: http, port: 80}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-1}
status: {replicas: 1, availableReplicas: 1}
spec:
  selector: {matchLabels: {track: stable}}
  template:
    metadata: {labels: {track: stable, rollouts-pod-template-hash: one}}
    spec: {containers: [{name: web, image: "web:1"}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-2}
status: {replicas: 1, availableReplicas: 1}
spec:
  selector: {matchLabels: {track: canary}}
  template:
    metadata: {labels: {track: canary, rollouts-pod-template-hash: two}}
    spec: {containers: [{name: web, image: "web:2"}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw}
spec:
  gatewayClassName: stand-in
  listeners:
    - {name: http, protocol: HTTP, port: 80}
    - {name: tcp, protocol: TCP, port: 5432}
    - {name: tls, protocol: TLS, port: 443, tls: {mode: Passthrough}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop}
spec:
  parentRefs: [{name: gw, sectionName: http}]
  hostnames: [demo.example.com]
  rules:
    - filters: [{type: RequestMirror, requestMirror: {backendRef: {name: web-canary, port: 80}, percent: 50}}]
      backendRefs: [{name: web, port: 80, weight: 3}, {name: web-canary, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: shop}
spec:
  parentRefs: [{name: gw, sectionName: http}]
  hostnames: [demo.example.com]
  rules:
    - matches: [{method: {service: demo.Colors}}]
      backendRefs: [{name: web, port: 80, weight: 3}, {name: web-canary, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1alpha2
kind: TCPRoute
metadata: {name: shop}
spec:
  parentRefs: [{name: gw, sectionName: tcp}]
  rules: [{backendRefs: [{name: web, port: 80, weight: 3}, {name: web-canary, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1alpha2
kind: TLSRoute
metadata: {name: shop}
spec:
  parentRefs: [{name: gw, sectionName: tls}]
  hostnames: [demo.example.com]
  rules: [{backendRefs: [{name: web, port: 80, weight: 3}, {name: web-canary, port: 80}]}]
`

// open starts a gateway on a cluster in memory that holds the shop and more objects.
func open(t *testing.T, more ...string) (*Gateway, *dynamicfake.FakeDynamicClient) {
	t.Helper()
	var known []runtime.Object
	var unknown []*unstructured.Unstructured
	for _, text := range append([]string{shop}, more...) {
		objects, err := testbed.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range objects {
			if obj.GetNamespace() == "" {
				obj.SetNamespace("ns")
			}
			typed := map[string]runtime.Object{"Service": &corev1.Service{}, "ReplicaSet": &appsv1.ReplicaSet{}}[obj.GetKind()]
			if typed == nil {
				unknown = append(unknown, obj)
				continue
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, typed); err != nil {
				t.Fatal(err)
			}
			known = append(known, typed)
		}
	}
	kinds := map[schema.GroupVersionResource]string{gatewayResource: "GatewayList", grantResource: "ReferenceGrantList"}
	for kind, resource := range resources {
		kinds[resource] = kind + "List"
	}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)
	for _, obj := range unknown {
		if err := client.Tracker().Create(resourceOf(obj), obj, obj.GetNamespace()); err != nil {
			t.Fatal(err)
		}
	}
	gw, err := start(t.Context(), fake.NewClientset(known...), client, resources, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := gw.Stop(); err != nil {
			t.Error(err)
		}
	})
	return gw, client
}

// resourceOf is needed since the client would guess that several Gateways are gatewaies.
func resourceOf(obj *unstructured.Unstructured) schema.GroupVersionResource {
	switch obj.GetKind() {
	case "Gateway":
		return gatewayResource
	case "ReferenceGrant":
		return grantResource
	default:
		return resources[obj.GetKind()]
	}
}

// judged waits until the status of a route gives these reasons.
func judged(t *testing.T, client *dynamicfake.FakeDynamicClient, kind, name, want string) {
	t.Helper()
	got := ""
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		obj, err := client.Resource(resources[kind]).Namespace("ns").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		var reasons []string
		parents, _, err := unstructured.NestedSlice(obj.Object, "status", "parents")
		for _, p := range parents {
			conditions, _, _ := unstructured.NestedSlice(asMap(p), "conditions")
			for _, c := range conditions {
				reasons = append(reasons, fmt.Sprint(asMap(c)["reason"]))
			}
		}
		got = strings.Join(reasons, " ")
		return got == want, err
	})
	if err != nil {
		t.Fatal(errors.Join(err, fmt.Errorf("%s %s: reasons %q, want %q", kind, name, got, want)))
	}
}

// quarter checks that some three of four answers are of the first version. Of 400 that is 300, give or take 9: 5 times that
// is beyond chance.
func quarter(t *testing.T, tally gateway.Tally, err error) {
	t.Helper()
	if n := tally.Images["web:1"]; err != nil || n < 255 || n > 345 || n+tally.Images["web:2"] != 400 {
		t.Errorf("answers of 400: %v by status %v, %v", tally.Images, tally.Statuses, err)
	}
}

const host = "demo.example.com"

func TestHTTPIsShared(t *testing.T) {
	gw, client := open(t)
	judged(t, client, HTTP, "shop", "Accepted ResolvedRefs")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	tally, err := gw.Share(t.Context(), 400, req)
	quarter(t, tally, err)
	if m := gw.Mirrored("ns", "shop"); m.Requests != 400 || m.Copies < 150 || m.Copies > 250 || m.Images["web:2"] != m.Copies {
		t.Errorf("mirrored %+v, want some 200 of 400 to web:2", m)
	}
}

func TestGRPCIsShared(t *testing.T) {
	gw, client := open(t)
	judged(t, client, GRPC, "shop", "Accepted ResolvedRefs")
	caller, err := gw.DialGRPC(host)
	if err != nil {
		t.Fatal(err)
	}
	tally, err := gateway.Collect(t.Context(), 400, func(ctx context.Context) (gateway.Answer, error) {
		return caller.Call(ctx, "/demo.Colors/Get")
	})
	quarter(t, tally, err)
	if a, err := caller.Call(t.Context(), "/other.Colors/Get"); err == nil || !strings.Contains(err.Error(), "Unimplemented") || a.Outcome != gateway.NotFound {
		t.Errorf("a method without a rule: %+v, %v", a, err)
	}
	if err := caller.Close(); err != nil {
		t.Error(err)
	}
}

func TestStreamsAreShared(t *testing.T) {
	gw, client := open(t)
	for _, tt := range []struct{ kind, listener, serverName string }{{TCP, "tcp", ""}, {TLS, "tls", host}} {
		judged(t, client, tt.kind, "shop", "Accepted ResolvedRefs")
		addr, err := gw.Listen(Listener{"ns", "gw", tt.listener}, tt.kind == TLS)
		if err != nil {
			t.Fatal(err)
		}
		tally, err := gateway.Collect(t.Context(), 400, func(ctx context.Context) (gateway.Answer, error) {
			return Connect(ctx, addr, tt.serverName)
		})
		quarter(t, tally, err)
		if tt.kind == TLS {
			if a, err := Connect(t.Context(), addr, "other.example.com"); err != nil || a.Status != http.StatusServiceUnavailable {
				t.Errorf("another server name: %+v, %v", a, err)
			}
		}
	}
}

const abroad = `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: there}
spec: {selector: {track: stable}, ports: [{name: http, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: abroad}
spec:
  parentRefs: [{name: gw}]
  hostnames: [abroad.example.com]
  rules: [{backendRefs: [{name: web, namespace: there, port: 80}]}]
`

// A route that refers to another namespace is accepted, but answers 500 unless a ReferenceGrant permits it.
func TestGrantPermits(t *testing.T) {
	for _, tt := range []struct {
		name, grant, reasons string
		status               int
	}{
		{"without", "", "Accepted RefNotPermitted", http.StatusInternalServerError},
		{"with", `
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: shop, namespace: there}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: ns}]
  to: [{group: "", kind: Service}]
`, "Accepted ResolvedRefs", http.StatusServiceUnavailable}, // there are no pods
	} {
		t.Run(tt.name, func(t *testing.T) {
			gw, client := open(t, abroad, tt.grant)
			judged(t, client, HTTP, "abroad", tt.reasons)
			if a, err := gw.Get(t.Context(), "http://abroad.example.com/"); err != nil || a.Status != tt.status {
				t.Errorf("answer %+v, %v; want status %d", a, err, tt.status)
			}
		})
	}
}
