// Package gloo knows Gloo Platform's RouteTable: how to see it as routes with weighted destinations, and how to spell
// new ones. It reads through small views of its own, and never writes a decoded table back, so that whatever it does not
// know survives.
package gloo

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/jsonfault"
)

// RouteTables is the routing API of Gloo's RouteTable, networking.gloo.solo.io/v2.
type RouteTables struct{ percent }

var _ engine.API = RouteTables{}

// Kind returns "RouteTable".
func (RouteTables) Kind() string { return "RouteTable" }

// Words returns those of RouteTables.
func (RouteTables) Words() engine.Words {
	return engine.Words{Object: "table", Route: "route", Namespace: "ref.namespace", Headed: "an http route", Kind: "destinationKind or stable.kind"}
}

// Resource returns networking.gloo.solo.io/v2 routetables.
func (RouteTables) Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "networking.gloo.solo.io", Version: "v2", Resource: "routetables"}
}

// table is what is read of a RouteTable. Routes are decoded one by one, so that a fault in one stays there.
type table struct {
	Metadata struct {
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec struct {
		DefaultDestination json.RawMessage   `json:"defaultDestination"`
		HTTP               []json.RawMessage `json:"http"`
		TCP                []json.RawMessage `json:"tcp"`
		TLS                []json.RawMessage `json:"tls"`
	} `json:"spec"`
}

// routeHead is what a selector looks at. It is read apart from the rest, so that a route that is not selected may be
// whatever it likes.
type routeHead struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
}

type routeBody struct {
	Matchers  json.RawMessage `json:"matchers"`
	ForwardTo *struct {
		Destinations []json.RawMessage `json:"destinations"`
	} `json:"forwardTo"`
	Delegate       json.RawMessage `json:"delegate"`
	Redirect       json.RawMessage `json:"redirect"`
	DirectResponse json.RawMessage `json:"directResponse"`
	GraphQL        json.RawMessage `json:"graphql"`
}

// does says what a route does that forwards to nothing.
func (b routeBody) does() string {
	switch {
	case b.Delegate != nil:
		return "delegates to other tables; select those"
	case b.Redirect != nil:
		return "redirects"
	case b.DirectResponse != nil:
		return "answers by itself"
	case b.GraphQL != nil:
		return "serves GraphQL"
	default:
		return "forwards to nothing"
	}
}

// Routes views a RouteTable: its http, then its tcp, then its tls routes.
func (RouteTables) Routes(object json.RawMessage) ([]engine.Route, error) {
	t, err := jsonfault.Read[table](object)
	if err != nil {
		return nil, err
	}
	v := viewer{namespace: t.Metadata.Namespace, keys: map[string]int{}, seen: map[string]engine.Entry{}}
	if present(t.Spec.DefaultDestination) {
		entry, err := v.entry(t.Spec.DefaultDestination)
		v.fallback, v.fallbackFault = &entry, err
	}
	routes := make([]engine.Route, 0, len(t.Spec.HTTP)+len(t.Spec.TCP)+len(t.Spec.TLS))
	for i, raw := range t.Spec.HTTP {
		routes = append(routes, v.route("http", i, raw))
	}
	for i, raw := range t.Spec.TCP {
		routes = append(routes, v.route("tcp", i, raw))
	}
	for i, raw := range t.Spec.TLS {
		routes = append(routes, v.route("tls", i, raw))
	}
	return routes, nil
}

// viewer turns the routes of one table into the engine's.
type viewer struct {
	namespace     string
	fallback      *engine.Entry // nil if there is none
	fallbackFault error
	// keys counts the routes seen by key, so that alike ones get a number.
	keys map[string]int
	// seen are the entries read so far, by their JSON: many routes of a table forward to the same destinations.
	seen map[string]engine.Entry
}

func (v *viewer) route(section string, index int, raw json.RawMessage) engine.Route {
	number := strconv.Itoa(index)
	r := engine.Route{Place: section + "[" + number + "]", Index: index, JSON: raw}
	if !present(raw) {
		r.Does = "is null"
		return r
	}
	head, body, err := readRoute(section, raw)
	if section == "http" && head != nil {
		r.Section, r.Owner, r.Name, r.Labels = "/spec/http", head.Labels[engine.OwnerLabel], head.Name, head.Labels
	}
	if r.Name != "" {
		r.Place += " " + strconv.Quote(r.Name)
	}
	if r.Fault = err; err != nil {
		return r
	}
	r.Key = v.key(section, r.Name, body.Matchers)
	if body.ForwardTo == nil {
		r.Does = body.does()
		return r
	}
	r.List = "/spec/" + section + "/" + number + "/forwardTo/destinations"
	r.Default = v.fallback
	if list := body.ForwardTo.Destinations; len(list) > 0 {
		r.Listed = true
		r.Entries, r.Fault = v.entries(list)
		return r
	}
	r.Empty = body.ForwardTo.Destinations != nil
	if r.Does = "forwards to nothing"; v.fallback != nil {
		r.Entries, r.Fault = []engine.Entry{*v.fallback}, v.fallbackFault
	}
	return r
}

