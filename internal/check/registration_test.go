package check_test

import "testing"

// mirroring are changes by which the Rollout mirrors traffic.
var mirroring = []string{
	"trafficRouting:\n", "trafficRouting:\n        managedRoutes: [{name: shadow}]\n",
	"steps:\n", "steps:\n        - setMirrorRoute: {name: shadow, percentage: 35, match: [{method: {exact: GET}}]}\n",
}

func TestRegistration(t *testing.T) {
	const name = "ConfigMap argo-rollouts/argo-rollouts-config"
	const list = "    - name: solo-io/glooplatform\n"
	for _, tt := range []row{
		{"no ConfigMap", nil, func(c *cluster) { c.without("configmaps", "argo-rollouts-config") }, `
fail  ` + name + `: it does not exist, so no traffic router is registered; make it as deploy/by-url does, and restart the controller; another namespace is named by --controller-namespace
`},
		{"it may not be read", nil, func(c *cluster) { c.forbidden = []string{"get configmaps in argo-rollouts"} }, `
warn  ` + name + `: you may not read it, so what is to be said of that is missing here; ask somebody who may
`},
		{"no list in it", []string{"trafficRouterPlugins", "trafficRouterPlugin"}, nil, `
fail  ` + name + `: it has no trafficRouterPlugins, so no traffic router is registered; write it as deploy/by-url/configmap.yaml does, and restart the controller
`},
		{"a map", []string{list, "    solo-io/glooplatform:\n", "    - name: somebody/else\n", "    somebody/else:\n"}, nil, `
fail  ` + name + `: trafficRouterPlugins is a map, and the controller takes nothing but a list: it ends when it starts; write it as deploy/by-url/configmap.yaml does, and restart the controller
`},
		{"a field that is not known", []string{"sha256: 5e1f", "sha256: 5e1f\n      checksum: 5e1f"}, nil, `
warn  ` + name + `: the controller passes over a field of trafficRouterPlugins: error unmarshaling JSON: while decoding JSON: json: unknown field "checksum"; correct it, and restart the controller
`},
		{"another's name", []string{"somebody/else", "else"}, nil, `
fail  ` + name + `: "else" is no name of a plugin, so the controller ends when it starts; name it in two parts with one slash, and restart the controller
`},
		{"not registered", []string{list, "    - name: gloo/router\n", "rollouts-plugin-trafficrouter-glooplatform-linux-amd64", "router", "5e1f", "dead"}, nil, `
fail  ` + name + `: it registers no plugin solo-io/glooplatform or solo-io/glooplatformAPI, only gloo/router, somebody/else; add it as deploy/by-url/configmap.yaml does, and restart the controller; a plugin of another name is found by --name
fail  Rollout apps/web: its block is for plugin solo-io/glooplatform, and no traffic router of that name is registered; rename the block, or register the plugin by that name, and restart the controller
`},
		{"no location", []string{"location: https://example.com/v1/rollouts-plugin-trafficrouter-glooplatform-linux-amd64", "disabled: false"}, nil, `
fail  ` + name + `: solo-io/glooplatform: it has no location, so the controller ends when it starts; give it the address of the plugin's binary, and restart the controller
`},
		{"a path for a location", []string{"https://example.com/v1/", "/plugins/"}, nil, `
fail  ` + name + `: solo-io/glooplatform: location /plugins/rollouts-plugin-trafficrouter-glooplatform-linux-amd64 is no http://, https:// or file:// address, so the controller ends when it starts; give it the address of the plugin's binary, and restart the controller
`},
		{"no sum", []string{"      sha256: 5e1f\n", ""}, nil, `
warn  ` + name + `: solo-io/glooplatform: it has no sha256, so whatever its location answers is run with the controller's rights; take the sum of that file from the checksums.txt of its release
`},
		{"another sum", []string{"5e1f", "dead"}, nil, `
fail  ` + name + `: solo-io/glooplatform: its sha256 dead is not that of this binary, 5e1f: it is of another version, or wrong, and then the controller ends when it starts; check with the binary that is registered, or take the sum of that file from the checksums.txt of its release
`},
		{"another platform", []string{"linux-amd64", "linux-arm64", "5e1f", "dead"}, nil, `
warn  ` + name + `: solo-io/glooplatform: its sha256 cannot be compared: it is of a binary for linux/arm64, and this one is for linux/amd64; check with the binary that is registered
`},
		{"a file", []string{"https://example.com/v1/", "file:///plugins/", "      sha256: 5e1f\n", ""}, nil, ""},
		{"a file with a sum", []string{"https://example.com/v1/", "file:///plugins/"}, nil, `
note  ` + name + `: solo-io/glooplatform: sha256 is not compared by the controller, since the location is a file
`},
		{"args that the binary does not know", []string{"--route-namespaces", "--namespaces"}, nil, `
fail  ` + name + `: solo-io/glooplatform: args: unknown flag: --namespaces; the plugin ends when it is started; correct args, and restart the controller; --help lists the flags
`},
		{"tables elsewhere", []string{`"--route-namespaces", "gloo-mesh"`, `"--kubeconfig", "gloo.yaml"`}, nil, `
warn  ` + name + `: solo-io/glooplatform: its args name a kubeconfig, so its RouteTables are in another cluster than is looked at here; give that cluster by --kubeconfig, and this one by --controller-kubeconfig
`},
	} {
		tt.check(t, options())
	}
}

