package plugin_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/memory"
)

// table is a RouteTable in the cluster beside the one that its owners believe they have, without what the plugin did.
type table struct {
	name, host string
	mine       tree
	cluster    *memory.Cluster
	// lost says that the plugin's memory of how weights were spelt may be lost.
	lost bool

	liveView, mineView *view
}

// drawTable draws a table, which may list web's canary if that is no version of the same Service. Both Rollouts have a route
// there that is labelled for their selectors.
func drawTable(t *rapid.T, cluster *memory.Cluster, name string, byHash bool) *table {
	spec := tree{"hosts": []any{name + ".example.com"}, "future": tree{"id": json.Number("9007199254740993"), "nothing": nil}}
	hasDefault := rapid.Bool().Draw(t, "default")
	if hasDefault {
		spec["defaultDestination"] = tree{"ref": tree{"name": "web"}}
	}
	forwards := []string{"web", "web 60, other 40", "web 30, api 70"}
	if !byHash {
		forwards = append(forwards, "web, web-canary", "web 100, web-canary 0")
	}
	http := []any{
		drawRoute(t, 0, rapid.SampledFrom(forwards).Draw(t, "forwards"), "main"),
		drawRoute(t, 1, rapid.SampledFrom([]string{"api", "api 96, other 4", "api 50, web 50", "api 100, api-canary 0"}).Draw(t, "forwards"), "main"),
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "routes") {
		forwards := []string{"web", "other", "web 20, other 40, api 40", "api 50, web 30, more 20", "redirect"}
		if hasDefault {
			forwards = append(forwards, "", "[]")
		}
		http = append(http, drawRoute(t, i+2, rapid.SampledFrom(forwards).Draw(t, "forwards"), ""))
	}
	nameAlike(http)
	if first := rapid.IntRange(0, len(http)-1).Draw(t, "first"); first > 0 { // any order will do
		http = append(http[first:], http[:first]...)
	}
	spec["http"] = http
	if rapid.Bool().Draw(t, "tcp") {
		spec["tcp"] = []any{tree{"matchers": []any{tree{"port": 9000}}, "forwardTo": tree{"destinations": destinations("web 50, api 50")}}}
	}
	mine := tree{"metadata": tree{"namespace": "apps", "name": name, "labels": tree{"app": "shop"}}, "spec": spec}
	tb := &table{name: name, host: name + ".example.com", mine: asTree(asJSON(mine)), cluster: cluster}
	cluster.Put(asJSON(mine))
	return tb
}

// matchers of routes; none is for all requests.
var matchers = []string{
	`[{"uri":{"prefix":"/a"}}]`, `[{"uri":{"prefix":"/b"}}]`, `[{"uri":{"prefix":"/a"},"headers":[{"name":"who","value":"a"}]}]`,
	`[{"uri":{"exact":"/b"}},{"uri":{"prefix":"/c"},"method":"GET"}]`, `[{"headers":[{"name":"team","value":"x"}]}]`, "",
}

// drawRoute draws an http route that forwards so, or to the default destination, or not at all.
func drawRoute(t *rapid.T, index int, forwards, part string) tree {
	route := tree{"future": json.Number("9007199254740993"), "labels": tree{"id": fmt.Sprint(index)}}
	if part != "" {
		route["labels"].(tree)["part"] = part
	}
	if rapid.Bool().Draw(t, "named") {
		route["name"] = fmt.Sprint("r", index)
	}
	if matchers := rapid.SampledFrom(matchers).Draw(t, "matchers"); matchers != "" {
		route["matchers"] = asTree([]byte(`{"matchers":` + matchers + "}"))["matchers"]
	}
	switch forwards {
	case "redirect":
		route["redirect"] = tree{"hostRedirect": "b.example.com"}
	case "":
		route["forwardTo"] = tree{"future": "/"}
	case "[]":
		route["forwardTo"] = tree{"destinations": []any{}}
	default:
		route["forwardTo"] = tree{"destinations": destinations(forwards), "future": "/"}
	}
	return route
}

// nameAlike names all but one of the routes that are alike.
func nameAlike(routes []any) {
	seen := map[string]bool{}
	for i, r := range routes {
		alike := fmt.Sprint(r.(tree)["matchers"])
		if _, named := r.(tree)["name"]; !named && seen[alike] {
			r.(tree)["name"] = fmt.Sprint("r", i)
		}
		seen[alike] = true
	}
}

