package kube

import (
	"cmp"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// shelf remembers objects of one resource. An object on it is never replaced by an older state of itself, whichever comes
// later: the API server's answer to a write, or a watch that lags behind it.
type shelf struct {
	writes  sync.Mutex
	objects cache.ThreadSafeStore // of engine.Object, by shelfKey
}

// Indexes that every shelf has.
const (
	byNamespace = "namespace"
	byLabel     = "label"
)

func newShelf() *shelf {
	return &shelf{objects: cache.NewThreadSafeStore(cache.Indexers{
		byNamespace: keysOf(func(o engine.Object) []string { return []string{o.Namespace} }),
		byLabel: keysOf(func(o engine.Object) []string {
			var keys []string
			for name, value := range o.Labels {
				keys = append(keys, labelKey(o.Namespace, name, value))
			}
			return keys
		}),
	}, cache.Indices{})}
}

// keysOf is an indexer of objects as client-go has them.
func keysOf(keys func(engine.Object) []string) cache.IndexFunc {
	return func(o any) ([]string, error) { return keys(o.(engine.Object)), nil }
}

func shelfKey(namespace, name string) string { return namespace + "/" + name }

func labelKey(namespace, name, value string) string { return namespace + "/" + name + "=" + value }

// get returns an object.
func (s *shelf) get(namespace, name string) (engine.Object, bool) {
	o, found := s.objects.Get(shelfKey(namespace, name))
	if !found {
		return engine.Object{}, false
	}
	return o.(engine.Object), true
}

// count returns how many objects are on the shelf.
func (s *shelf) count() int { return len(s.objects.ListKeys()) }

// put stores an object, unless a later state of it is there.
func (s *shelf) put(o engine.Object) {
	s.writes.Lock()
	defer s.writes.Unlock()
	s.store(o)
}

func (s *shelf) store(o engine.Object) {
	if held, found := s.get(o.Namespace, o.Name); !found || !isLater(held.ResourceVersion, o.ResourceVersion) {
		s.objects.Update(shelfKey(o.Namespace, o.Name), o)
	}
}

// remove takes an object away that was deleted at a version, unless a later one of that name is there.
func (s *shelf) remove(namespace, name, version string) {
	s.writes.Lock()
	defer s.writes.Unlock()
	if held, found := s.get(namespace, name); found && !isLater(held.ResourceVersion, version) {
		s.objects.Delete(shelfKey(namespace, name))
	}
}

// replace makes the shelf hold just these objects, which is all there were at a version, and what is later than that.
func (s *shelf) replace(all []engine.Object, version string) {
	s.writes.Lock()
	defer s.writes.Unlock()
	listed := map[string]bool{}
	for _, o := range all {
		listed[shelfKey(o.Namespace, o.Name)] = true
		s.store(o)
	}
	for _, held := range s.objects.List() {
		o := held.(engine.Object)
		if key := shelfKey(o.Namespace, o.Name); !listed[key] && !isLater(o.ResourceVersion, version) {
			s.objects.Delete(key)
		}
	}
}

// isLater reports whether a resourceVersion is later than another. Those that are no numbers cannot be compared, and are not.
func isLater(version, than string) bool {
	a, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return false
	}
	b, err := strconv.ParseUint(than, 10, 64)
	return err == nil && a > b
}

// selected returns the objects in a namespace, or in all if it is empty, that a selector matches.
func (s *shelf) selected(namespace string, selector labels.Selector) []engine.Object {
	return sorted(s.candidates(namespace, selector), func(o engine.Object) bool {
		return (namespace == "" || o.Namespace == namespace) && selector.Matches(labels.Set(o.Labels))
	})
}

// candidates returns all objects that a selector may match: those with a label that it wants, if it wants one.
func (s *shelf) candidates(namespace string, selector labels.Selector) []any {
	if namespace == "" {
		return s.objects.List()
	}
	index, key := byNamespace, namespace
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		if value, exact := selector.RequiresExactMatch(r.Key()); exact {
			index, key = byLabel, labelKey(namespace, r.Key(), value)
		}
	}
	return s.indexed(index, key)
}

// found returns the objects in a namespace, or in all if it is empty, that an index has under any of the keys. The index is
// made when it is first asked for.
func (s *shelf) found(namespace string, index engine.Index, keys []string) []engine.Object {
	s.writes.Lock()
	if _, known := s.objects.GetIndexers()[index.Name]; !known {
		if err := s.objects.AddIndexers(cache.Indexers{index.Name: keysOf(index.Keys)}); err != nil {
			panic(err) // which it does only for a name that is known
		}
	}
	s.writes.Unlock()
	var objects []any
	for _, key := range keys {
		objects = append(objects, s.indexed(index.Name, key)...)
	}
	return slices.CompactFunc(
		sorted(objects, func(o engine.Object) bool { return namespace == "" || o.Namespace == namespace }),
		func(a, b engine.Object) bool { return compare(a, b) == 0 })
}

func (s *shelf) indexed(index, key string) []any {
	objects, err := s.objects.ByIndex(index, key)
	if err != nil {
		panic(err) // which it does only for an index that nobody made
	}
	return objects
}

// sorted returns those that match, by namespace and name.
func sorted(objects []any, matches func(engine.Object) bool) []engine.Object {
	var chosen []engine.Object
	for _, o := range objects {
		if o := o.(engine.Object); matches(o) {
			chosen = append(chosen, o)
		}
	}
	slices.SortFunc(chosen, compare)
	return chosen
}

func compare(a, b engine.Object) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
