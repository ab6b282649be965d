package gateway

import (
	"net/http"
	"sync"

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
	return g.copies.Of(func(policy cache.ObjectName) bool {
		return policy.Namespace == namespace && (name == "" || name == policy.Name)
	})
}

// NewMirrored has counted nothing yet.
func NewMirrored() *Mirrored {
	return &Mirrored{Versions: map[string]int{}, Images: map[string]int{}, Lines: map[string]int{}}
}

// Copy counts a copy of a request; reach says which version it reached, if any.
func (m *Mirrored) Copy(req *http.Request, reach func() (Version, bool)) {
	m.Copies++
	m.Lines[req.Method+" "+req.URL.Path]++
	reached, found := reach()
	if !found {
		return
	}
	m.Versions[reached.Name]++
	if reached.Image != "" {
		m.Images[reached.Image]++
	}
}

// add counts what another one has counted.
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
		one := NewMirrored()
		one.Requests = 1
		if p.copies(draw) {
			one.Copy(req, func() (Version, bool) { return g.resolve(p.Destination) })
		}
		g.copies.Count(cache.NewObjectName(p.Namespace, p.Name), *one)
	}
}

// Copies are counts of mirrored requests, by what had them mirrored. The zero value has counted nothing.
type Copies struct {
	mu sync.Mutex
	by map[cache.ObjectName]*Mirrored
}

// Count adds what was counted of one request.
func (c *Copies) Count(by cache.ObjectName, one Mirrored) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[cache.ObjectName]*Mirrored{}
	}
	if c.by[by] == nil {
		c.by[by] = NewMirrored()
	}
	c.by[by].add(one)
}

// Of sums up those that are wanted.
func (c *Copies) Of(wanted func(cache.ObjectName) bool) Mirrored {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := NewMirrored()
	for by, m := range c.by {
		if wanted(by) {
			sum.add(*m)
		}
	}
	return *sum
}
