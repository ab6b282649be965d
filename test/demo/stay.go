package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
)

// errStopped says that a person has seen enough.
var errStopped = errors.New("stopped")

// lookInterval is how often the table is looked at for changes.
const lookInterval = 200 * time.Millisecond

const invitation = `
This stays up until Ctrl-C. In another terminal, with kubectl and its plugin for Argo Rollouts:

  export KUBECONFIG=%s
  kubectl apply -f examples/                                   # the old image again: a release begins
  kubectl argo rollouts get rollout demo -n gloo-rollout-demo
  kubectl argo rollouts promote demo -n gloo-rollout-demo      # on to the next step; abort goes back
  kubectl get routetable default -n gloo-mesh -o yaml
  curl http://%s%s

What changes in the table shows here.
`

// stay keeps the bed up until ctx ends, and shows each change of the table's weights.
func (d *demo) stay(ctx context.Context) error {
	d.screen.line(fmt.Sprintf(invitation, d.bed.Kubeconfig, d.gateway.Addr(), path))
	var last []weight
	for {
		table, err := d.readTable(ctx)
		if err != nil && ctx.Err() == nil {
			d.screen.line(fmt.Sprintf("%v", err))
		}
		if err == nil && !reflect.DeepEqual(last, table.weights()) {
			if last != nil {
				if err := d.showChange(ctx); err != nil && ctx.Err() == nil {
					return err
				}
			}
			last = table.weights()
		}
		select {
		case <-ctx.Done():
			return errStopped
		case <-time.After(lookInterval):
		}
	}
}

func (d *demo) showChange(ctx context.Context) error {
	rollout := &v1alpha1.Rollout{}
	if err := d.bed.Client.Get(ctx, rolloutKey, rollout); err != nil {
		return err
	}
	asked := 0
	if w := rollout.Status.Canary.Weights; w != nil {
		asked = int(w.Canary.Weight)
	}
	return d.show(ctx, fmt.Sprintf("%s  %s", time.Now().Format(time.TimeOnly), rollout.Status.Phase), asked)
}
