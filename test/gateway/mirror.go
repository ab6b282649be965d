package gateway

import (
	"net/http"

	"k8s.io/client-go/tools/cache"
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

// Mirrored counts for one policy, which may be gone meanwhile; or, if name is empty, for all of a namespace, so that a
// request of a route that several select counts several times. A request is counted before it is answered.
func (g *Gateway) Mirrored(namespace, name string) Mirrored {
	g.mu.Lock()
	defer g.mu.Unlock()
	sum := newMirrored()
	for policy, m := range g.mirrored {
		if policy.Namespace == namespace && (name == "" || name == policy.Name) {
			sum.add(*m)
		}
	}
	return *sum
}

func newMirrored() *Mirrored {
	return &Mirrored{Versions: map[string]int{}, Images: map[string]int{}, Lines: map[string]int{}}
}

func (m *Mirrored) add(other Mirrored) {
	m.Requests += other.Requests
	m.Copies += other.Copies
	for _, counts := range []struct{ to, from map[string]int }{
		{m.Versions, other.Versions}, {m.Images, other.Images}, {m.Lines, other.Lines},
	} {
		for key, n := range counts.from {
			counts.to[key] += n
		}
	}
}

// mirror sends copies of a request that was forwarded where policies say. What answers them is ignored, as is what it
// answers.
func (g *Gateway) mirror(policies []*Policy, d Decision, req *http.Request) {
	for _, p := range policies {
		if !p.Selects(d.Table, d.Route, g.options.Cluster) {
			continue
		}
		one := newMirrored()
		one.Requests = 1
		if p.copies(draw) {
			one.Copies = 1
			one.Lines[req.Method+" "+req.URL.Path] = 1
			if reached, found := g.resolve(p.Destination); found {
				one.Versions[reached.name] = 1
				if reached.image != "" {
					one.Images[reached.image] = 1
				}
			}
		}
		g.count(p, *one)
	}
}

func (g *Gateway) count(p *Policy, one Mirrored) {
	key := cache.NewObjectName(p.Namespace, p.Name)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mirrored[key] == nil {
		g.mirrored[key] = newMirrored()
	}
	g.mirrored[key].add(one)
}
