package engine

import (
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
)

// maxParallel is how many objects one call works on at the same time.
const maxParallel = 16

// Panic is what is panicked with on behalf of another goroutine.
type Panic struct {
	Cause any
	// Stack is that of the other goroutine.
	Stack string
}

func (p Panic) String() string { return fmt.Sprintf("%v\n%s", p.Cause, p.Stack) }

// each does something with every object, several at a time, and returns when all is done: the errors, in the objects' order.
// A panic becomes one of the caller's.
func each(objects []Object, do func(Object) error) []error {
	errs := make([]error, len(objects))
	if len(objects) == 1 {
		errs[0] = do(objects[0])
		return errs
	}
	panics := make([]*Panic, len(objects))
	group := errgroup.Group{}
	group.SetLimit(maxParallel)
	for i, o := range objects {
		group.Go(func() error {
			defer func() {
				if cause := recover(); cause != nil {
					panics[i] = &Panic{cause, string(debug.Stack())}
				}
			}()
			errs[i] = do(o)
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	for _, p := range panics {
		if p != nil {
			panic(*p)
		}
	}
	return errs
}
