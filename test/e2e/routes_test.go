package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
)

// routeKey names a route of the Gateway API.
type routeKey struct {
	schema.GroupVersionKind
	client.ObjectKey
}

// routeKinds are the kinds of the Gateway API's routes, in the versions that the tests write them in.
var routeKinds = []schema.GroupVersionKind{
	routeKind("v1beta1", "HTTPRoute"), routeKind("v1", "HTTPRoute"), routeKind("v1", "GRPCRoute"),
	routeKind("v1alpha2", "TCPRoute"), routeKind("v1alpha2", "TLSRoute"),
}

func routeKind(version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: version, Kind: kind}
}

// routeShapes are those of shapes, for HTTPRoutes.
var routeShapes = []struct{ name, routes string }{
	{"stable listed", "route-stable.yaml"},
	{"both listed", "route-both.yaml"},
}

// inBothRouteShapes runs a story on each.
func inBothRouteShapes(t *testing.T, tell func(t *testing.T, s setup)) {
	for _, shape := range routeShapes {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			tell(t, setup{plugin: successor, routes: file(t, shape.routes), services: withPartner(t)})
		})
	}
}

// withPartner are the Rollout's Services, and one that it has nothing to do with.
func withPartner(t *testing.T) string {
	t.Helper()
	return file(t, "services.yaml") + "---\n" + file(t, "partner.yaml")
}

// through returns the story with requests that take another gateway.
func (d *story) through(client *gateway.Client) *story {
	other := *d
	other.client = client
	return &other
}

// isAccepted waits until the gateway serves a route as it is now, and says so.
func (d *story) isAccepted(route *unstructured.Unstructured) {
	d.t.Helper()
	generation := d.now(route).GetGeneration()
	d.WaitUntil(fmt.Sprintf("%s %s served as of generation %d", route.GetKind(), route.GetName(), generation), func(context.Context) (bool, error) {
		err := refused(d.now(route), generation)
		return err == nil, err
	})
}

// refused says by which conditions a route is not served as of a generation.
func refused(route *unstructured.Unstructured, generation int64) error {
	parents, _, err := unstructured.NestedSlice(route.Object, "status", "parents")
	if err != nil || len(parents) == 0 {
		return errors.Join(err, errors.New("nobody has reported"))
	}
	var errs []error
	for _, parent := range parents {
		for _, c := range parent.(map[string]any)["conditions"].([]any) {
			condition := c.(map[string]any)
			if condition["status"] != "True" || condition["observedGeneration"].(int64) < generation {
				errs = append(errs, fmt.Errorf("%s is %s at generation %d: %s", condition["type"], condition["status"], condition["observedGeneration"], condition["message"]))
			}
		}
	}
	return errors.Join(errs...)
}

// showsRelease checks that every route has the label of a release that is under way.
func (d *story) showsRelease() {
	d.t.Helper()
	for key, written := range d.routes {
		if labels := d.now(written).GetLabels(); labels["rollouts.argoproj.io/gatewayapi-canary"] != "in-progress" {
			d.t.Errorf("%s %s has labels %v, want one of a release that is under way", key.Kind, key.Name, labels)
		}
	}
}

// differsInBackendsOnly checks that nobody has changed anything of the routes but lists of backends.
func (d *story) differsInBackendsOnly() {
	d.t.Helper()
	for _, written := range d.routes {
		if err := equal(written.GetName()+" without backends", withoutBackends(d.now(written)), withoutBackends(written)); err != nil {
			d.t.Error(err)
		}
	}
}

func withoutBackends(route *unstructured.Unstructured) any {
	spec := route.DeepCopy().Object["spec"].(map[string]any)
	for _, rule := range spec["rules"].([]any) {
		delete(rule.(map[string]any), "backendRefs")
	}
	return spec
}
