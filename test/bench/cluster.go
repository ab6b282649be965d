package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// tables are the namespaces that are measured, each with so many RouteTables.
var tables = []struct {
	namespace string
	count     int
}{{"ten", 10}, {"thousand", 1000}}

const (
	routesPerTable = 20
	// fifty is how many tables of a namespace have the label that selects several.
	fifty = 50
)

// populate creates the namespaces, the Services that the Rollouts name, and the tables.
func populate(ctx context.Context, bed *testbed.Bed) error {
	for _, t := range tables {
		fmt.Fprintf(os.Stderr, "creating %d tables of %d routes\n", t.count, routesPerTable)
		if err := bed.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}); err != nil {
			return err
		}
		for _, name := range []string{"web", "web-canary"} {
			if _, err := bed.Apply(ctx, t.namespace, fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %s}, spec: {selector: {app: web}, ports: [{port: 8080}]}}", name)); err != nil {
				return err
			}
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(16)
		for i := range t.count {
			group.Go(func() error {
				_, err := bed.Apply(ctx, t.namespace, table(i))
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// table is a RouteTable as a company with many teams has them. The first two of its routes forward to Service web, the
// others to other Services.
func table(i int) string {
	text := &strings.Builder{}
	fmt.Fprintf(text, `
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata:
  name: table-%d
  labels: {team: team-%d, several: "%v"}
  annotations: {example.com/owner: team-%d}
spec:
  hosts: [shop-%d.example.com]
  virtualGateways: [{name: main, namespace: gateways}]
  http:
`, i, i%20, i < fifty, i%20, i)
	for r := range routesPerTable {
		service := "web"
		if r > 1 {
			service = fmt.Sprintf("service-%d", r)
		}
		fmt.Fprintf(text, `
    - name: route-%d
      labels: {route: route-%d, auth: "true"}
      matchers: [{uri: {prefix: /api/v1/resource-%d}, headers: [{name: x-tenant, value: "%d"}], method: GET}]
      forwardTo:
        pathRewrite: /resource-%d
        destinations: [{ref: {name: %s}, port: {number: 8080}}]
`, r, r, r, r, r, service)
	}
	return text.String()
}

// rollout is a Rollout in the middle of a release, with a block for the plugin.
func rollout(namespace, block string) (*v1alpha1.Rollout, error) {
	ro := &v1alpha1.Rollout{}
	err := yaml.UnmarshalStrict([]byte(`
metadata: {name: web, uid: web, resourceVersion: "1", generation: 2, annotations: {rollout.argoproj.io/revision: "2"}}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:2", ports: [{containerPort: 8080}], resources: {requests: {cpu: 100m, memory: 128Mi}}}]}
  strategy:
    canary:
      stableService: web
      canaryService: web-canary
      trafficRouting: {}
      steps: [{setWeight: 10}, {pause: {}}, {setWeight: 50}, {pause: {}}, {setWeight: 100}, {pause: {}}]
status: {stableRS: one, currentPodHash: two, currentStepIndex: 1, replicas: 4, availableReplicas: 4}
`), ro)
	if err != nil {
		return nil, err
	}
	raw, err := yaml.YAMLToJSON([]byte(block))
	if err != nil {
		return nil, err
	}
	ro.Namespace = namespace
	ro.Spec.Strategy.Canary.TrafficRouting.Plugins = map[string]json.RawMessage{"solo-io/glooplatform": raw}
	return ro, nil
}
