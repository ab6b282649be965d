// The CRDs of the Gateway API, which the test bed installs from the module's folder config/crd. Apart from the plugin's own
// requirements, since it would move some of those. Nothing here imports it, so go mod tidy must not be run.
module github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/crds/gatewayapi

go 1.26.1

require sigs.k8s.io/gateway-api v1.4.1
