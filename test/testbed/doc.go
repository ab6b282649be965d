// Package testbed runs a Kubernetes API server with its store and the Argo Rollouts controller as processes of this
// machine, without containers. The controller starts the plugin itself, as it would in a cluster. It acts as its service
// account and has the rights that Argo Rollouts' manifests and deploy/rbac grant, and no others. Nothing runs pods there:
// Pods stands in for them by writing the status of each ReplicaSet.
//
// The core returns errors and knows nothing of tests, so that a program can use it as well; For and Run are a thin layer
// for tests. The programs come from `make assets`.
package testbed
