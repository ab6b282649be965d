package gateway

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	commonv2 "github.com/solo-io/solo-apis/client-go/common.gloo.solo.io/v2"
	networkingv2 "github.com/solo-io/solo-apis/client-go/networking.gloo.solo.io/v2"
)

// Outcome is what becomes of a request.
type Outcome string

// What may become of a request.
const (
	Forwarded  Outcome = "forwarded"  // to Destination
	Redirected Outcome = "redirected" // to Location, with Status
	Answered   Outcome = "answered"   // directly, with Status and Body
	Broken     Outcome = "broken"     // the route is faulty: 500
	NotFound   Outcome = "not found"  // no route: 404
)

// Decision is what a gateway does with a request.
type Decision struct {
	Outcome     Outcome
	Table       *Table // whose route it is; nil if NotFound
	Route       *Route
	Destination Destination
	Request     *http.Request // as rewritten for Destination
	Status      int
	Location    string
	Body        string
}

// Decide decides about a request that has reached a listener's port. Of all tables, those whose hosts fit the request's
// best are asked, the oldest first; in each the routes are tried in order. A route that delegates stands for the routes
// of its delegates. draw(n) returns a number from 0 to n-1 and decides between weighted destinations.
func Decide(tables []*Table, req *http.Request, port uint32, draw func(int) int) Decision {
	r := router{tables, req, port, draw}
	for _, t := range candidates(tables, hostname(req.Host)) {
		if d, found := r.try(t, pathMatch{}, nil); found {
			return d
		}
	}
	return Decision{Outcome: NotFound, Status: http.StatusNotFound}
}

// candidates are the tables whose hosts fit best, the oldest first.
func candidates(tables []*Table, host string) []*Table {
	best := 1
	var fitting []*Table
	for _, t := range tables {
		switch fit := t.fit(host); {
		case fit > best:
			best, fitting = fit, []*Table{t}
		case fit == best:
			fitting = append(fitting, t)
		}
	}
	slices.SortStableFunc(fitting, byAge)
	return fitting
}

func byAge(a, b *Table) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

type router struct {
	tables []*Table
	req    *http.Request
	port   uint32
	draw   func(int) int
}

// try returns the decision of the first route of a table that matches. parent is what the delegating route matched, and
// ancestors are the tables that led here.
func (r router) try(t *Table, parent pathMatch, ancestors []*Table) (Decision, bool) {
	path := append(slices.Clip(ancestors), t)
	for _, route := range t.HTTP {
		matched, found := route.match(r.req, r.port)
		if !found {
			continue
		}
		if matched.kind == anyPath {
			matched = parent
		}
		if route.delegate == nil || route.Fault != nil {
			return r.decide(t, route, matched), true
		}
		for _, child := range delegates(r.tables, route.delegate) {
			if slices.Contains(path, child) {
				broken := *route
				broken.Fault = fmt.Errorf("delegates in a circle, to %s", child)
				return r.decide(t, &broken, matched), true
			}
			if d, found := r.try(child, matched, path); found {
				return d, true
			}
		}
	}
	return Decision{}, false
}

// match returns the path condition of the first alternative that matches.
func (r *Route) match(req *http.Request, port uint32) (pathMatch, bool) {
	if len(r.matchers) == 0 {
		return pathMatch{}, true
	}
	for _, m := range r.matchers {
		if m.matches(req, port) {
			return m.path, true
		}
	}
	return pathMatch{}, false
}

// delegates are the tables that a route delegates to: the heaviest first, then in the order of the selectors, then the
// oldest.
func delegates(tables []*Table, action *networkingv2.DelegateAction) []*Table {
	var list []*Table
	for _, selector := range action.GetRouteTables() {
		var selected []*Table
		for _, t := range tables {
			if len(t.Hosts) == 0 && selects(selector, t) && !slices.Contains(list, t) {
				selected = append(selected, t)
			}
		}
		slices.SortStableFunc(selected, byAge)
		list = append(list, selected...)
	}
	slices.SortStableFunc(list, func(a, b *Table) int { return cmp.Compare(b.Weight, a.Weight) })
	return list
}

func selects(s *commonv2.ObjectSelector, t *Table) bool {
	for key, value := range s.GetLabels() {
		if got, found := t.Labels[key]; !found || got != value {
			return false
		}
	}
	return (s.GetName() == "" || s.GetName() == t.Name) && (s.GetNamespace() == "" || s.GetNamespace() == t.Namespace)
}

// decide carries out the action of a route that matched.
func (r router) decide(t *Table, route *Route, matched pathMatch) Decision {
	d := Decision{Table: t, Route: route, Request: r.req}
	switch {
	case route.Fault != nil:
		d.Outcome, d.Status, d.Body = Broken, http.StatusInternalServerError, route.Fault.Error()
	case route.forward != nil:
		d.Outcome = Forwarded
		d.Destination = route.forward.pick(r.draw)
		d.Request = route.rewrite.apply(r.req, matched, d.Destination)
	case route.redirect != nil:
		d.Outcome, d.Status = Redirected, redirectStatus[route.redirect.GetResponseCode()]
		d.Location = location(r.req, route.redirect)
	case route.direct != nil:
		d.Outcome, d.Status, d.Body = Answered, int(route.direct.GetStatus()), route.direct.GetBody()
	default:
		panic(fmt.Sprintf("table %s %s has neither action nor fault", t, route))
	}
	return d
}

var redirectStatus = map[networkingv2.RedirectAction_RedirectResponseCode]int{
	networkingv2.RedirectAction_MOVED_PERMANENTLY:  http.StatusMovedPermanently,
	networkingv2.RedirectAction_FOUND:              http.StatusFound,
	networkingv2.RedirectAction_SEE_OTHER:          http.StatusSeeOther,
	networkingv2.RedirectAction_TEMPORARY_REDIRECT: http.StatusTemporaryRedirect,
	networkingv2.RedirectAction_PERMANENT_REDIRECT: http.StatusPermanentRedirect,
}

// location is where a redirect leads: the request's URL with another host, another path, or both.
func location(req *http.Request, redirect *networkingv2.RedirectAction) string {
	url := *req.URL
	url.Scheme, url.Host = "http", req.Host
	if host := redirect.GetHostRedirect(); host != "" {
		url.Host = host
	}
	if path := redirect.GetPathRedirect(); path != "" {
		url.Path, url.RawPath = path, ""
	}
	return url.String()
}
