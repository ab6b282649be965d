package gatewayapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/jsonfault"
)

// statusView is what is read of a route to learn whether its gateways have taken it.
type statusView struct {
	Metadata struct {
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec struct {
		ParentRefs []parentRef `json:"parentRefs"`
	} `json:"spec"`
	Status struct {
		Parents []parentStatus `json:"parents"`
	} `json:"status"`
}

// parentRef names what a route is attached to, such as a Gateway or one of its listeners.
type parentRef struct {
	Group       *string `json:"group"`
	Kind        string  `json:"kind"`
	Namespace   string  `json:"namespace"`
	Name        string  `json:"name"`
	SectionName string  `json:"sectionName"`
	Port        int     `json:"port"`
}

// text names a parent with its defaults, where a route is in a namespace. It is the same for equal parents only.
func (p parentRef) text(namespace string) string {
	g := group
	if p.Group != nil {
		g = *p.Group
	}
	text := fmt.Sprintf("%s %s/%s", cmp.Or(p.Kind, "Gateway"), cmp.Or(p.Namespace, namespace), p.Name)
	if g != group {
		text = g + " " + text
	}
	if p.SectionName != "" {
		text += " " + p.SectionName
	}
	if p.Port != 0 {
		text += fmt.Sprintf(":%d", p.Port)
	}
	return text
}

// parentStatus is what one controller says of a route on one parent (Gateway API reference, RouteParentStatus).
type parentStatus struct {
	ParentRef      parentRef   `json:"parentRef"`
	ControllerName string      `json:"controllerName"`
	Conditions     []condition `json:"conditions"`
}

type condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Reason             string `json:"reason"`
	Message            string `json:"message"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

// Acceptance reads what controllers say of a route on each of its parents that one reports on; of former parents it reads
// nothing. A route is as accepted as on the parent where it is least, and its generation is the oldest that is spoken of.
func (Routes) Acceptance(object json.RawMessage) (engine.Acceptance, error) {
	v, err := jsonfault.Read[statusView](object)
	if err != nil {
		return engine.Acceptance{}, err
	}
	present := map[string]bool{}
	for _, parent := range v.Spec.ParentRefs {
		present[parent.text(v.Metadata.Namespace)] = true
	}
	var reports []report
	for _, parent := range v.Status.Parents {
		if name := parent.ParentRef.text(v.Metadata.Namespace); present[name] {
			reports = append(reports, parent.report(name))
		}
	}
	return sum(reports), nil
}

// report is what is to be known of a route on one parent.
type report struct {
	state      engine.AcceptanceState
	generation int64
	// messages are the controller's on what is not as it should be.
	messages []string
	// refused says that the parent does not serve the route at all.
	refused bool
}

// report reads the conditions by which a controller says that it serves the route: Accepted and ResolvedRefs have to be true.
// One that is missing or not known yet is waited for.
func (s parentStatus) report(parent string) report {
	r := report{state: engine.Accepted, generation: math.MaxInt64}
	for _, name := range []string{"Accepted", "ResolvedRefs"} {
		c := s.condition(name)
		r.generation = min(r.generation, c.ObservedGeneration)
		switch c.Status {
		case "True":
		case "False":
			r.state, r.refused = engine.Rejected, r.refused || name == "Accepted"
			r.messages = append(r.messages, fmt.Sprintf("%s by %s: %s is False: %s", parent, s.ControllerName, name, c.says()))
		default:
			if r.state == engine.Accepted {
				r.state = engine.Pending
			}
		}
	}
	if partial := s.condition("PartiallyInvalid"); partial.Status == "True" && r.state == engine.Accepted {
		r.state = engine.AcceptedWithWarning
		r.messages = append(r.messages, fmt.Sprintf("%s by %s: PartiallyInvalid: %s", parent, s.ControllerName, partial.says()))
	}
	return r
}

// condition returns the condition of a type; there may be none.
func (s parentStatus) condition(name string) condition {
	i := slices.IndexFunc(s.Conditions, func(c condition) bool { return c.Type == name })
	if i < 0 {
		return condition{}
	}
	return s.Conditions[i]
}

// says returns a condition's reason and message.
func (c condition) says() string { return strings.TrimSpace(c.Reason + " " + c.Message) }

// severity orders states: a route is as accepted as where it is least.
var severity = []engine.AcceptanceState{engine.Accepted, engine.AcceptedWithWarning, engine.Pending, engine.Rejected}

// sum makes one of the reports on all parents.
func sum(reports []report) engine.Acceptance {
	if len(reports) == 0 {
		return engine.Acceptance{State: engine.Unreported}
	}
	a := engine.Acceptance{State: engine.Accepted, Generation: math.MaxInt64, Meanwhile: "until that is mended, requests to what it refers to and cannot reach are answered with an error"}
	var messages []string
	for _, r := range reports {
		if slices.Index(severity, r.state) > slices.Index(severity, a.State) {
			a.State, messages = r.state, nil
		}
		if r.state == a.State {
			messages = append(messages, r.messages...)
		}
		a.Generation = min(a.Generation, r.generation)
		if r.refused {
			a.Meanwhile = "until that is mended, it is not served there, or as it was before"
		}
	}
	a.Message = strings.Join(messages, "; ")
	return a
}
