package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Annotation is where an object remembers what Rollouts own on it: a JSON object with one record per owner. It is there
// only while a release is under way, or an entry names a pod hash. Losing it costs the original spelling of weights and,
// where an object is selected no more, that hash stays; and managed routes stay that have no labels.
const Annotation = "rollouts.argoproj.io/traffic-weights"

// record is what one Rollout owns on an object.
type record struct {
	// Roles says what each destination, by its key, is to the Rollout.
	Roles map[string]role `json:"roles,omitempty"`
	// Held are the routes whose weights the Rollout has changed.
	Held []held `json:"held,omitempty"`
	// HashLabel is the label by whose value, a pod hash, the Rollout's entries on the held routes name a version. As long as
	// they do, the record stays.
	HashLabel string `json:"hashLabel,omitempty"`
	// AtRest says that the Rollout has no release under way: it only waits for others to restore a spelling, or has a pod hash
	// on the object.
	AtRest bool `json:"atRest,omitempty"`
	// Managed says that the object has managed routes of the Rollout.
	Managed bool `json:"managed,omitempty"`
	// Rules are those, where the routing API gives them no labels by which to know them.
	Rules []managedRule `json:"rules,omitempty"`
	// Mirrored says that there may be policies of the Rollout beside the object.
	Mirrored bool `json:"mirrored,omitempty"`
	// Label is the one that the plugin gave the object for this Rollout, among others, and that was not there before.
	Label intent.Label `json:"label,omitzero"`
}

// isUnderWay reports whether the Rollout has a release under way on the object's routes.
func (r *record) isUnderWay() bool { return len(r.Held) > 0 && !r.AtRest || r.Managed }

// isEmpty reports whether there is nothing to remember.
func (r *record) isEmpty() bool {
	return len(r.Held) == 0 && !r.Managed && !r.Mirrored && r.Label == intent.Label{}
}

// held are routes whose destinations were given alike before the first change.
type held struct {
	Was    spelling `json:"was"`
	Routes []string `json:"routes"`
}

// spelling gives the weights of a route's own destinations by their keys, nil for one that gave none. A destination that
// is missing was not listed. A nil spelling is of a route that is not held.
type spelling map[string]*int

// emptyList is a spelling's key for a list of destinations that was there, but empty.
const emptyList = "[]"

// was returns how the route with this key was given, nil if the Rollout does not hold it.
func (r *record) was(routeKey string) spelling {
	if r == nil {
		return nil
	}
	for _, h := range r.Held {
		if _, found := slices.BinarySearch(h.Routes, routeKey); found {
			return h.Was
		}
	}
	return nil
}

// role returns what an entry is to the Rollout by its record; there may be none.
func (r *record) role(e Entry) role {
	if r == nil {
		return roleForeign
	}
	return r.Roles[e.Key()]
}

// hold adds a route, which is not among the held ones yet, with what is remembered of it.
func (r *record) hold(routeKey string, was spelling) {
	i := slices.IndexFunc(r.Held, func(h held) bool { return h.Was.equal(was) })
	if i < 0 {
		i, r.Held = len(r.Held), append(r.Held, held{Was: was})
	}
	r.Held[i].Routes = append(r.Held[i].Routes, routeKey)
}

// sort puts the held routes in an order that does not depend on theirs in the object.
func (r *record) sort() {
	for _, h := range r.Held {
		slices.Sort(h.Routes)
	}
	slices.SortFunc(r.Held, func(a, b held) int { return strings.Compare(a.Routes[0], b.Routes[0]) })
}

// refreshed returns a later spelling of the same route. That its list was empty before the plugin wrote one cannot be seen
// later.
func (s spelling) refreshed(later spelling) spelling {
	for key, weight := range s {
		if key == emptyList || isStranger(weight) {
			later[key] = weight
		}
	}
	return later
}

// claimed returns a spelling in which a stranger that has become one of the Rollout's seats has the weight that its owners give.
func (s spelling) claimed(r Route, seats []seat) spelling {
	if s == nil {
		return nil
	}
	for _, own := range seats {
		if key := own.destination.Key(); own.index >= 0 && isStranger(s[key]) {
			s = maps.Clone(s)
			s[key] = r.Entries[own.index].Weight
		}
	}
	return s
}

