// Package engine brings objects of a routing API to what a Rollout wants: it plans what differs, sends one patch per
// object, and tells whether the cluster holds what was asked for. It knows no routing API itself.
package engine

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// API is what the engine asks of a routing API. An implementation holds no state.
type API interface {
	// Kind is the objects' kind, as errors name it.
	Kind() string
	// Words are what people who write the objects call things.
	Words() Words
	// Resource is where the API server keeps the objects.
	Resource() schema.GroupVersionResource
	// Routes views an object, as the API server sent it, as routes with weighted destinations, in the object's order. It
	// fails if the object cannot be read at all; what is wrong with a single route is in that route.
	Routes(object json.RawMessage) ([]Route, error)
	// Spell returns a new entry for a list of destinations, in the API's JSON: like source, but for destination to. The
	// entry has no weight yet. Where it has room for one, it carries a mark by which Routes recognises it later.
	Spell(source Entry, to intent.Destination) (map[string]any, error)
	// SpellRoute returns a new route, in the API's JSON: like source, but for what m says. It returns nil if no request that
	// reaches source can fit, and fails if the API cannot state a match. The route has to stand before its source unless the API
	// prefers it wherever it stands.
	SpellRoute(source Route, m ManagedRoute) (route json.RawMessage, before bool, err error)
	// Unlabelled says that managed routes have no labels, so that the object's annotation tells which they are.
	Unlabelled() bool
	// CheckManaged fails if an object cannot hold routes so arranged, or if a managed one would take requests that reach others
	// than its source without it. Only unlabelled ones are checked.
	CheckManaged(routes []Arranged) error
	// Policies is the kind of the objects by which the API mirrors traffic; that without a name: there are none.
	Policies() PolicyKind
	// MirrorPolicy returns the spec of such a policy: of the requests of routes with these labels, a percentage is sent to a
	// destination as well.
	MirrorPolicy(labels map[string]string, destination json.RawMessage, percentage int) (json.RawMessage, error)
	// Labelled says whether objects carry the label of the intent while a release is under way.
	Labelled() bool
	// Acceptance returns what the control plane says of an object.
	Acceptance(object json.RawMessage) (Acceptance, error)
	Arithmetic
}

// Words are what errors call the things of a routing API.
type Words struct {
	// Object is an object of the API, and Route one of its routes.
	Object, Route string
	// Namespace is the field by which an entry names a destination's namespace.
	Namespace string
	// Headed is what forwards by headers, with its article.
	Headed string
	// Kind are the fields of the config block that say which kind stable is; empty: it can be a Service only.
	Kind string
}

// ManagedRoute is a route that is to be made from a source route.
type ManagedRoute struct {
	Name string
	// Labels are those that it has beside its source's.
	Labels map[string]string
	// Matches are those of the step. Of a mirror they are alternatives: it takes the source's requests that fit any of them.
	Matches []intent.RequestMatch
	// Over are the matches of the mirrors beside it, from which it takes requests as well. Where order decides it stands before
	// them anyway.
	Over []intent.RequestMatch
	// Destinations are where those go, in the API's JSON; none: to the default destination.
	Destinations []json.RawMessage
	// Mirror is how many percent of them are sent to Canary, an entry, as well, where the route itself says so and no policy
	// does. Nil: none are.
	Mirror *int
	Canary json.RawMessage
}

// Arranged is one of an object's routes, in the order in which they are to stand.
type Arranged struct {
	JSON json.RawMessage
	// Place is where the route stands; of a managed one, where its source does.
	Place string
	// Managed is a managed route's name; of others it is empty.
	Managed string
	// Source is the key of the route or, of a managed one, of its source.
	Source string
}

// PolicyKind is a kind of policies and where the API server keeps them.
type PolicyKind struct {
	Kind     string
	Resource schema.GroupVersionResource
}

// Arithmetic is how a routing API reads the weights of one route. What they count is the API's: percent of the route's
// traffic, or parts of whatever they sum to. Weights are as the list of destinations gives them, Unset for none.
type Arithmetic interface {
	// Unset is the weight by which an entry counts that gives none.
	Unset() int
	// Owned returns the weight that the entries which are mine are to hold together, among them those that are still to be
	// made, for a Rollout whose shares are out of maxShare. If the weights make no sense it fails, unless mend is set: then
	// mine own what the other entries leave, where that can be told.
	Owned(weights []int, mine []bool, maxShare int, mend bool) (int, error)
	// Effective returns the weight by which each entry gets traffic: its part of what all of them get. It fails if the
	// weights make no sense.
	Effective(weights []int) ([]float64, error)
}

// Route is one route of an object.
type Route struct {
	// Place is where it stands, as errors name it: `http[2] "checkout"`.
	Place string
	// Key identifies the route among those of its object for as long as its name or its matchers stay.
	Key string
	// Section is the JSON pointer of the list that the route stands in, and Index its place there. Section is empty for
	// routes beside which none can be added.
	Section string
	Index   int
	// Owner is the value of the label by which the plugin marks its own routes; empty for other people's. Where routes have no
	// labels, [Routes] fills it in, with Source, the key of the route that one was made from, and whether it is a Mirror.
	Owner, Source string
	Mirror        bool
	// JSON is the route as it stands in the object.
	JSON json.RawMessage
	// Name and Labels are what a route selector looks at; both are empty for routes that cannot have them.
	Name   string
	Labels map[string]string
	// Does says, for a route that forwards to no destinations, what it does instead.
	Does string
	// List is the JSON pointer of the list of destinations.
	List string
	// Listed says whether the object has that list; if not, the route forwards to a default destination. Empty says that it
	// has one without entries.
	Listed, Empty bool
	// Entries are the route's destinations; of a route without a list, the default one.
	Entries []Entry
	// Default is the default destination that the route would forward to without its list; nil if there is none.
	Default *Entry
	// Fault says why the rest of the route cannot be read; nil if it can.
	Fault error
}

// Entry is one entry in a route's list of destinations.
type Entry struct {
	intent.Destination
	// Weight is the entry's weight; nil if it gives none.
	Weight *int
	// Marked says that the entry carries the mark of those that Spell made, and Unmarkable that it has no room for one.
	Marked, Unmarkable bool
	// JSON is the entry as it stands in the object.
	JSON json.RawMessage
}

// weights returns those of the route's entries as arithmetic reads them.
func (r Route) weights(a Arithmetic) []int {
	weights := make([]int, len(r.Entries))
	for i, e := range r.Entries {
		weights[i] = given(a, e.Weight)
	}
	return weights
}

// listed returns the entries of the route's own list, in the API's JSON.
func (r Route) listed() []json.RawMessage {
	if !r.Listed {
		return nil
	}
	entries := make([]json.RawMessage, len(r.Entries))
	for i, e := range r.Entries {
		entries[i] = e.JSON
	}
	return entries
}

// given returns a weight as arithmetic reads it.
func given(a Arithmetic, weight *int) int {
	if weight == nil {
		return a.Unset()
	}
	return *weight
}
