package gatewayapi

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/jsonfault"
)

// routeView is what is read of a route. Rules are decoded one by one, so that a fault in one stays there.
type routeView struct {
	Metadata struct {
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec struct {
		Rules []json.RawMessage `json:"rules"`
	} `json:"spec"`
}

type ruleView struct {
	Name        string            `json:"name"`
	Matches     json.RawMessage   `json:"matches"`
	Filters     []filterView      `json:"filters"`
	BackendRefs []json.RawMessage `json:"backendRefs"`
}

// filterView is of a rule's filter that may answer in place of a backend.
type filterView struct {
	Type string `json:"type"`
}

// does says what a rule does that forwards to nothing.
func (r ruleView) does() string {
	for _, filter := range r.Filters {
		if filter.Type == "RequestRedirect" {
			return "redirects"
		}
	}
	return "forwards to nothing"
}

// Routes views a route: its rules.
func (a Routes) Routes(object json.RawMessage) ([]engine.Route, error) {
	view, err := jsonfault.Read[routeView](object)
	if err != nil {
		return nil, err
	}
	v := viewer{api: a, namespace: view.Metadata.Namespace, keys: map[string]int{}}
	rules := make([]engine.Route, len(view.Spec.Rules))
	for i, raw := range view.Spec.Rules {
		rules[i] = v.rule(i, raw)
	}
	return rules, nil
}

// viewer turns the rules of one route into the engine's routes.
type viewer struct {
	api       Routes
	namespace string
	// keys counts the rules seen by key, so that alike ones get a number.
	keys map[string]int
}

func (v *viewer) rule(index int, raw json.RawMessage) engine.Route {
	r := engine.Route{Place: fmt.Sprintf("rules[%d]", index), Index: index, JSON: raw}
	if v.api.filtered {
		r.Section = "/spec/rules"
	}
	if !present(raw) {
		r.Fault = errors.New("is null")
		return r
	}
	rule, err := jsonfault.Read[ruleView](raw)
	if r.Fault = err; err != nil {
		return r
	}
	if r.Name = rule.Name; r.Name != "" {
		r.Place = fmt.Sprintf("%s %q", r.Place, r.Name)
	}
	r.Key = v.key(rule)
	r.List = fmt.Sprintf("/spec/rules/%d/backendRefs", index)
	if r.Listed = len(rule.BackendRefs) > 0; !r.Listed {
		r.Does = rule.does()
		return r
	}
	r.Entries, r.Fault = v.entries(rule.BackendRefs)
	return r
}

// key identifies a rule by its name or, if it has none, by its matches, and by which one of those alike it is.
func (v *viewer) key(rule ruleView) string {
	alike := "/" + rule.Name
	if rule.Name == "" {
		alike = fmt.Sprintf("#%.4x", sha256.Sum256(rule.Matches))
	}
	v.keys[alike]++
	return fmt.Sprintf("%d%s", v.keys[alike], alike)
}

func (v *viewer) entries(list []json.RawMessage) ([]engine.Entry, error) {
	entries := make([]engine.Entry, len(list))
	for i, raw := range list {
		var err error
		if entries[i], err = v.entry(raw); err != nil {
			return nil, fmt.Errorf("backendRefs[%d]: %w", i, err)
		}
	}
	return entries, nil
}

// present reports whether raw holds a value other than null.
func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
