package kube

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

const (
	// firstSight is how long a read waits for a view that has only just been begun.
	firstSight = 5 * time.Second
	// retrial is after what time it is tried again whether listing and watching are permitted by now.
	retrial = time.Minute
	// idle is after what time a view of one namespace that nobody reads is given up.
	idle = 30 * time.Minute
)

// view is what a [Cache] remembers of one resource, in one namespace or in all.
type view struct {
	key   viewKey
	shelf *shelf
	// read is when the view was last asked for, in Unix seconds.
	read atomic.Int64
	// decided is closed when it is known for the first time whether the view is to be believed.
	decided chan struct{}

	mu sync.Mutex
	// doubt is why the view is not to be believed at present; nil: it is.
	doubt error
	// refusal is why it cannot be remembered for some time: the API server's answer to a list, or errUnwatched.
	refusal error
}

type viewKey struct {
	resource  schema.GroupVersionResource
	namespace string // empty: all
}

var (
	errUndecided = errors.New("nothing is remembered yet")
	// errUnwatched is of a resource that may be listed, but not watched: it can be read, but not remembered.
	errUnwatched = errors.New("watching is not permitted")
)

// refused reports whether the error of [Cache.view] is the API server's answer to a list.
func refused(err error) bool { return apierrors.IsForbidden(err) || errors.Is(err, engine.ErrUnserved) }

// view returns what is remembered of a resource in a namespace, or in all if it is empty. Its error says why that is not to
// be believed.
func (c *Cache) view(ctx context.Context, resource schema.GroupVersionResource, namespace string) (*view, error) {
	all := ""
	if resource == services { // there are many, and few that matter
		all = namespace
	}
	v, err := c.begun(ctx, viewKey{resource, all})
	if namespace != all && (apierrors.IsForbidden(err) || errors.Is(err, errUnwatched)) {
		return c.begun(ctx, viewKey{resource, namespace})
	}
	return v, err
}

// begun returns a view, which it begins if need be, and why it is not to be believed.
func (c *Cache) begun(ctx context.Context, key viewKey) (*view, error) {
	c.mu.Lock()
	v, found := c.views[key]
	if !found {
		v = &view{key: key, shelf: newShelf(), decided: make(chan struct{}), doubt: errUndecided}
		c.views[key] = v
		c.feeds.Go(func() { c.feed(v) })
	}
	v.read.Store(time.Now().Unix())
	c.mu.Unlock()
	select {
	case <-v.decided:
	case <-ctx.Done():
	case <-time.After(firstSight):
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.refusal != nil {
		return v, v.refusal
	}
	return v, v.doubt
}

// feed keeps a view as the API server says: by a watch, and by lists one relist apart.
func (c *Cache) feed(v *view) {
	for c.running.Err() == nil && !c.gaveUp(v) {
		round, end := context.WithTimeout(c.running, jittered(c.relist))
		s := &supply{client: c.client(v.key.resource), resource: v.key.resource, namespace: v.key.namespace, shelf: v.shelf}
		s.believe = v.believe
		s.doubt = func(verb string, err error) {
			lasting, news := v.doubts(verb, err)
			if news {
				c.log.Warn("asking the API server each time, since nothing can be remembered", "resource", v.key.resource.GroupResource().String(), "reason", err.Error())
			}
			if lasting {
				end()
			}
		}
		broken := c.guarded(round, s)
		end()
		if v.isRefused() || broken {
			select {
			case <-time.After(jittered(retrial)):
			case <-c.running.Done():
			}
		}
	}
}

// guarded lets a supply run, and reports whether it ended in a panic. That must not end the process: the API server can be
// asked all the same.
func (c *Cache) guarded(round context.Context, s *supply) (broken bool) {
	defer func() {
		if cause := recover(); cause != nil {
			broken = true
			text := fmt.Sprint(cause)
			level := c.said.Level(hclog.Error, "panic "+s.resource.Resource, text)
			c.log.Log(level, "panic", "resource", s.resource.Resource, "reason", text, "stack", string(debug.Stack()))
			s.doubt("watch", fmt.Errorf("panic: %s", text))
		}
	}()
	s.run(round)
	return false
}

// gaveUp gives up a view of one namespace that nobody has read for a while, and reports whether it did.
func (c *Cache) gaveUp(v *view) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.key.namespace == "" || time.Since(time.Unix(v.read.Load(), 0)) < idle {
		return false
	}
	delete(c.views, v.key)
	return true
}

// jittered returns a time of about d, so that what begins together does not go on together.
func jittered(d time.Duration) time.Duration { return d*3/4 + rand.N(d/2) }

// believe notes that a watch tells of what changes from now on.
func (v *view) believe() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.doubt, v.refusal = nil, nil
	v.decide()
}

// doubts notes why the view is not to be believed, and reports whether that is to last for some time, and is news.
func (v *view) doubts(verb string, err error) (lasting, news bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.doubt = err
	refusedBefore := v.refusal != nil
	v.refusal = nil // it was an older answer
	if lasting = refused(err); lasting {
		news = !refusedBefore
		v.refusal = err
		if verb == "watch" {
			v.refusal = errUnwatched
		}
	}
	v.decide()
	return lasting, news
}

func (v *view) isRefused() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.refusal != nil
}

func (v *view) decide() {
	select {
	case <-v.decided:
	default:
		close(v.decided)
	}
}
