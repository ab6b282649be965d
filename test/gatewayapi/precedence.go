package gatewayapi

import (
	"slices"
	"strings"
)

// rank says how strong a match is, by what counts first, first. Of two, the greater one, compared element by element, wins.
type rank []int

// rankOf is the precedence of a match of a route that was found by one of its host names. HTTPRoute: an exact path, the
// length of a prefix, a method, how many headers, how many query parameters. GRPCRoute: the length of the service, of the
// method, how many headers.
func rankOf(host hostRank, m match) rank {
	return rank{
		host.literal, host.length,
		int(m.path.kind), len(m.path.text), min(len(m.method), 1),
		len(m.service.value), len(m.call.value),
		len(m.headers), len(m.queries),
	}
}

func (r rank) beats(other rank) bool { return slices.Compare(r, other) > 0 }

// hostRank is how well a route's host names fit a request's.
type hostRank struct {
	literal int // characters of a name without a wildcard
	length  int // characters, in any case
}

// fitHosts is the best of a route's host names that fits. A route without any fits every host.
func fitHosts(patterns []string, host string) (hostRank, bool) {
	best, found := hostRank{}, len(patterns) == 0
	for _, pattern := range patterns {
		fit, fits := fitHost(pattern, host)
		if fits && (!found || fit.beats(best)) {
			best, found = fit, true
		}
	}
	return best, found
}

func (h hostRank) beats(other hostRank) bool {
	return rank{h.literal, h.length}.beats(rank{other.literal, other.length})
}

// fitHost compares names whose case is folded. A wildcard stands for one label or several.
func fitHost(pattern, host string) (hostRank, bool) {
	suffix, wildcard := strings.CutPrefix(pattern, "*")
	switch {
	case !wildcard && pattern == host:
		return hostRank{len(pattern), len(pattern)}, true
	case wildcard && strings.HasSuffix(host, suffix) && len(host) > len(suffix):
		return hostRank{0, len(pattern)}, true
	default:
		return hostRank{}, false
	}
}
