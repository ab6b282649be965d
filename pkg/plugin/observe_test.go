package plugin_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/memory"
)

func TestCallsAreObserved(t *testing.T) {
	c := &memory.Cluster{}
	c.Put(listing(webAndCanary))
	var calls []string
	observed := func(cluster engine.Cluster) *plugin.Router {
		return router(plugin.Options{
			Observe: func(verb, outcome string, _ time.Duration) { calls = append(calls, verb+" "+outcome) },
			Connect: func() (plugin.Connection, error) {
				if cluster == nil {
					return plugin.Connection{}, errors.New("no API server is known")
				}
				return plugin.Connection{Cluster: cluster, Events: sink(nil)}, nil
			},
		})
	}
	call := func(r *plugin.Router, block string, weight int32) {
		ro := rollout(t, "solo-io/glooplatform", "{routeTableSelector: {name: demo}, verify: "+block+"}")
		// what they answer is other tests' concern
		_ = r.RemoveManagedRoutes(ro)
		_ = r.SetHeaderRoute(ro, &v1alpha1.SetHeaderRoute{})
		_ = r.SetMirrorRoute(ro, &v1alpha1.SetMirrorRoute{})
		_ = r.UpdateHash(ro, "a", "b", nil)
		_ = r.SetWeight(ro, weight, nil)
		_, _ = r.VerifyWeight(ro, weight, nil)
	}
	for _, tt := range []struct {
		name    string
		cluster engine.Cluster
		block   string
		want    []string
	}{
		{"all is well", c, "Spec", []string{
			"RemoveManagedRoutes done", "SetHeaderRoute done", "SetMirrorRoute done", "UpdateHash done", "SetWeight done", "VerifyWeight verified"}},
		{"Gloo has said nothing of it yet", c, "Accepted", []string{
			"RemoveManagedRoutes done", "SetHeaderRoute done", "SetMirrorRoute done", "UpdateHash done", "SetWeight done", "VerifyWeight not_verified"}},
		{"nothing is verified", c, "Off", []string{
			"RemoveManagedRoutes done", "SetHeaderRoute done", "SetMirrorRoute done", "UpdateHash done", "SetWeight done", "VerifyWeight not_implemented"}},
		{"no cluster", nil, "Spec", []string{
			"RemoveManagedRoutes done", "SetHeaderRoute error", "SetMirrorRoute error", "UpdateHash done", "SetWeight error", "VerifyWeight error"}},
		{"a bug", broken{}, "Spec", []string{
			"RemoveManagedRoutes error", "SetHeaderRoute error", "SetMirrorRoute error", "UpdateHash done", "SetWeight error", "VerifyWeight error"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls = nil
			call(observed(tt.cluster), tt.block, 10)
			if !slices.Equal(calls, tt.want) {
				t.Errorf("got %q\nwant %q", calls, tt.want)
			}
		})
	}
}
