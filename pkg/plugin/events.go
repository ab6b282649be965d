package plugin

import (
	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

// Reasons of the plugin's Events.
const (
	// ReasonError is of errors of the verbs whose errors the controller only logs.
	ReasonError = "TrafficRoutingError"
	// ReasonNotVerified is of what keeps a step from being done.
	ReasonNotVerified = "WeightNotVerified"
	// ReasonWarning is of what a control plane finds doubtful about objects that it serves, and of experiments that get nothing.
	ReasonWarning = "RouteWarning"
)

// component is where the Events say they come from.
const component = "rollouts-plugin-trafficrouter-glooplatform"

// newRecorder returns a recorder that sends to sink, and counts what it repeats.
func newRecorder(sink record.EventSink) record.EventRecorder {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(sink)
	return broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: component})
}

// reference names a Rollout as an Event does.
func reference(ro *v1alpha1.Rollout) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Rollout",
		Namespace: ro.Namespace, Name: ro.Name, UID: ro.UID, ResourceVersion: ro.ResourceVersion,
	}
}
