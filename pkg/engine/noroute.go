package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// ErrNoRoute says that no selected route of an object forwards to the stable destination.
var ErrNoRoute = errors.New("no route forwards to stable")

// noRoute words that none of an object's selected routes forwards to stable: what they do instead, and what to change.
func (p *planner) noRoute(routes []Route, selection Selection) error {
	var selected []Route
	for _, r := range routes {
		if selection.matches(r) {
			selected = append(selected, r)
		}
	}
	words := p.api.Words()
	of := fmt.Sprintf("none of its %d %ss", len(routes), words.Route)
	switch {
	case len(routes) == 0:
		return worded{fmt.Sprintf("it has no %ss, so none forwards to stable %s", words.Route, p.in.Stable), ErrNoRoute}
	case len(selected) == 0:
		return worded{fmt.Sprintf("%s matches routeSelector (%s)", of, list(routes, Route.label, ", ")), ErrNoRoute}
	case len(selected) < len(routes):
		of = fmt.Sprintf("none of the %d %ss that match routeSelector", len(selected), words.Route)
	}
	cure := fmt.Sprintf("add it to a %s or select its %s", words.Route, words.Object)
	for _, r := range selected {
		for _, e := range r.Entries {
			if hint := p.nearMiss(e.Destination); hint != "" {
				cure = fmt.Sprintf("%s lists %s: %s", r.Place, e.Destination, hint)
			}
		}
	}
	return worded{fmt.Sprintf("%s forwards to stable %s (%s); %s", of, p.in.Stable, list(selected, Route.does, ", "), cure), ErrNoRoute}
}

// nearMiss says what to change if a destination has stable's name but is not stable.
func (p *planner) nearMiss(found intent.Destination) string {
	stable, words := p.in.Stable, p.api.Words()
	if found.Name != stable.Name {
		return ""
	}
	switch {
	case found.Kind != stable.Kind && words.Kind == "":
		return "only a Service can be stable"
	case found.Kind != stable.Kind:
		return fmt.Sprintf("if that is meant, set %s to %s", words.Kind, found.Kind)
	case found.Namespace != stable.Namespace:
		return fmt.Sprintf("if that is meant, give it %s %s there (without one, the object's own is meant)", words.Namespace, stable.Namespace)
	case stable.Cluster != "" && found.Cluster != stable.Cluster:
		return fmt.Sprintf("if that is meant, change stable.cluster, now %s", stable.Cluster)
	case !stable.MatchesCluster(found):
		return fmt.Sprintf("if that is meant, set stable.cluster to %s; the plugin's flag --cluster says %s", found.Cluster, stable.Home)
	case stable.Port != nil && (found.Port == nil || *found.Port != *stable.Port):
		return fmt.Sprintf("if that is meant, change stable.port, now %s", stable.Port)
	default:
		return "if that is meant, change stable.subset"
	}
}

// label names a route with what a selector can see of it.
func (r Route) label() string {
	if len(r.Labels) == 0 {
		return r.Place
	}
	return fmt.Sprintf("%s %v", r.Place, strings.TrimPrefix(fmt.Sprint(r.Labels), "map"))
}

// does names a route with what it does.
func (r Route) does() string {
	switch {
	case r.Fault != nil:
		return fmt.Sprintf("%s cannot be read", r.Place)
	case len(r.Entries) == 0:
		return fmt.Sprintf("%s %s", r.Place, r.Does)
	}
	return fmt.Sprintf("%s forwards to %s", r.Place, list(r.Entries, func(e Entry) string { return e.Destination.String() }, " and "))
}
