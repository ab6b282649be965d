package traefik

import (
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

type headers map[string]string

// The canary gets the requests of header rules, and no others beside its weight.
var (
	split     = counts{"web": 80, "web-canary": 20}
	allCanary = counts{"web-canary": 100}
)

// A header rule takes no request that another rule had before: of the rules of this route, one has conditions of its own, one
// asks for the step's header anyway, and one is not the Rollout's.
func TestHeaderRulesFollowTheirSources(t *testing.T) {
	t.Parallel()
	s := begin(t, `
    - matches: [{path: {type: PathPrefix, value: /shop}, headers: [{name: x-tenant, value: a}], queryParams: [{name: new, value: "1"}]}]
      backendRefs: [{name: web, port: 80}]
    - matches: [{path: {type: PathPrefix, value: /beta}, headers: [{name: x-beta, value: "yes"}]}]
      backendRefs: [{name: web, port: 80}]
    - matches: [{path: {type: PathPrefix, value: /help}}]
      backendRefs: [{name: other, port: 80}]
    - backendRefs: [{name: web, port: 80}]
`, `[{setWeight: 20}, {setHeaderRoute: {name: beta, match: [{headerName: x-beta, headerValue: {exact: "yes"}}]}}, {pause: {}}]`)
	s.answersTo("/", headers{"X-Beta": "yes"}, counts{"web": 100})
	s.release("web:2", 2)
	for _, tt := range []struct {
		path    string
		headers headers
		want    counts
	}{
		{"/", nil, split},
		{"/", headers{"X-Beta": "no"}, split},
		{"/", headers{"X-Beta": "yes"}, allCanary},
		{"/shop?new=1", headers{"X-Tenant": "a"}, split},
		{"/shop?new=1", headers{"X-Tenant": "a", "X-Beta": "yes"}, allCanary},
		{"/shop", headers{"X-Beta": "yes"}, allCanary}, // by the last rule
		{"/beta", headers{"X-Beta": "yes"}, allCanary},
		{"/help", nil, counts{"other": 100}},
		{"/help", headers{"X-Beta": "yes"}, counts{"other": 100}},
	} {
		s.answersTo(tt.path, tt.headers, tt.want)
	}
	s.Promote("web")
	s.WaitFor("web", testbed.Healthy)
	s.answersTo("/", headers{"X-Beta": "yes"}, counts{"web": 100})
	s.answersTo("/shop?new=1", headers{"X-Tenant": "a", "X-Beta": "yes"}, counts{"web": 100})
}

func TestHeadersMatchAsTheStepSays(t *testing.T) {
	for _, tt := range []struct {
		name, match      string
		matching, others headers
	}{
		{"exact", `[{headerName: x-beta, headerValue: {exact: a.b}}]`, headers{"X-Beta": "a.b"}, headers{"X-Beta": "a.b.c"}},
		{"prefix", `[{headerName: x-beta, headerValue: {prefix: a.b}}]`, headers{"X-Beta": "a.b.c"}, headers{"X-Beta": "0a.b"}},
		{"prefix, quoted", `[{headerName: x-beta, headerValue: {prefix: a.b}}]`, headers{"X-Beta": "a.b"}, headers{"X-Beta": "axb"}},
		{"regex", `[{headerName: x-beta, headerValue: {regex: "^(a|b)$"}}]`, headers{"X-Beta": "b"}, headers{"X-Beta": "c"}},
		{"all entries", `[{headerName: x-beta, headerValue: {exact: a}}, {headerName: x-user, headerValue: {exact: b}}]`,
			headers{"X-Beta": "a", "X-User": "b"}, headers{"X-Beta": "a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, `[{backendRefs: [{name: web, port: 80}]}]`,
				`[{setWeight: 20}, {setHeaderRoute: {name: beta, match: `+tt.match+`}}, {pause: {}}]`)
			s.release("web:2", 2)
			s.answersTo("/", tt.matching, allCanary)
			s.answersTo("/", tt.others, split)
		})
	}
}