// destinations returns a list of destinations, given as "web 60, other 40".
func destinations(text string) []any {
	var list []any
	for one := range strings.SplitSeq(text, ", ") {
		name, weight, given := strings.Cut(one, " ")
		d := tree{"ref": tree{"name": name}, "future": json.Number("9007199254740993")}
		if given {
			d["weight"] = json.Number(weight)
		}
		list = append(list, d)
	}
	return list
}

func (tb *table) object() engine.Object {
	return tb.cluster.Objects[tb.cluster.Index("apps", tb.name)]
}

// view is a table as people and as the gateway see it.
type view struct {
	version string
	tree    tree
	served  *gateway.Table
	// plain are the http routes that the plugin did not add, and after them the tcp routes.
	plain []*gateway.Route
	// checked says that what holds at any time was found to hold for this view.
	checked bool
}

func newView(t *rapid.T, object tree, version string) *view {
	served, err := gateway.Decode(&unstructured.Unstructured{Object: object})
	if err != nil {
		t.Fatal(err)
	}
	v := &view{version: version, tree: object, served: served}
	for _, r := range served.HTTP {
		if r.Labels[engine.OwnerLabel] == "" {
			v.plain = append(v.plain, r)
		}
	}
	v.plain = append(v.plain, served.TCP...)
	return v
}

// live is the table in the cluster.
func (tb *table) live(t *rapid.T) *view {
	if o := tb.object(); tb.liveView == nil || tb.liveView.version != o.ResourceVersion {
		tb.liveView = newView(t, asTree(o.JSON), o.ResourceVersion)
	}
	return tb.liveView
}

// theirs is the table as its owners have it.
func (tb *table) theirs(t *rapid.T) *view {
	if tb.mineView == nil {
		tb.mineView = newView(t, tb.mine, "")
	}
	return tb.mineView
}

// change changes the table in the cluster.
func (tb *table) change(do func(object tree)) {
	live := asTree(tb.object().JSON)
	do(live)
	tb.cluster.Put(asJSON(live))
}

// edit changes the table in the cluster and the owners' one, as a person would.
func (tb *table) edit(do func(spec tree)) {
	tb.change(func(object tree) { do(object["spec"].(tree)) })
	do(tb.mine["spec"].(tree))
	tb.mineView = nil
}

// loseAnnotations deletes all annotations in the cluster.
func (tb *table) loseAnnotations() {
	tb.change(func(object tree) { delete(object["metadata"].(tree), "annotations") })
	tb.lost = true
}

// revert makes the table what its owners have; annotations may stay.
func (tb *table) revert(annotations bool) {
	tb.change(func(object tree) { object["spec"] = tb.mine["spec"] })
	if annotations {
		tb.loseAnnotations()
		tb.lost = false
	}
}

// drawEdit lets somebody change what is not the plugin's.
func drawEdit(t *rapid.T, tb *table) {
	value := rapid.IntRange(0, 9).Draw(t, "value")
	plain := owned(routes(tb.mine["spec"].(tree), "http"))
	n := rapid.IntRange(0, len(plain)-1).Draw(t, "route")
	route := func(spec tree) tree { return owned(routes(spec, "http"))[n] }
	switch rapid.SampledFrom([]string{"field", "rewrite", "label", "add"}).Draw(t, "what") {
	case "field":
		tb.edit(func(spec tree) { spec["virtualServiceAnnotations"] = tree{"a/b": fmt.Sprint(value)} })
	case "rewrite":
		if plain[n]["forwardTo"] != nil {
			tb.edit(func(spec tree) { route(spec)["forwardTo"].(tree)["hostRewrite"] = fmt.Sprint(value) })
		}
	case "label":
		tb.edit(func(spec tree) { route(spec)["labels"].(tree)["team"] = fmt.Sprint(value) })
	case "add":
		if len(plain) > 7 {
			return
		}
		added := tree{"name": fmt.Sprint("a", value, len(plain)), "labels": tree{"id": "a"}, "directResponse": tree{"status": json.Number("404")},
			"matchers": []any{tree{"uri": tree{"exact": "/a"}, "headers": []any{tree{"name": "who", "value": "ab"}}}}}
		tb.edit(func(spec tree) {
			list := spec["http"].([]any)
			at := slices.IndexFunc(list, func(r any) bool { return fmt.Sprint(r) == fmt.Sprint(route(spec)) })
			spec["http"] = slices.Insert(slices.Clone(list), at, any(added))
		})
	}
}
