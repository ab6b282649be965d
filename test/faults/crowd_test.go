package faults

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"
)

// workers is how many Rollouts the controller reconciles at once.
const workers = 10

// Many Rollouts share ten tables, a route in each of them included, and all go through their steps at once.
func TestCrowdOnTenTables(t *testing.T) {
	t.Parallel()
	s := setup{tables: map[string][]string{}}
	for i := range size(20, 200) {
		for _, table := range []int{i % 10, (3*i + 1 + i/10) % 10} {
			name, rollout := fmt.Sprintf("table-%d", table), fmt.Sprintf("web-%d", i)
			if on := s.tables[name]; len(on) == 0 || on[len(on)-1] != rollout { // both may be one
				s.tables[name] = append(on, rollout)
			}
		}
	}
	d := s.begin(t)
	group := errgroup.Group{}
	turns := make(chan struct{}, workers)
	inTurn := func(do func() error) error {
		turns <- struct{}{}
		defer func() { <-turns }()
		return do()
	}
	for i, r := range d.releases {
		group.Go(func() error {
			for step := int32(0); step <= atEnd; step++ {
				if err := inTurn(func() error { return d.goes(r, step) }); err != nil {
					return err
				}
			}
			return inTurn(func() error {
				if i%4 == 0 {
					return d.aborts(r)
				}
				return d.completes(r)
			})
		})
	}
	d.check(group.Wait())
}
