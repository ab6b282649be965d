package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/restore"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/memory"
)

// partial is a cluster of which some resources cannot be listed.
type partial struct {
	*memory.Cluster
	refuses map[string]error // by resource
}

func (p partial) List(ctx context.Context, resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]engine.Object, error) {
	if err := p.refuses[resource.Resource]; err != nil {
		return nil, err
	}
	return p.Cluster.List(ctx, resource, namespace, selector)
}

const (
	mixedTable = `{apiVersion: networking.gloo.solo.io/v2, kind: RouteTable, metadata: {name: table, namespace: apps},
spec: {http: [{forwardTo: {destinations: [{ref: {name: web}}]}}]}}`
	mixedRoute = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: route, namespace: apps, labels: {app: shop}},
spec: {rules: [{backendRefs: [{name: web, port: 8080}]}]}}`
	mixedRollout = `{metadata: {name: web, namespace: apps}, spec: {strategy: {canary: {stableService: web, canaryService: web-canary,
trafficRouting: {plugins: {solo-io/glooplatform: {routeTableSelector: {name: table}, httpRoute: route}}}}}}}`
)

// inRelease returns a cluster in which Rollout apps/web has 20 percent of a table's and of a route's traffic on its canary, and the
// two as they were applied.
func inRelease(t *testing.T) (c *memory.Cluster, applied [][]byte) {
	t.Helper()
	port := intent.Service{Ports: []intent.ServicePort{{Number: 8080}}}
	c = &memory.Cluster{Services: map[string]intent.Service{"web": port, "web-canary": port}}
	for _, text := range []string{mixedTable, mixedRoute} {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		c.Put(raw)
		applied = append(applied, raw)
	}
	ro := &v1alpha1.Rollout{}
	if err := yaml.Unmarshal([]byte(mixedRollout), ro); err != nil {
		t.Fatal(err)
	}
	router := plugin.NewRouter(plugin.Options{Log: hclog.NewNullLogger(), Connect: func() (plugin.Connection, error) {
		return plugin.Connection{Cluster: c}, nil
	}})
	if err := router.SetWeight(ro, 20, nil); err.HasError() {
		t.Fatal(err)
	}
	return c, applied
}

// A Rollout that is gone left something on a table and on a route of the Gateway API. Kinds that are not there hold nothing; those
// that may not be listed are named.
func TestRestoreOfSeveralKinds(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "", errors.New("no"))
	for _, tt := range []struct {
		name    string
		refuses map[string]error
		said    string
		error   string
		objects []int // those that are at rest then
	}{
		{"both", map[string]error{"grpcroutes": engine.ErrUnserved, "tcproutes": engine.ErrUnserved},
			"RouteTable apps/table: at rest\nHTTPRoute apps/route: at rest\n2 of 2 objects put at rest\n", "", []int{0, 1}},
		{"without Gloo", map[string]error{"routetables": engine.ErrUnserved},
			"HTTPRoute apps/route: at rest\n1 of 1 objects put at rest\n", "", []int{1}},
		{"routes may not be listed", map[string]error{"httproutes": forbidden, "tlsroutes": forbidden},
			"HTTPRoutes, TLSRoutes may not be listed, so it is not known whether they hold anything.\nRouteTable apps/table: at rest\n1 of 1 objects put at rest\n", "", []int{0}},
		{"none is there", map[string]error{
			"routetables": engine.ErrUnserved, "httproutes": engine.ErrUnserved, "grpcroutes": engine.ErrUnserved, "tcproutes": engine.ErrUnserved, "tlsroutes": engine.ErrUnserved,
		}, "", "RouteTables: resource is not served", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, applied := inRelease(t)
			out, errOut := bytes.Buffer{}, bytes.Buffer{}
			r := restoration{
				plugin: restore.Plugin{Names: plugin.Names, Targets: plugin.Options{}.Targets}, apis: plugin.APIs(),
				tables: partial{c, tt.refuses}, controller: &memory.Cluster{}, out: &out, errOut: &errOut, namespace: "apps", name: "web", yes: true,
			}
			err := r.run(t.Context())
			if text := errorText(err); text != tt.error || errOut.String() != tt.said {
				t.Errorf("%q with error %q, want %q with %q", errOut.String(), text, tt.said, tt.error)
			}
			for _, i := range tt.objects {
				if o := c.Objects[i]; !sameSpec(t, o.JSON, applied[i]) || len(o.Annotations) > 0 || strings.Contains(string(o.JSON), "in-progress") {
					t.Errorf("left is\n%s", o.JSON)
				}
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
