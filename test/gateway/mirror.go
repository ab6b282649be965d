package gateway

import (
	"maps"
	"net/http"
)

// Mirrored counts what a MirrorPolicy has made of requests, from when the gateway was started.
type Mirrored struct {
	// Requests reached a destination by a route that the policy selects. Each was decided about once.
	Requests int
	// Copies were made of so many of them. Those whose destination had no available pods are in no map but Lines.
	Copies   int
	Versions map[string]int // by what a copy reached, as in an Answer
	Images   map[string]int
	Lines    map[string]int // by method and path, as they reached the gateway: "GET /demo/x"
}

// Mirrored counts for one policy, which may be gone meanwhile. A request is counted before it is answered.
func (g *Gateway) Mirrored(namespace, name string) Mirrored {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.mirrored[namespace+"/"+name]
	return Mirrored{m.Requests, m.Copies, clone(m.Versions), clone(m.Images), clone(m.Lines)}
}

// clone returns a map to write to, even of nil.
func clone(counts map[string]int) map[string]int {
	copied := map[string]int{}
	maps.Copy(copied, counts)
	return copied
}

// mirror sends copies of a request that was forwarded where policies say. What answers them is ignored, as is what it
// answers.
func (g *Gateway) mirror(policies []*Policy, d Decision, req *http.Request) {
	for _, p := range policies {
		if !p.selects(d.Table, d.Route, g.options.Cluster) {
			continue
		}
		copied := p.copies(draw)
		reached, found := version{}, false
		if copied {
			reached, found = g.resolve(p.Destination)
		}
		g.mu.Lock()
		m := g.mirrored[p.String()]
		if m.Lines == nil {
			m = Mirrored{Versions: map[string]int{}, Images: map[string]int{}, Lines: map[string]int{}}
		}
		m.Requests++
		if copied {
			m.Copies++
			m.Lines[req.Method+" "+req.URL.Path]++
		}
		if found {
			m.Versions[reached.name]++
			if reached.image != "" {
				m.Images[reached.image]++
			}
		}
		g.mirrored[p.String()] = m
		g.mu.Unlock()
	}
}
