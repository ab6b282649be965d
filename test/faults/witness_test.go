package faults

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// witness sees every state that the tables of a namespace go through, at the API server itself. Of each Rollout a table must
// show the weights in the order in which they were asked for: never one that was not, and never an earlier one again. What a
// person has edited must stay.
type witness struct {
	namespace string
	releases  map[string][]*release // by table
	watch     watch.Interface
	stopping  atomic.Bool
	done      chan struct{}

	mu      sync.Mutex
	states  int
	faults  []error
	places  map[string]map[string]int // by table and Rollout, which of the weights asked for was last seen
	edits   map[string]int64          // by table, the number of the person's last edit that was seen
	excused map[string]uint64         // by table, up to which version it may show earlier weights, for a person set them
}

// newWitness begins to look.
func newWitness(ctx context.Context, namespace string, releases []*release) (*witness, error) {
	w := &witness{
		namespace: namespace, releases: map[string][]*release{}, done: make(chan struct{}),
		places: map[string]map[string]int{}, edits: map[string]int64{}, excused: map[string]uint64{},
	}
	for _, r := range releases {
		for _, table := range r.tables {
			w.releases[table] = append(w.releases[table], r)
			w.places[table] = map[string]int{}
		}
	}
	tables := &unstructured.UnstructuredList{}
	tables.SetGroupVersionKind(tableKind.GroupVersion().WithKind(tableKind.Kind + "List"))
	var err error
	if w.watch, err = bed.Client.Watch(ctx, tables, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	go w.look()
	return w, nil
}

func (w *witness) look() {
	defer close(w.done)
	for event := range w.watch.ResultChan() {
		table, isTable := event.Object.(*unstructured.Unstructured)
		switch {
		case w.stopping.Load():
			return
		case event.Type == watch.Error || !isTable:
			w.fault(fmt.Errorf("the witness sees no more: %v", event.Object))
		case event.Type == watch.Added || event.Type == watch.Modified:
			w.fault(w.sees(table))
		}
	}
}

// ends stops looking, and returns what was wrong.
func (w *witness) ends() error {
	w.stopping.Store(true)
	w.watch.Stop()
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.faults[:min(len(w.faults), 10)]...)
}

func (w *witness) fault(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.faults = append(w.faults, err)
	}
}

// sees looks at one state of a table.
func (w *witness) sees(table *unstructured.Unstructured) error {
	v, err := viewOf(table)
	if err != nil {
		return err
	}
	name := table.GetName()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.states++
	if v.Spec.Future.Edits < w.edits[name] {
		err = fmt.Errorf("RouteTable %s at version %s lost edit %d: it has %d", name, table.GetResourceVersion(), w.edits[name], v.Spec.Future.Edits)
	}
	w.edits[name] = v.Spec.Future.Edits
	for _, r := range w.releases[name] {
		if fault := w.compares(table, v, r); fault != nil {
			err = errors.Join(err, fmt.Errorf("RouteTable %s at version %s: Rollout %s: %w", name, table.GetResourceVersion(), r.name, fault))
		}
	}
	return err
}

// compares fails if what a table shows of a Rollout is not what was asked for. It is called with the lock held.
func (w *witness) compares(table *unstructured.Unstructured, v view, r *release) error {
	share, err := v.share(r.name)
	if err != nil {
		return err
	}
	before := w.places[table.GetName()][r.name]
	if version, err := strconv.ParseUint(table.GetResourceVersion(), 10, 64); err != nil || version <= w.excused[table.GetName()] {
		before = 0
	}
	place, found := r.place(share, before)
	if !found {
		return fmt.Errorf("it serves %d percent; asked for were %v, of which it served number %d before", share, r.asked, before)
	}
	w.places[table.GetName()][r.name] = place
	return nil
}

// excuse lets a table show earlier weights, which a person sets, until the next weight is confirmed.
func (w *witness) excuse(table string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.excused[table] = math.MaxUint64
}

// confirm says whether the tables of a Rollout are what was just said to be verified.
func (w *witness) confirm(ctx context.Context, r *release) error {
	for _, name := range r.tables {
		table, err := readTable(ctx, client.ObjectKey{Namespace: w.namespace, Name: name})
		if err != nil {
			return err
		}
		v, err := viewOf(table)
		if err != nil {
			return err
		}
		if share, err := v.share(r.name); err != nil || share != int(r.weight()) {
			return fmt.Errorf("RouteTable %s serves %d percent of Rollout %s, and %d are said to be verified; %w", name, share, r.name, r.weight(), err)
		}
		for route, wanted := range r.managed() {
			if v.has(route) != wanted {
				return fmt.Errorf("RouteTable %s: route %s is there: %v, and at step %d it is to be %v", name, route, v.has(route), r.step, wanted)
			}
		}
		if err := w.pardons(table); err != nil {
			return err
		}
	}
	return nil
}

// pardons ends an excuse with what a table is by now.
func (w *witness) pardons(table *unstructured.Unstructured) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.excused[table.GetName()] < math.MaxUint64 {
		return nil
	}
	version, err := strconv.ParseUint(table.GetResourceVersion(), 10, 64)
	w.excused[table.GetName()] = version
	return err
}
