package engine

import (
	"encoding/json"
	"slices"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Index tells by what objects can be found, so that not all of them have to be looked at.
type Index struct {
	// Name tells the indexes of one resource apart.
	Name string
	// Keys returns those under which an object is found: a function of the object alone.
	Keys func(Object) []string
	// MetadataOnly says that Keys looks at nothing but the object's metadata.
	MetadataOnly bool
	// Once says that nobody will soon ask by it again, so that nothing is to be remembered for its sake.
	Once bool
}

// Filter returns those of the objects that the index has under any of the keys, for a [Cluster] that has to look at all of
// them. By an index of metadata they come without JSON, for that may not be theirs.
func (x Index) Filter(objects []Object, keys ...string) []Object {
	var found []Object
	for _, o := range objects {
		if !slices.ContainsFunc(x.Keys(o), func(key string) bool { return slices.Contains(keys, key) }) {
			continue
		}
		if x.MetadataOnly {
			o.JSON = nil
		}
		found = append(found, o)
	}
	return found
}

// byOwner has an object under every owner that its annotation has a record of.
var byOwner = Index{Name: "owner", MetadataOnly: true, Keys: func(o Object) []string {
	text, found := o.Annotations[Annotation]
	if !found {
		return nil
	}
	records := map[string]json.RawMessage{}
	if json.Unmarshal([]byte(text), &records) != nil {
		return nil // it counts as lost
	}
	var owners []string
	for owner := range records {
		owners = append(owners, owner)
	}
	return owners
}}

// byRecord has an object under [annotated] if its annotation has records of anybody.
var byRecord = Index{Name: "record", MetadataOnly: true, Once: true, Keys: func(o Object) []string {
	if len(Owners(o)) == 0 {
		return nil
	}
	return []string{annotated}
}}

const annotated = "annotated"

// byTrace has an object under what it shows of Rollouts without its annotation: the owners of managed routes, and the names
// of destinations whose entries bear the plugin's mark.
func byTrace(api API) Index {
	return Index{Name: "trace", Keys: func(o Object) []string {
		routes, err := api.Routes(o.JSON)
		if err != nil {
			return nil // nothing in it can be told to be a Rollout's
		}
		var traces []string
		for _, r := range routes {
			if r.Owner != "" {
				traces = append(traces, managedTrace(r.Owner))
			}
			for _, e := range r.Entries {
				if e.Marked {
					traces = append(traces, entryTrace(e.Destination))
				}
			}
		}
		return traces
	}}
}

// Owners returns those of whom an object's annotation has a record, each as [intent.Owner] has it.
func Owners(o Object) []string { return byOwner.Keys(o) }

func managedTrace(owner string) string { return "managed route of " + owner }

func entryTrace(d intent.Destination) string { return "entry for " + d.Name }

// traces are those that a Rollout which is under way may have left.
func traces(in intent.Intent) []string {
	traces := []string{managedTrace(ownerLabelValue(in.Owner))}
	for _, d := range in.Used {
		traces = append(traces, entryTrace(d))
	}
	return traces
}
