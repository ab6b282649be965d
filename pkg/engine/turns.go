package engine

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// turns lets one call at a time write an object. Writes of this process to an object that many Rollouts share would
// otherwise be in each other's way, and most would be for nothing.
type turns struct {
	mu     sync.Mutex
	byName map[string]*turn
}

// turn is that of one object; it is forgotten when nobody wants it any more.
type turn struct {
	free   *semaphore.Weighted
	wanted int
}

// take waits for the turn to write an object, and reports whether somebody else had it meanwhile, who may have changed the
// object. It fails if ctx ends before.
func (t *turns) take(ctx context.Context, name string) (give func(), waited bool, err error) {
	mine := t.want(name)
	if waited = !mine.free.TryAcquire(1); waited {
		err = mine.free.Acquire(ctx, 1)
	}
	if err != nil {
		t.leave(name, mine)
		return nil, waited, err
	}
	return func() {
		mine.free.Release(1)
		t.leave(name, mine)
	}, waited, nil
}

func (t *turns) want(name string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName == nil {
		t.byName = map[string]*turn{}
	}
	mine, found := t.byName[name]
	if !found {
		mine = &turn{free: semaphore.NewWeighted(1)}
		t.byName[name] = mine
	}
	mine.wanted++
	return mine
}

func (t *turns) leave(name string, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mine.wanted--; mine.wanted == 0 {
		delete(t.byName, name)
	}
}
