// Package gatewayapi stands in for a gateway of the Kubernetes Gateway API in tests. It serves HTTPRoutes, GRPCRoutes,
// TCPRoutes and TLSRoutes as the API's reference says, answers in the name of the version that a Service selects, counts
// mirrored copies, and writes the routes' status.
//
// Decide and its like are the core, functions of routes and a request; Gateway is the shell around it that watches an API
// server. Its own are the Gateways of GatewayClass ClassName, which need not exist itself. Simplifications: all listeners for
// HTTP share one address, and take routes of all namespaces and for all hosts; a port that a parentRef names is not looked
// at; Services are the only backends; filters of a single backend, and those that only one implementation knows, are refused.
package gatewayapi