func TestController(t *testing.T) {
	const name = "Argo Rollouts controller in namespace argo-rollouts"
	for _, tt := range []row{
		{"no Deployment", nil, func(c *cluster) { c.without("deployments", "argo-rollouts") }, `
warn  ` + name + `: no Deployment there has its image, so its version is not known; name its namespace by --controller-namespace
`},
		{"it may not be read", nil, func(c *cluster) { c.forbidden = []string{"list deployments in argo-rollouts"} }, `
warn  ` + name + `: you may not read its Deployment, so what is to be said of that is missing here; ask somebody who may
`},
		{"no version", []string{":v1.10.1@", "@"}, nil, `
note  ` + name + `: its image quay.io/argoproj/argo-rollouts@sha256:0000 does not tell its version
`},
		{"an old one", []string{"v1.10.1", "v1.6.6"}, nil, `
warn  ` + name + `: it is v1.6.6, with which nobody has tried the plugin; use v1.8 or newer
`},
	} {
		tt.check(t, options())
	}
}

func TestKinds(t *testing.T) {
	serves := func(resource string, versions ...string) func(*cluster) {
		return func(c *cluster) { c.versions[resource] = versions }
	}
	for _, tt := range []row{
		{"no Rollouts", nil, serves("rollouts.argoproj.io"), `
fail  CustomResourceDefinition rollouts.argoproj.io: the cluster does not serve it, so there are no Rollouts; install Argo Rollouts here, or name its cluster
warn  Rollouts: Rollouts of all namespaces (-n names one) cannot be read: the cluster does not serve that; see what is said of custom resource definitions
`},
		{"no MirrorPolicies, which nobody needs", nil, serves("mirrorpolicies.trafficcontrol.policy.gloo.solo.io"), `
warn  CustomResourceDefinition mirrorpolicies.trafficcontrol.policy.gloo.solo.io: the cluster does not serve it, so no Rollout could mirror traffic, which none does; for steps setMirrorRoute install Gloo Platform's
`},
		{"no MirrorPolicies, which somebody needs", mirroring, serves("mirrorpolicies.trafficcontrol.policy.gloo.solo.io"), `
fail  CustomResourceDefinition mirrorpolicies.trafficcontrol.policy.gloo.solo.io: the cluster does not serve it, so steps setMirrorRoute fail; install Gloo Platform's
`},
		{"an older RouteTable", nil, serves("routetables.networking.gloo.solo.io", "v1", "v1beta1"), `
fail  CustomResourceDefinition routetables.networking.gloo.solo.io: the cluster serves v1, v1beta1 of it and not v2, so no weight can be moved; install Gloo Platform here, or name the cluster of the RouteTables by --kubeconfig
warn  RouteTables: RouteTables cannot be read: the cluster does not serve that; see what is said of custom resource definitions
warn  Rollout apps/web: not all objects that it selects can be read, so they are not looked at; ask somebody who may
`},
		{"they may not be discovered", nil, func(c *cluster) { c.forbidden = []string{"discover rollouts"} }, `
warn  CustomResourceDefinition rollouts.argoproj.io: you may not read what versions are served, so what is to be said of that is missing here; ask somebody who may
`},
	} {
		tt.check(t, options())
	}
}
