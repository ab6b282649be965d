package gatewayapi

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
)

// Decision is what a gateway does with a request or a connection.
type Decision struct {
	Outcome gateway.Outcome // forwarded, redirected, broken or not found
	Route   *Route          // nil if not found
	Rule    *Rule
	Backend Backend
	Request *http.Request // as edited for Backend; nil for a connection
	// Response is what becomes of the headers of the answer.
	Response []headerEdit
	Status   int // unless forwarded
	Location string
	Message  string
	// Mirrors get a copy.
	Mirrors []Mirror
}

// Decide decides about a request, by those of the routes that are of a kind: HTTPRoutes or GRPCRoutes. Of all rules that
// match, the one with the strongest match is taken; of equal ones that of the oldest route, and in it the first. draw(n)
// returns a number from 0 to n-1 and decides between weighted backends and about copies.
func Decide(routes []*Route, kind string, req *http.Request, draw func(int) int) Decision {
	var found found
	for _, r := range of(kind, routes) {
		host, fits := fitHosts(r.Hostnames, hostname(req.Host))
		if !fits {
			continue
		}
		for _, rule := range r.Rules {
			for _, m := range rule.matches {
				if m.matches(req) {
					found.take(r, rule, m, rankOf(host, m))
				}
			}
		}
	}
	return found.decide(req, draw)
}

// DecideTCP decides about a connection to a listener of a Gateway: by the oldest of the TCPRoutes that are attached to it.
func DecideTCP(routes []*Route, l Listener, draw func(int) int) Decision {
	var found found
	for _, r := range of(TCP, routes) {
		if r.attachedTo(l) {
			found.takeFirst(r, nil)
		}
	}
	return found.decide(nil, draw)
}

// DecideTLS decides about a connection to a listener of a Gateway that asks for a server name: by the TLSRoute whose host
// names fit it best.
func DecideTLS(routes []*Route, l Listener, serverName string, draw func(int) int) Decision {
	var found found
	for _, r := range of(TLS, routes) {
		if host, fits := fitHosts(r.Hostnames, hostname(serverName)); fits && r.attachedTo(l) {
			found.takeFirst(r, rank{host.literal, host.length})
		}
	}
	return found.decide(nil, draw)
}

// of returns the routes of a kind, the oldest first.
func of(kind string, routes []*Route) []*Route {
	var list []*Route
	for _, r := range routes {
		if r.Kind == kind {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, byAge)
	return list
}

// hostname strips the port and folds case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// found is the strongest match so far.
type found struct {
	route *Route
	rule  *Rule
	match match
	rank  rank
}

func (f *found) take(r *Route, rule *Rule, m match, rank rank) {
	if f.route == nil || rank.beats(f.rank) {
		*f = found{r, rule, m, rank}
	}
}

// takeFirst takes the first rule of a route that has no matches, if it has any rule.
func (f *found) takeFirst(r *Route, rank rank) {
	if len(r.Rules) > 0 {
		f.take(r, r.Rules[0], match{}, rank)
	}
}

// decide carries out the rule that was found.
func (f *found) decide(req *http.Request, draw func(int) int) Decision {
	d := Decision{Route: f.route, Rule: f.rule}
	switch {
	case f.route == nil:
		d.Outcome, d.Status = gateway.NotFound, http.StatusNotFound
	case f.rule.Fault != nil:
		d.breaks(f.rule.Fault.Error())
	case f.rule.filters.redirect != nil:
		d.Outcome = gateway.Redirected
		d.Status, d.Location = f.rule.filters.redirect.apply(req, f.match.path)
	default:
		d.forward(f, req, draw)
	}
	return d
}

func (d *Decision) breaks(message string) {
	d.Outcome, d.Status, d.Message = gateway.Broken, http.StatusInternalServerError, message
}

func (d *Decision) forward(f *found, req *http.Request, draw func(int) int) {
	backend, found := f.rule.backends.pick(draw)
	switch {
	case !found:
		d.breaks("the rule has no backend with a weight above 0")
		return
	case backend.Fault != nil:
		d.breaks(backend.Fault.Error())
		return
	}
	d.Outcome, d.Backend = gateway.Forwarded, backend
	if req != nil {
		d.Request = f.rule.filters.edit(req, f.match.path)
	}
	d.Response = f.rule.filters.response
	d.Mirrors = f.rule.filters.copies(draw)
}
