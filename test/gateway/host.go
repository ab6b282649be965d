package gateway

import (
	"net"
	"strings"
)

// hostname strips the port and folds case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// fit says how well a table's hosts fit a host name: 0 not at all, more for more of the name given literally. A full
// wildcard, which the reference does not support but which is in use, fits least.
func (t *Table) fit(host string) int {
	best := 0
	for _, pattern := range t.Hosts {
		best = max(best, fitHost(pattern, host))
	}
	return best
}

func fitHost(pattern, host string) int {
	pattern = strings.TrimSuffix(strings.ToLower(pattern), ".")
	literal, wildcard := strings.CutPrefix(pattern, "*")
	switch {
	case !wildcard && pattern == host:
		return 1000 // longer than any name
	case wildcard && strings.HasSuffix(host, literal) && len(host) > len(literal):
		return 1 + len(literal)
	default:
		return 0
	}
}
