package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// Two Rollouts share a table, and even a route. Each moves its own weights only, at its own pace.
func TestTwoRolloutsOnOneTable(t *testing.T) {
	t.Parallel()
	s := setup{
		services: file(t, "services.yaml") + "---\n" + forAPI(file(t, "services.yaml")),
		tables: `
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: demo}
spec:
  hosts: [NAMESPACE.example.com]
  http:
    - {name: web, matchers: [{uri: {prefix: /web}}], forwardTo: {destinations: [{ref: {name: web}}]}}
    - name: api
      matchers: [{uri: {prefix: /api}}]
      forwardTo: {destinations: [{ref: {name: api}, weight: 100}, {ref: {name: api-canary}, weight: 0}]}
    - name: both
      matchers: [{uri: {prefix: /both}}]
      forwardTo: {destinations: [{ref: {name: web}, weight: 60}, {ref: {name: api}, weight: 40}]}
`}
	web := s.begin(t)
	api := *web
	api.name = "api"
	api.Apply(forAPI(s.rollout(t)))
	api.completes("api:1")

	web.release("web:2")
	api.release("api:2")
	web.reaches(10)
	api.reaches(10)
	web.serves("/both", shares{"web:1": 54, "web:2": 6, "api:1": 36, "api:2": 4})

	api.promote()
	api.reaches(50)
	web.serves("/web", shares{"web:1": 90, "web:2": 10})
	web.serves("/api", shares{"api:1": 50, "api:2": 50})
	web.serves("/both", shares{"web:1": 54, "web:2": 6, "api:1": 20, "api:2": 20})

	web.Abort(web.name)
	web.soonLists("web", "web")
	web.serves("/web", shares{"web:1": 100})
	web.serves("/api", shares{"api:1": 50, "api:2": 50})
	web.serves("/both", shares{"web:1": 60, "api:1": 20, "api:2": 20})

	api.promote()
	api.completes("api:2")
	web.aborts()
	web.serves("/both", shares{"web:1": 60, "api:2": 40})
}

// Twenty Rollouts go through their steps on one table, each with a route of its own. That the others write to it, so that it
// is never observed for long, keeps none of them from going on.
func TestTwentyRolloutsOnOneTable(t *testing.T) { // alone: they occupy all workers of the controller
	const crowd = 20
	var services, rollouts, routes strings.Builder
	s := setup{edit: func(spec *v1alpha1.RolloutSpec) {
		spec.Replicas = new(int32(1))
		managesRoutes(spec)
	}}
	s.steps = []v1alpha1.CanaryStep{{SetWeight: new(int32(10))}, headerStep("beta", "x-beta", "yes"), {SetWeight: new(int32(50))}}
	for i := range crowd {
		named := strings.NewReplacer("web", fmt.Sprintf("web%d", i))
		services.WriteString("---\n" + named.Replace(file(t, "services.yaml")))
		rollouts.WriteString("---\n" + named.Replace(s.rollout(t)))
		routes.WriteString(named.Replace(
			"    - {name: web, matchers: [{uri: {prefix: /web/}}], forwardTo: {destinations: [{ref: {name: web}}]}}\n"))
	}
	s.services, s.tables = services.String(), `
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: demo}
spec:
  hosts: [NAMESPACE.example.com]
  http:
`+routes.String()
	d := s.prepare(t)
	d.Apply(rollouts.String())
	for i := range crowd {
		d.WaitFor(fmt.Sprintf("web%d", i), testbed.Healthy)
	}
	for i := range crowd {
		d.SetImage(fmt.Sprintf("web%d", i), "web:2")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // for all of them
	defer cancel()
	for i := range crowd {
		if _, err := bed.WaitFor(ctx, d.Key(fmt.Sprintf("web%d", i)), testbed.Healthy); err != nil {
			t.Fatal(err)
		}
	}
	d.isAtRest()
	d.served(10, "/web7/", shares{"web:2": 100})
}

// forAPI makes YAML of Rollout web that of Rollout api.
func forAPI(text string) string { return strings.ReplaceAll(text, "web", "api") }
