package kube

import (
	"cmp"
	"maps"
	"slices"
)

// Remembered is what a [Cache] remembers of one resource.
type Remembered struct {
	Resource string
	Objects  int
	// Watched and Plain are of how many views, each of one namespace or of all, reads are answered from memory, and of how
	// many by the API server since nothing is to be believed at present.
	Watched, Plain int
}

// Remembered returns what is remembered of each resource that was asked for, by name.
func (c *Cache) Remembered() []Remembered {
	c.mu.Lock()
	defer c.mu.Unlock()
	byResource := map[string]Remembered{}
	for key, v := range c.views {
		r := byResource[key.resource.Resource]
		r.Resource = key.resource.Resource
		r.Objects += v.shelf.count()
		if v.isBelieved() {
			r.Watched++
		} else {
			r.Plain++
		}
		byResource[r.Resource] = r
	}
	return slices.SortedFunc(maps.Values(byResource), func(a, b Remembered) int { return cmp.Compare(a.Resource, b.Resource) })
}

func (v *view) isBelieved() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.doubt == nil && v.refusal == nil
}
