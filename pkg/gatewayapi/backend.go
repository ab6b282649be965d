package gatewayapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/jsonfault"
)

// backendRef is a BackendRef, HTTPBackendRef or GRPCBackendRef of the Gateway API.
type backendRef struct {
	Group     string             `json:"group"`
	Kind      string             `json:"kind"`
	Name      string             `json:"name"`
	Namespace string             `json:"namespace"`
	Port      int                `json:"port"`
	Weight    *int               `json:"weight"`
	Filters   *[]json.RawMessage `json:"filters"`
}

// kindOf returns the kind of a backend as destinations have it. Only a Service of the core group, which is what is meant where
// none is named, is one to a Rollout.
func (b backendRef) kindOf() string {
	switch {
	case b.Group == "" && (b.Kind == "" || b.Kind == "Service"):
		return config.KindService
	case b.Group == "":
		return b.Kind + ".core"
	default:
		return b.Kind + "." + b.Group
	}
}

func (v *viewer) entry(raw json.RawMessage) (engine.Entry, error) {
	if !present(raw) {
		return engine.Entry{}, errors.New("is null")
	}
	b, err := jsonfault.Read[backendRef](raw)
	if err != nil {
		return engine.Entry{}, err
	}
	if b.Weight != nil {
		if err := checkWeight(*b.Weight); err != nil {
			return engine.Entry{}, err
		}
	}
	e := engine.Entry{Weight: b.Weight, JSON: raw}
	e.Destination = intent.Destination{Kind: b.kindOf(), Namespace: b.Namespace, Name: b.Name}
	if e.Namespace == "" {
		e.Namespace = v.namespace
	}
	if b.Port != 0 {
		e.Port = &config.Port{Number: b.Port}
	}
	filters := b.Filters != nil && len(*b.Filters) > 0
	e.Marked = v.api.filtered && b.Filters != nil && !filters
	e.Unmarkable = !v.api.filtered || filters
	return e, nil
}

// Spell returns a backendRef like source, but for destination to. It is marked as the plugin's own by a list of filters that is
// spelt out and empty, which is the same as none; one that has filters, or whose kind of route knows none, carries no mark.
// It fails for what a backendRef cannot say: a cluster, a subset, the name of a port, or another kind than source's.
func (a Routes) Spell(source engine.Entry, to intent.Destination) (map[string]any, error) {
	if err := checkSpeakable(source, to); err != nil {
		return nil, err
	}
	ref := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(source.JSON))
	decoder.UseNumber()
	if err := decoder.Decode(&ref); err != nil {
		return nil, err
	}
	delete(ref, "weight")
	ref["name"] = to.Name
	if delete(ref, "port"); to.Port != nil {
		ref["port"] = to.Port.Number
	}
	if ref["namespace"] != nil || to.Namespace != source.Namespace {
		ref["namespace"] = to.Namespace
	}
	if filters, _ := ref["filters"].([]any); a.filtered && len(filters) == 0 {
		ref["filters"] = []any{}
	}
	return ref, nil
}

// checkSpeakable fails if a backendRef like source cannot name a destination.
func checkSpeakable(source engine.Entry, to intent.Destination) error {
	switch {
	case to.Kind != source.Kind:
		return fmt.Errorf("%s and %s are of two kinds; a backend is added in the manner of one of its own kind only", to, source.Destination)
	case to.Cluster != "":
		return fmt.Errorf("%s: a backendRef cannot name a cluster; leave cluster out", to)
	case len(to.Subset) > 0:
		return fmt.Errorf("%s: a backendRef cannot name a subset; use two Services", to)
	case to.Port != nil && to.Port.Name != "":
		return fmt.Errorf("%s: a backendRef cannot name a port but by its number; give that", to)
	}
	return nil
}
