package e2e

import (
	"strings"
	"testing"
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

// forAPI makes YAML of Rollout web that of Rollout api.
func forAPI(text string) string { return strings.ReplaceAll(text, "web", "api") }
