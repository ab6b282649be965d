package gloo_test

import (
	"fmt"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/objects"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/oracle"
)

var (
	object   = objects.Read
	fromJSON = objects.FromJSON
	apply    = objects.Patched
	asYAML   = objects.YAML
	same     = objects.Same
	spec     = objects.Spec

	mustBeRouteTable   = oracle.RouteTable
	mustBeMirrorPolicy = oracle.MirrorPolicy
)

// canary returns the intent of Rollout apps/web with services web and web-canary.
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

func service(name string) intent.Destination {
	return intent.Destination{Kind: config.KindService, Namespace: "apps", Name: name}
}

func experiment(name string, share int) intent.Experiment {
	return intent.Experiment{Destination: service(name), Share: share}
}

// table returns a RouteTable apps/demo whose spec is text, indented by nothing.
func table(spec string) string {
	return fmt.Sprintf("apiVersion: networking.gloo.solo.io/v2\nkind: RouteTable\nmetadata: {name: demo, namespace: apps, resourceVersion: \"7\"}\nspec:\n%s", spec)
}
