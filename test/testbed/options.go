package testbed

import (
	"io"
	"os"
)

// ControllerNamespace is where the controller looks for its ConfigMap, and has its service account.
const ControllerNamespace = "argo-rollouts"

// configName is the name of that ConfigMap.
const configName = "argo-rollouts-config"

// Plugin is an entry of trafficRouterPlugins in the controller's ConfigMap. The same binary may be registered under
// several names; the controller then runs one process for each name that a Rollout uses.
type Plugin struct {
	Name   string   // as in a Rollout's trafficRouting.plugins, in two segments: owner/name
	Binary string   // path of the executable; it must exist when the controller starts
	URL    string   // where the controller downloads the executable, in place of Binary
	SHA256 string   // of what it downloads, in hex; empty: any will do
	Args   []string // arguments the controller starts it with
}

// Options says what a bed consists of. The zero value is an API server and a controller without plugins.
type Options struct {
	// Plugins are registered with the controller as traffic routers.
	Plugins []Plugin
	// APIOnly leaves the controller and the stand-in for pods out.
	APIOnly bool
	// CRDs are files or folders of further CRDs. Those of Argo Rollouts and of test/crds are always installed.
	CRDs []string
	// GatewayAPI installs the CRDs of the Gateway API: its standard channel, and TCPRoute and TLSRoute of the experimental one.
	GatewayAPI bool
	// Assets is the folder of etcd, kube-apiserver and rollouts-controller. Default: bin/assets of the module.
	Assets string
	// ControllerArgs and ControllerEnv ("KEY=value") come after those of the bed, and the last one counts. The plugin
	// inherits the environment.
	ControllerArgs []string
	ControllerEnv  []string
	// APIServerArgs are flags of kube-apiserver by name, without dashes.
	APIServerArgs map[string]string
	// Rights are kustomizations, by their folders in this module, that grant the controller what Argo Rollouts' own manifests
	// do not. Default: deploy/rbac. Empty and not nil: none.
	Rights []string
	// Progress receives a line for each step of starting and stopping. Default: none.
	Progress io.Writer
}

func (o Options) progress() io.Writer {
	if o.Progress == nil {
		return io.Discard
	}
	return o.Progress
}

func (o Options) rights() []string {
	if o.Rights == nil {
		return rightsOfPlugin
	}
	return o.Rights
}

// childEnv is this process's environment without what would make a child believe that it runs in a cluster.
func childEnv(more ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !hasAnyPrefix(kv, "KUBERNETES_SERVICE_", "POD_NAMESPACE=", "KUBECONFIG=") {
			env = append(env, kv)
		}
	}
	return append(env, more...)
}
