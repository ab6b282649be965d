package metrics

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// Cluster returns a cluster whose patches are counted.
func (m *Metrics) Cluster(c engine.Cluster) engine.Cluster { return counted{c, m} }

type counted struct {
	engine.Cluster
	metrics *Metrics
}

// Patch is part of engine.Cluster.
func (c counted) Patch(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, patch []byte) (engine.Object, error) {
	o, err := c.Cluster.Patch(ctx, resource, namespace, name, patch)
	c.metrics.patches.WithLabelValues(resource.Resource, patchOutcome(err)).Inc()
	return o, err
}

// patchOutcome tells what became of a patch. A conflict says that somebody else has written the object meanwhile.
func patchOutcome(err error) string {
	switch {
	case err == nil:
		return "applied"
	case apierrors.IsConflict(err):
		return "conflict"
	default:
		return "error"
	}
}
