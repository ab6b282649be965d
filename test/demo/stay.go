package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// errStopped says that a person has seen enough.
var errStopped = errors.New("stopped")

// lookInterval is how often the table and the Rollout are looked at for changes.
const lookInterval = 200 * time.Millisecond

const invitation = `
This stays up until Ctrl-C. In another terminal, with kubectl:

  export KUBECONFIG=%s
  kubectl apply -f examples/                                   # the old image again: a release begins
  kubectl get rollout demo -n gloo-rollout-demo --watch
  kubectl patch rollout demo -n gloo-rollout-demo --subresource=status --type=merge \
    -p '{"status":{"pauseConditions":null}}'                   # on to the next step, at a pause
  kubectl get routetable default -n gloo-mesh -o yaml
  curl http://%s%s

With its plugin for Argo Rollouts, that patch is "kubectl argo rollouts promote demo -n gloo-rollout-demo", and abort goes back.
What changes shows here. This is a cluster of an API server and controllers alone: pods are only said to be ready, nothing is
collected as garbage, and a namespace that is deleted stays.
`

// moment is what a person may want to see a change of.
type moment struct {
	weights []weight
	phase   string
	asked   int
	// trouble says why that is not known.
	trouble string
}

// stay keeps the bed up until ctx ends, and shows what changes, once it has come to rest for a moment: the Rollout's status follows
// the table.
func (d *demo) stay(ctx context.Context) error {
	d.screen.line(fmt.Sprintf(invitation, d.bed.Kubeconfig, d.gateway.Addr(), path))
	shown := d.look(ctx)
	last := shown
	for {
		select {
		case <-ctx.Done():
			return errStopped
		case <-time.After(lookInterval):
		}
		now := d.look(ctx)
		if settled := reflect.DeepEqual(now, last); settled && !reflect.DeepEqual(now, shown) {
			if err := d.showMoment(ctx, now, !reflect.DeepEqual(now.weights, shown.weights)); err != nil && ctx.Err() == nil {
				return err
			}
			shown = now
		}
		last = now
	}
}

func (d *demo) look(ctx context.Context) moment {
	table, err := d.readTable(ctx)
	if err != nil {
		return moment{trouble: err.Error()}
	}
	m := moment{weights: table.weights()}
	rollout := &v1alpha1.Rollout{}
	switch err := d.bed.Client.Get(ctx, rolloutKey, rollout); {
	case apierrors.IsNotFound(err):
		m.phase = "no Rollout"
	case err != nil:
		m.trouble = err.Error()
	default:
		m.phase = string(rollout.Status.Phase)
	}
	if w := rollout.Status.Canary.Weights; w != nil {
		m.asked = int(w.Canary.Weight)
	}
	return m
}

// showMoment measures where weights have changed; what else has changed is a line.
func (d *demo) showMoment(ctx context.Context, m moment, moved bool) error {
	now := time.Now().Format(time.TimeOnly) + "  "
	switch {
	case m.trouble != "":
		d.screen.line(now + m.trouble)
	case moved:
		return d.show(ctx, now+m.phase, m.asked)
	default:
		d.screen.line(fmt.Sprintf("%s%s, at weight %d", now, m.phase, m.asked))
	}
	return nil
}
