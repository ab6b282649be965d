package plugin_test

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// tree is decoded JSON, with numbers as they are written.
type tree = map[string]any

// routes returns the routes of a section.
func routes(spec tree, section string) []tree {
	list, _ := spec[section].([]any)
	var routes []tree
	for _, r := range list {
		routes = append(routes, r.(tree))
	}
	return routes
}

// managedBy returns the value of the label that says whose managed route this is; "" for none.
func managedBy(route tree) string {
	labels, _ := route["labels"].(tree)
	owner, _ := labels[engine.OwnerLabel].(string)
	return owner
}

// owned returns the http routes that the plugin did not add.
func owned(routes []tree) []tree {
	return slices.DeleteFunc(slices.Clone(routes), func(r tree) bool { return managedBy(r) != "" })
}

// foreignPart returns a table without what belongs to the plugin: routes and annotation of its own, weights of own
// destinations, and own destinations that the owners' table does not list.
func foreignPart(object, mine tree, own func(name string) bool) tree {
	object = asTree(asJSON(object))
	meta, spec := object["metadata"].(tree), object["spec"].(tree)
	if annotations, found := meta["annotations"].(tree); found {
		if delete(annotations, engine.Annotation); len(annotations) == 0 {
			delete(meta, "annotations")
		}
	}
	delete(meta, "resourceVersion")
	delete(meta, "generation")
	for _, section := range []string{"http", "tcp"} {
		theirs := routes(mine["spec"].(tree), section)
		left := []any{}
		for n, r := range owned(routes(spec, section)) {
			var listed []string
			if n < len(theirs) {
				listed = names(theirs[n])
			}
			stripRoute(r, func(name string) bool { return own(name) && !slices.Contains(listed, name) }, own)
			left = append(left, r)
		}
		if _, found := spec[section]; found {
			spec[section] = left
		}
	}
	return object
}

// stripRoute takes made destinations out of a route, and the weights and pod hashes of own ones. Of two versions of one Service
// the first is the owners'.
func stripRoute(route tree, made, own func(name string) bool) {
	forward, _ := route["forwardTo"].(tree)
	list, _ := forward["destinations"].([]any)
	kept, seen := []any{}, map[string]bool{}
	for _, d := range list {
		name, _ := d.(tree)["ref"].(tree)["name"].(string)
		if made(name) || seen[name] {
			continue
		}
		if seen[name] = own(name); own(name) {
			delete(d.(tree), "weight")
			stripHash(d.(tree))
		}
		kept = append(kept, d)
	}
	if forward != nil {
		if forward["destinations"] = kept; len(kept) == 0 {
			delete(forward, "destinations")
		}
	}
}

func stripHash(destination tree) {
	if subset, found := destination["subset"].(tree); found {
		if delete(subset, v1alpha1.DefaultRolloutUniqueLabelKey); len(subset) == 0 {
			delete(destination, "subset")
		}
	}
}

// names are those of the destinations that a route lists.
func names(route tree) []string {
	forward, _ := route["forwardTo"].(tree)
	list, _ := forward["destinations"].([]any)
	var names []string
	for _, d := range list {
		names = append(names, d.(tree)["ref"].(tree)["name"].(string))
	}
	return names
}

func asTree(raw []byte) tree {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var decoded tree
	if err := decoder.Decode(&decoded); err != nil {
		panic(err)
	}
	return decoded
}

func asJSON(t tree) []byte {
	raw, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	return raw
}
