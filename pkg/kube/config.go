// Package kube talks to the API server: configuration, reads and patches.
package kube

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Access says which API server is meant, and by which credentials it is reached. The zero value is what a child of the
// Argo Rollouts controller inherits from it: the files that KUBECONFIG names or, without that, the pod's service account.
// The controller's --kubeconfig flag is not inherited.
type Access struct {
	// Kubeconfig is the path of a file that takes the place of KUBECONFIG.
	Kubeconfig string
	// Context is the context to use. Empty: the file's current one.
	Context string
	// Person says that a person is asking, who expects what kubectl does: without KUBECONFIG, ~/.kube/config.
	Person bool
	// Observe is told of every request. Nil: nobody is.
	Observe func(Request)
}

// Config returns the configuration of a client. It sends nothing.
func (a Access) Config() (*rest.Config, error) {
	config, err := a.load()
	if err != nil {
		return nil, err
	}
	config.UserAgent = "rollouts-plugin-trafficrouter-glooplatform"
	return config, nil
}

func (a Access) load() (*rest.Config, error) {
	files := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	if a.Kubeconfig == "" && files == "" && !a.Person {
		if a.Context != "" {
			return nil, fmt.Errorf("context %s: there is no kubeconfig to look for it in; name one by --kubeconfig", a.Context)
		}
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("no API server is known: KUBECONFIG is not set and this is no pod (%w)", err)
		}
		return config, nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: a.Context}).ClientConfig()
	switch {
	case err == nil:
		return config, nil
	case a.Kubeconfig != "":
		return nil, fmt.Errorf("kubeconfig %s: %w", a.Kubeconfig, err)
	case files != "":
		return nil, fmt.Errorf("KUBECONFIG %s: %w", files, err)
	default:
		return nil, fmt.Errorf("no API server is known: name a kubeconfig by --kubeconfig or KUBECONFIG (%w)", err)
	}
}
