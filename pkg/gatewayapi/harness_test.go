package gatewayapi_test

import (
	"fmt"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gatewayapi"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
)

// http is the API of most tests here.
var http = gatewayapi.HTTPRoutes("v1")

// route returns an HTTPRoute apps/demo with these rules, in YAML's flow style.
func route(rules string) string {
	return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: demo, namespace: apps}\n"+
		"spec: {parentRefs: [{name: edge}], future: {id: 9007199254740993, nothing: null}, rules: [%s]}\n", rules)
}

// rule returns a route with one rule that has these backendRefs.
func rule(backendRefs string) string {
	return route("{name: all, future: 1, backendRefs: [" + backendRefs + "]}")
}

// canary returns the intent of Rollout apps/web with Services web and web-canary.
func canary(share int, experiments ...intent.Experiment) intent.Intent {
	return intent.Intent{
		Owner: "apps/web", Namespace: "apps", Stable: service("web"), Canary: service("web-canary"),
		CanaryShare: share, MaxShare: 100, Experiments: experiments,
		Services: map[string]intent.Service{
			"web":   {Ports: []intent.ServicePort{{Number: 8080, Name: "http", Target: "http"}}},
			"exp-a": {Ports: []intent.ServicePort{{Number: 9090, Name: "metrics", Target: "9090"}, {Number: 3000, Name: "http", Target: "3000"}}},
		},
	}
}

// outOf returns the intent with shares out of another maxTrafficWeight.
func outOf(maxShare int, in intent.Intent) intent.Intent {
	in.MaxShare = maxShare
	return in
}

func service(name string) intent.Destination {
	return intent.Destination{Kind: config.KindService, Namespace: "apps", Name: name}
}

func experiment(name string, share int) intent.Experiment {
	return intent.Experiment{Destination: service(name), Share: share}
}

// after returns the object as it is once every intent has been asked for, one after the other.
func after(t *testing.T, api engine.API, o engine.Object, calls ...intent.Intent) engine.Object {
	t.Helper()
	for _, in := range calls {
		plan, err := engine.MakePlan(api, o, engine.Selection{}, in)
		if err != nil {
			t.Fatal(err)
		}
		o = objects.Patched(t, o, plan.Patch)
	}
	return o
}
