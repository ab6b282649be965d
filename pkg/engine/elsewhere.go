package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/lru"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// whereabouts remembers in which routing APIs Rollouts may hold something, so that it is found when a Rollout's block names
// others, and that nobody is asked for APIs that nobody uses. What this process did not see itself, annotations tell: each API is
// searched once, when it first matters.
type whereabouts struct {
	// apis are those that may be searched.
	apis []API
	// byOwner has the namespaces of each kind of objects, as map[string][]string. What it holds is not changed.
	byOwner *lru.Cache

	mu sync.Mutex
	// searched are the kinds of those that were searched.
	searched map[string]bool
}

func newWhereabouts(apis []API) whereabouts {
	return whereabouts{apis: apis, byOwner: lru.New(maxKnown), searched: map[string]bool{}}
}

// note remembers that an owner may hold something in a namespace on objects of a kind.
func (w *whereabouts) note(owner, kind, namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	places := w.of(owner)
	if slices.Contains(places[kind], namespace) {
		return
	}
	more := map[string][]string{}
	maps.Copy(more, places)
	more[kind] = append(slices.Clone(places[kind]), namespace)
	w.byOwner.Add(owner, more)
}

// leave forgets that an owner may hold something on objects of a kind.
func (w *whereabouts) leave(owner, kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fewer := maps.Clone(w.of(owner))
	delete(fewer, kind)
	w.byOwner.Add(owner, fewer)
}

func (w *whereabouts) of(owner string) map[string][]string {
	places, _ := w.byOwner.Get(owner)
	known, _ := places.(map[string][]string)
	return known
}

// isSearched reports whether a kind was searched, and notes that it is now.
func (w *whereabouts) isSearched(kind string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.searched[kind]
	w.searched[kind] = true
	return before
}

func (w *whereabouts) searchAgain(kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.searched, kind)
}

// elsewhere returns where a Rollout may hold something on objects of kinds that none of its targets has.
func (e *Engine) elsewhere(ctx context.Context, in intent.Intent, targets []Target) []Target {
	var others []Target
	for _, api := range e.whereabouts.apis {
		if slices.ContainsFunc(targets, func(t Target) bool { return t.API.Kind() == api.Kind() }) {
			continue
		}
		if len(in.Used)+len(in.Managed) > 0 { // a Rollout that is not under way holds nothing from before this process
			e.search(ctx, api)
		}
		for _, namespace := range e.whereabouts.of(in.Owner)[api.Kind()] {
			others = append(others, Target{API: api, Namespace: namespace})
		}
	}
	return others
}

// search notes whom the annotations of an API's objects have records of, unless that was done before. An API that is not there, or
// whose objects may not be listed, is not in use as far as can be known.
func (e *Engine) search(ctx context.Context, api API) {
	if e.whereabouts.isSearched(api.Kind()) {
		return
	}
	objects, err := e.Cluster.Find(ctx, api.Resource(), "", byRecord, annotated)
	if err != nil {
		e.Log.Debug("records not looked for", "kind", api.Kind(), "reason", err.Error())
		if !unreadable(err) {
			e.whereabouts.searchAgain(api.Kind())
		}
		return
	}
	for _, o := range objects {
		for _, owner := range Owners(o) {
			e.whereabouts.note(owner, api.Kind(), o.Namespace)
		}
	}
}

// unreadable reports whether an error says that objects of a kind are not there or may not be read, which will last.
func unreadable(err error) bool { return apierrors.IsForbidden(err) || errors.Is(err, ErrUnserved) }
