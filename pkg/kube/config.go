// Package kube talks to the API server: configuration, reads and patches.
package kube

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Requests a second, and in a burst, that this process allows itself. client-go's defaults of 5 and 10 would make a
// reconcile of fifty tables last ten seconds.
const (
	qps   = 100
	burst = 200
)

// Config returns the configuration that the process is to use: the files that KUBECONFIG names, or, without that, the
// service account of the pod it runs in. The plugin is the controller's child and so inherits both, but it does not see
// the controller's --kubeconfig flag.
func Config() (*rest.Config, error) {
	config, err := load()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = qps, burst
	config.UserAgent = "rollouts-plugin-trafficrouter-glooplatform"
	return config, nil
}

func load() (*rest.Config, error) {
	files := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	if files == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("no API server is known: KUBECONFIG is not set and this is no pod (%w)", err)
		}
		return config, nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("KUBECONFIG %s: %w", files, err)
	}
	return config, nil
}
