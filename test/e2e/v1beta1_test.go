package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gatewayapi"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// elsewhere is a bed other than the package's.
type elsewhere struct {
	bed  *testbed.Bed
	edge *gatewayapi.Gateway
}

// A cluster of some years ago serves HTTPRoutes as v1beta1 and not as v1.
func TestHTTPRoutesOfV1beta1Alone(t *testing.T) {
	t.Parallel()
	bed.For(t) // or skip
	of := schema.GroupVersion{Group: "gateway.networking.k8s.io", Version: "v1beta1"}.String()
	d := setup{
		elsewhere: startOld(t), plugin: successor, steps: stepsTo(10, 100), services: withPartner(t),
		routes: strings.ReplaceAll(file(t, "route-stable.yaml"), "gateway.networking.k8s.io/v1", of),
	}.begin(t)
	d.release("web:2")
	d.reaches(10)
	d.serves("/demo", shares{"web:1": 90, "web:2": 10})
	d.showsRelease()
	d.promote()
	d.reaches(100)
	d.serves("/demo", shares{"web:2": 100})
	d.promote()
	d.completes("web:2")
}

// startOld starts such a cluster, and a gateway for it.
func startOld(t *testing.T) *elsewhere {
	t.Helper()
	b, err := testbed.Start(t.Context(), testbed.Options{
		Plugins: []testbed.Plugin{{Name: successor, Binary: binary}}, GatewayAPI: true, Rights: []string{"deploy/rbac", "deploy/rbac-gateway-api"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	serveNoMore(t, b, "httproutes.gateway.networking.k8s.io", "v1")
	g, err := gatewayapi.Start(t.Context(), b.Config, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
	})
	return &elsewhere{b, g}
}

// serveNoMore takes a version of a kind out of service, and waits until the API server says that it has none.
func serveNoMore(t *testing.T, b *testbed.Bed, name, version string) {
	t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := b.Client.Get(t.Context(), client.ObjectKey{Name: name}, crd); err != nil {
		t.Fatal(err)
	}
	for _, v := range crd.Object["spec"].(map[string]any)["versions"].([]any) {
		if v := v.(map[string]any); v["name"] == version {
			v["served"] = false
		}
	}
	if err := b.Client.Update(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	server, err := discovery.NewDiscoveryClientForConfig(b.Config)
	if err != nil {
		t.Fatal(err)
	}
	names := crd.Object["spec"].(map[string]any)["names"].(map[string]any)
	err = b.WaitUntil(t.Context(), "an API server without "+version, func(context.Context) (bool, error) {
		list, err := server.ServerResourcesForGroupVersion("gateway.networking.k8s.io/" + version)
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == names["kind"] }), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
