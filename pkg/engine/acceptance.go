package engine

import (
	"fmt"

	"k8s.io/utils/lru"
)

// Acceptance is what the control plane of a routing API says of an object in its status.
type Acceptance struct {
	State AcceptanceState
	// Generation is that of the object which the state speaks of.
	Generation int64
	// Message is the control plane's own.
	Message string
	// Meanwhile says what traffic gets while the object is rejected.
	Meanwhile string
}

// AcceptanceState is whether the control plane serves an object.
type AcceptanceState int

const (
	// Unreported says that no control plane has ever written a status.
	Unreported AcceptanceState = iota
	// Pending says that the control plane is not done with the object.
	Pending
	// Accepted says that the object is served.
	Accepted
	// AcceptedWithWarning says that the object is served, and that something about it is doubtful.
	AcceptedWithWarning
	// Rejected says that the object is not served as it is.
	Rejected
)

// generations remembers up to which generation of each object a control plane has to have come: that of this process' last
// write or, before there is one, the one that was first seen. Writes of others do not count: on an object that many change,
// the control plane may never catch up with all.
type generations struct {
	byUID *lru.Cache
}

// wrote notes that this process has written an object, which is now as given.
func (g *generations) wrote(o Object) {
	g.byUID.Add(o.UID, o.Generation)
}

// doubt notes that this process may have written an object, and does not know what came of it.
func (g *generations) doubt(o Object) { g.byUID.Add(o.UID, unsure) }

// unsure is the generation of an object that was perhaps written.
const unsure = int64(-1)

// settle notes that an object is as it was to be: if it was perhaps written, it was.
func (g *generations) settle(o Object) {
	if generation, _ := g.byUID.Get(o.UID); generation == unsure {
		g.wrote(o)
	}
}

// awaited returns the generation that an object's status has to speak of; of one that was perhaps written, its own.
func (g *generations) awaited(o Object) int64 {
	switch generation, found := g.byUID.Get(o.UID); {
	case !found:
		g.wrote(o)
		return o.Generation
	case generation == unsure:
		return o.Generation
	default:
		return generation.(int64)
	}
}

// judge adds to a verdict what the control plane says of an object, or of a policy, which it words alike. One that nobody ever reported on is taken as it is
// written: that is all that can be known.
func (e *Engine) judge(verdict *Verdict, api API, kind string, o Object) {
	name, awaited := fmt.Sprintf("%s %s/%s", kind, o.Namespace, o.Name), e.generations.awaited(o)
	a, err := e.acceptance(api, name, o)
	switch {
	case err != nil:
		verdict.fault(fmt.Errorf("%s: %w", name, err))
	case a.State == Unreported:
	case a.Generation < awaited:
		verdict.Waiting = append(verdict.Waiting, fmt.Sprintf("%s: its status speaks of generation %d, generation %d is awaited", name, a.Generation, awaited))
	case a.State == Pending:
		verdict.Waiting = append(verdict.Waiting, fmt.Sprintf("%s: generation %d is pending", name, a.Generation))
	case a.State == Rejected:
		verdict.fault(fmt.Errorf("%s: not accepted: %s; %s", name, a.Message, a.Meanwhile))
	case a.State == AcceptedWithWarning:
		verdict.Warnings = append(verdict.Warnings, fmt.Sprintf("%s: accepted with a warning: %s", name, a.Message))
	}
}
