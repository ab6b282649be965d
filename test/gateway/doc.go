// Package gateway stands in for Gloo in tests, since Gloo's own control plane is proprietary. It serves HTTP as the
// public RouteTable and MirrorPolicy references say, answers in the name of the version that a Service selects, counts
// copies, and writes the status of tables and policies.
//
// Decide is the core, a function of tables and a request; Gateway is the shell around it that watches an API server.
// Simplifications: no workspaces (every table may refer to every namespace), one listener, virtualGateways and
// workloadSelectors are not looked at, FREEZE_CONFIG freezes a table without its delegates, and route filters,
// graphql and sorting by specificity are refused. A MirrorPolicy applies to the route that forwards, not through one that
// delegates to its table; each policy decides for itself.
package gateway
