package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// patcher writes weights to as many tables as a case has by itself, as many at once as the plugin does: what the API server needs for
// the plugin's writes.
type patcher struct {
	client dynamic.ResourceInterface
	tables []string
}

// atOnce is how many objects the plugin writes at a time.
const atOnce = 16

func newPatcher(kubeconfig string, w what) (*patcher, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // without a limit
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	p := &patcher{client: client.Resource(schema.GroupVersionResource{Group: "networking.gloo.solo.io", Version: "v2", Resource: "routetables"}).Namespace(w.namespace)}
	for i := range w.tables {
		p.tables = append(p.tables, fmt.Sprintf("table-%d", i))
	}
	return p, nil
}

// patch gives the two routes of every table that forward to Service web a weight.
func (p *patcher) patch(ctx context.Context, weight int) error {
	patch := fmt.Appendf(nil, `[
{"op": "add", "path": "/spec/http/0/forwardTo/destinations/0/weight", "value": %[1]d},
{"op": "add", "path": "/spec/http/1/forwardTo/destinations/0/weight", "value": %[1]d}]`, weight)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, table := range p.tables {
		group.Go(func() error {
			_, err := p.client.Patch(ctx, table, types.JSONPatchType, patch, metav1.PatchOptions{})
			return err
		})
	}
	return group.Wait()
}
