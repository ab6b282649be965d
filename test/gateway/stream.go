package gateway

import "slices"

// streamed is a matcher of a tcp or tls route.
type streamed struct {
	port uint32   // 0: any
	sni  []string // tls only
}

// DecideTCP decides about a connection to a port. Of all tables the oldest with a fitting route is taken: without TLS a
// connection names no host. A decision that is NotFound or Broken closes it.
func DecideTCP(tables []*Table, port uint32, draw func(int) int) Decision {
	return routeStream(tables, draw, func(t *Table) []*Route { return t.TCP }, func(m streamed) bool {
		return m.port == 0 || m.port == port
	})
}

// DecideTLS decides about a TLS connection to a port that asks for a server name.
func DecideTLS(tables []*Table, port uint32, serverName string, draw func(int) int) Decision {
	serverName = hostname(serverName)
	return routeStream(tables, draw, func(t *Table) []*Route { return t.TLS }, func(m streamed) bool {
		return (m.port == 0 || m.port == port) &&
			slices.ContainsFunc(m.sni, func(pattern string) bool { return fitHost(pattern, serverName) > 0 })
	})
}

func routeStream(tables []*Table, draw func(int) int, section func(*Table) []*Route, matches func(streamed) bool) Decision {
	for _, t := range slices.SortedStableFunc(slices.Values(tables), byAge) {
		for _, route := range section(t) {
			// a tcp route may have no matchers; a tls route without a server name matches nothing
			if !slices.ContainsFunc(route.streams, matches) && (route.Section == "tls" || len(route.streams) > 0) {
				continue
			}
			if route.Fault != nil {
				return Decision{Outcome: Broken, Table: t, Route: route, Body: route.Fault.Error()}
			}
			return Decision{Outcome: Forwarded, Table: t, Route: route, Destination: route.forward.pick(draw)}
		}
	}
	return Decision{Outcome: NotFound}
}
