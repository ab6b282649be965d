package gatewayapi

import (
	"cmp"
	"fmt"
)

// Backend is where a rule sends a request, with the reference's defaults filled in.
type Backend struct {
	Kind      string // with its group, unless that is the core group
	Namespace string
	Name      string
	Port      int
	Weight    int
	// Fault says why the backend cannot be used. Its share of the requests gets 500.
	Fault error
	// Reason is the API's word for the fault.
	Reason string
}

func (b Backend) String() string { return fmt.Sprintf("%s %s/%s", b.Kind, b.Namespace, b.Name) }

func newBackend(namespace string, view backendView) Backend {
	b := Backend{Kind: "Service", Namespace: namespace, Name: view.Name, Port: view.Port, Weight: 1}
	if view.Kind != nil {
		b.Kind = *view.Kind
	}
	if view.Group != "" {
		b.Kind += "." + view.Group
	}
	if view.Namespace != nil {
		b.Namespace = *view.Namespace
	}
	if view.Weight != nil {
		b.Weight = *view.Weight
	}
	return b
}

// split is a list of backends that share requests by their weights, out of the sum.
type split []Backend

func newSplit(namespace string, views []backendView) (split, error) {
	var s split
	for i, view := range views {
		if len(view.Filters) > 0 {
			return nil, fmt.Errorf("backendRefs[%d]: filters are not supported by this stand-in", i)
		}
		s = append(s, newBackend(namespace, view))
	}
	return s, nil
}

// pick chooses a backend; draw(n) returns a number from 0 to n-1. If no weight is above zero there is none.
func (s split) pick(draw func(int) int) (Backend, bool) {
	total := 0
	for _, b := range s {
		total += b.Weight
	}
	if total == 0 {
		return Backend{}, false
	}
	at := draw(total)
	for _, b := range s {
		if at -= b.Weight; at < 0 {
			return b, true
		}
	}
	panic(fmt.Sprintf("draw(%d) is out of range", total))
}

// Spread is the percent of the rule's requests that each backend gets, by its name.
func (r *Rule) Spread() map[string]float64 {
	total := 0
	for _, b := range r.backends {
		total += b.Weight
	}
	spread := map[string]float64{}
	for _, b := range r.backends {
		spread[b.Name] += 100 * float64(b.Weight) / float64(cmp.Or(total, 1))
	}
	return spread
}