// readRoute reads a route. With an error, it returns a head only if that can be read by itself; tcp and tls routes have none.
func readRoute(section string, raw json.RawMessage) (*routeHead, routeBody, error) {
	if section != "http" {
		body, err := jsonfault.Read[routeBody](raw)
		return nil, body, err
	}
	type route struct {
		routeHead
		routeBody
	}
	whole, err := jsonfault.Read[route](raw)
	if err == nil {
		return &whole.routeHead, whole.routeBody, nil
	}
	head, headErr := jsonfault.Read[routeHead](raw)
	if headErr != nil {
		return nil, routeBody{}, headErr
	}
	return &head, routeBody{}, err
}

// key identifies a route by its name or, if it has none, by its matchers, and by which one of those alike it is.
func (v *viewer) key(section, name string, matchers json.RawMessage) string {
	alike := section + "/" + name
	if name == "" {
		alike = fmt.Sprintf("%s#%.4x", section, sha256.Sum256(matchers))
	}
	v.keys[alike]++
	return section + "/" + strconv.Itoa(v.keys[alike]) + alike[len(section):]
}

func (v *viewer) entries(list []json.RawMessage) ([]engine.Entry, error) {
	entries := make([]engine.Entry, len(list))
	for i, raw := range list {
		known, seen := v.seen[string(raw)]
		if !seen {
			var err error
			if known, err = v.entry(raw); err != nil {
				return nil, fmt.Errorf("destinations[%d]: %w", i, err)
			}
			v.seen[string(raw)] = known
		}
		entries[i] = known
	}
	return entries, nil
}

// destination is a DestinationReference of the RouteTable API.
type destination struct {
	Ref *struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
		Cluster   string `json:"cluster"`
	} `json:"ref"`
	Kind   string            `json:"kind"`
	Port   *config.Port      `json:"port"`
	Subset map[string]string `json:"subset"`
	Weight *int              `json:"weight"`
}

// kindWithoutRef is the kind of an entry that names no object, such as an AWS Lambda.
const kindWithoutRef = "destination without ref"

func (v *viewer) entry(raw json.RawMessage) (engine.Entry, error) {
	if !present(raw) {
		return engine.Entry{}, errors.New("is null")
	}
	d, err := jsonfault.Read[destination](raw)
	if err != nil {
		return engine.Entry{}, err
	}
	if d.Weight != nil && (*d.Weight < 0 || *d.Weight > math.MaxUint32) {
		return engine.Entry{}, fmt.Errorf("weight %d is no percentage", *d.Weight)
	}
	e := engine.Entry{Weight: d.Weight, JSON: raw, Marked: d.Subset != nil && len(d.Subset) == 0, Unmarkable: len(d.Subset) > 0}
	if d.Ref == nil {
		e.Kind = kindWithoutRef
		return e, nil
	}
	e.Destination = intent.Destination{
		Kind: d.Kind, Cluster: d.Ref.Cluster, Namespace: d.Ref.Namespace, Name: d.Ref.Name, Port: d.Port, Subset: d.Subset,
	}
	if e.Kind == "" {
		e.Kind = config.KindService
	}
	if e.Namespace == "" {
		e.Namespace = v.namespace
	}
	return e, nil
}

// Spell returns a destination entry like source, but for destination to. It is marked as the plugin's own by a subset that
// is spelt out and empty, which Gloo reads as none; one that has a subset carries no mark.
func (RouteTables) Spell(source engine.Entry, to intent.Destination) (map[string]any, error) {
	entry := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(source.JSON))
	decoder.UseNumber()
	if err := decoder.Decode(&entry); err != nil {
		return nil, err
	}
	delete(entry, "weight")
	ref := map[string]any{"name": to.Name}
	if given, _ := entry["ref"].(map[string]any); given["namespace"] != nil || to.Namespace != source.Namespace {
		ref["namespace"] = to.Namespace
	}
	if to.Cluster != "" {
		ref["cluster"] = to.Cluster
	}
	entry["ref"] = ref
	if to.Kind != source.Kind {
		entry["kind"] = to.Kind
	}
	delete(entry, "port")
	if to.Port != nil {
		entry["port"] = to.Port
	}
	subset := map[string]any{}
	for key, value := range to.Subset {
		subset[key] = value
	}
	entry["subset"] = subset
	return entry, nil
}

// present reports whether raw holds a value other than null.
func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