// sanitize makes weights unknown that no list of destinations can have given.
func (s spelling) sanitize() {
	for key, weight := range s {
		if weight != nil && !isStranger(weight) && (*weight < 0 || *weight > math.MaxUint32) {
			lost := unknown
			s[key] = &lost
		}
	}
}

func (s spelling) equal(other spelling) bool {
	return maps.EqualFunc(s, other, equalWeight)
}

func equalWeight(a, b *int) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// memory is the annotation of one object as one owner sees it.
type memory struct {
	// mine is the owner's record of weights, nil if there is none.
	mine *record
	// known says that there is a record of the owner.
	known bool
	// label is the one that the owner holds, and labels are those of the others.
	label  intent.Label
	labels []intent.Label
	// managed says that the owner has managed routes on the object, and mirrored that it may have policies beside it.
	managed, mirrored bool
	// rules are the managed routes that the annotation tells of, by the label value of their owner.
	rules map[string][]managedRule
	// holders says which other owner holds a destination on a route, by their keys.
	holders map[seatKey]string
	// busy says that another owner has a release under way here.
	busy bool
	// others are the records of other owners, as they stand.
	others map[string]json.RawMessage
}

// seatKey names a destination on a route, each by its key.
type seatKey struct{ route, destination string }

// recall reads the annotation. What cannot be read counts as lost.
func recall(annotations map[string]string, owner string) memory {
	m := memory{holders: map[seatKey]string{}, others: map[string]json.RawMessage{}, rules: map[string][]managedRule{}}
	text, found := annotations[Annotation]
	if !found {
		return m
	}
	if json.Unmarshal([]byte(text), &m.others) != nil {
		m.others = map[string]json.RawMessage{}
	}
	for _, other := range slices.Sorted(maps.Keys(m.others)) {
		r := &record{}
		if json.Unmarshal(m.others[other], r) != nil || r.isEmpty() {
			delete(m.others, other)
			continue
		}
		if len(r.Rules) > 0 {
			m.rules[ownerLabelValue(other)] = r.Rules
		}
		if other == owner {
			for _, h := range r.Held {
				slices.Sort(h.Routes)
				h.Was.sanitize()
			}
			m.known, m.label, m.managed, m.mirrored = true, r.Label, r.Managed, r.Mirrored
			if len(r.Held) > 0 {
				m.mine = r
			}
			delete(m.others, other)
			continue
		}
		m.busy = m.busy || len(r.Held) > 0 && !r.AtRest
		m.holds(other, r)
		if r.Label != (intent.Label{}) {
			m.labels = append(m.labels, r.Label)
		}
	}
	return m
}

// holds notes what another owner holds, by its record.
func (m memory) holds(other string, r *record) {
	for _, h := range r.Held {
		for _, route := range h.Routes {
			for destination := range r.Roles {
				m.holders[seatKey{route, destination}] = other
			}
		}
	}
}

// maxAnnotation is how many bytes of annotation the plugin takes; an object may have 256 KiB in all.
const maxAnnotation = 250 << 10

// patch returns what makes the annotation say mine for owner, where the object's annotations are those observed. It fails
// if that is more than an annotation may have.
func (m memory) patch(observed map[string]string, owner string, mine record) ([]Operation, error) {
	all := maps.Clone(m.others)
	if !mine.isEmpty() {
		data, err := json.Marshal(mine)
		if err != nil {
			return nil, fmt.Errorf("annotation %s: %w", Annotation, err)
		}
		all[owner] = data
	}
	text := ""
	if len(all) > 0 {
		data, err := json.Marshal(all)
		if err != nil {
			return nil, fmt.Errorf("annotation %s: %w", Annotation, err)
		}
		text = string(data)
	}
	if len(text) > maxAnnotation {
		return nil, fmt.Errorf("to remember what is changed takes %d bytes, more than an annotation may have (%d); narrow routeSelector or split the table", len(text), maxAnnotation)
	}
	wanted := map[string]string{}
	maps.Copy(wanted, observed)
	if delete(wanted, Annotation); text != "" {
		wanted[Annotation] = text
	}
	return mapPatch(observed, wanted, "metadata", "annotations"), nil
}
