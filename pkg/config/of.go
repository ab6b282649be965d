package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
)

// Of finds and decodes the block of a Rollout that stands under the first of the names that it has, and returns that name.
func Of(ro *v1alpha1.Rollout, names ...string) (string, *Config, error) {
	if ro.Spec.Strategy.Canary == nil || ro.Spec.Strategy.Canary.TrafficRouting == nil {
		return "", nil, errors.New("the Rollout has no spec.strategy.canary.trafficRouting")
	}
	plugins := ro.Spec.Strategy.Canary.TrafficRouting.Plugins
	for _, name := range names {
		raw, found := plugins[name]
		if !found {
			continue
		}
		block, err := Decode(raw)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", name, err)
		}
		return name, block, nil
	}
	if len(plugins) == 0 {
		return "", nil, errors.New("the Rollout has no spec.strategy.canary.trafficRouting.plugins")
	}
	return "", nil, fmt.Errorf("the Rollout has no block %s in spec.strategy.canary.trafficRouting.plugins, only %s; rename it, or set the plugin's flag --name",
		strings.Join(names, " or "), strings.Join(slices.Sorted(maps.Keys(plugins)), ", "))
}
