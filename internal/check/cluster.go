package check

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Cluster is what is asked of an API server. Errors are as those of [engine.Cluster].
type Cluster interface {
	Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (engine.Object, error)
	List(ctx context.Context, resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]engine.Object, error)
	// Create is used for access reviews alone, which are questions.
	Create(ctx context.Context, resource schema.GroupVersionResource, namespace string, object []byte) (engine.Object, error)
	Service(ctx context.Context, namespace, name string) (intent.Service, error)
	// Versions returns the versions of a group in which a resource is served; none if it is not.
	Versions(ctx context.Context, group, resource string) ([]string, error)
}

// Clusters are those that the plugin works with.
type Clusters struct {
	// Tables holds the RouteTables and MirrorPolicies, and Controller all else.
	Tables, Controller Cluster
	// Apart says that they are not one and the same.
	Apart bool
}

// unread returns the finding that something could not be looked at, and so is not known. The error's own words are those of
// the plugin, which is somebody else. An API server that does not answer is a fault: nothing is known then.
func unread(object, what string, err error) Finding {
	switch {
	case errors.Is(err, engine.ErrUnserved):
		return Finding{Warn, object, what + " cannot be read: the cluster does not serve that", "see what is said of custom resource definitions"}
	case apierrors.IsForbidden(err):
		return Finding{Warn, object, fmt.Sprintf("you may not read %s, so what is to be said of that is missing here", what), "ask somebody who may"}
	}
	mark := Warn
	if status := apierrors.APIStatus(nil); !errors.As(err, &status) {
		mark = Fail
	}
	return Finding{mark, object, fmt.Sprintf("%s cannot be read: %v", what, err), ""}
}
