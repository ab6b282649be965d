package plugin_test

import (
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/rollout/trafficrouting"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/split"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
)

// release is a Rollout with its block.
type release struct {
	*controlled
	// table is the name of the selected table; "" for both. main says that only routes labelled as main are selected.
	table string
	main  bool
	// byHash says that the Rollout's versions are subsets of one Service.
	byHash bool
	// clearedAt is the version at which this process of the plugin last removed the managed routes.
	clearedAt int
	// changed says that, since a weight was last set and noted in the status, the Rollout came to name other routes, services
	// or steps, or the controller ended in between; forgotten says that annotations were lost. Both at once are too much:
	// nothing tells then whose an entry under another name is, or that there was a mirror.
	changed, forgotten bool
}

// own are the names of every destination that the Rollout may ever call its own.
func (r *release) own() []string {
	if r.byHash {
		return []string{r.ro.Name, r.ro.Name + "-exp"}
	}
	return []string{r.ro.Name, r.ro.Name + "-canary", r.ro.Name + "-canary2", r.ro.Name + "-exp"}
}

// owns reports whether a destination is one of them, given as its version.
func (r *release) owns(version string) bool {
	name, _, _ := strings.Cut(version, "@")
	return slices.Contains(r.own(), name)
}

// versions returns what the stable and the canary destination are by now.
func (r *release) versions() (stable, canary string) {
	if !r.byHash {
		return trafficrouting.GetStableAndCanaryServices(r.ro, true)
	}
	hash := r.ro.Status.CurrentPodHash
	if r.isBacking() {
		hash = r.ro.Status.Canary.Weights.Canary.PodTemplateHash
	}
	return r.ro.Name + "@" + r.ro.Status.StableRS, r.ro.Name + "@" + hash
}

func drawStrategy(t *rapid.T, name, kind string) *v1alpha1.CanaryStrategy {
	canary := &v1alpha1.CanaryStrategy{
		StableService: name, CanaryService: name + "-canary", DynamicStableScale: rapid.IntRange(0, 3).Draw(t, "dynamicStableScale") == 0,
		TrafficRouting: &v1alpha1.RolloutTrafficRouting{ManagedRoutes: []v1alpha1.MangedRoutes{{Name: "first"}, {Name: "second"}}},
	}
	if rapid.IntRange(0, 3).Draw(t, "maxTrafficWeight") == 0 {
		canary.TrafficRouting.MaxTrafficWeight = new(int32(1000))
	}
	if kind != "services" {
		canary.StableService, canary.CanaryService = "", ""
	}
	if kind == "ping-pong" {
		canary.PingPong = &v1alpha1.PingPongSpec{PingService: name, PongService: name + "-canary"}
	}
	canary.Steps = drawSteps(t, ptr.Deref(canary.TrafficRouting.MaxTrafficWeight, 100))
	return canary
}

func drawSteps(t *rapid.T, maxWeight int32) []v1alpha1.CanaryStep {
	n := rapid.SampledFrom([]int{0, 2, 3, 4, 5, 6}).Draw(t, "steps")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) v1alpha1.CanaryStep {
		switch rapid.SampledFrom([]string{"weight", "weight", "pause", "pause", "header", "header", "mirror", "mirror", "scale", "experiment"}).Draw(t, "step") {
		case "weight":
			percent := rapid.SampledFrom([]int32{0, 1, 10, 50, 99, 100}).Draw(t, "weight")
			return v1alpha1.CanaryStep{SetWeight: new(percent * maxWeight / 100)}
		case "pause":
			return v1alpha1.CanaryStep{Pause: &v1alpha1.RolloutPause{}}
		case "scale":
			return v1alpha1.CanaryStep{SetCanaryScale: &v1alpha1.SetCanaryScale{Weight: new(int32(50))}}
		case "experiment":
			return v1alpha1.CanaryStep{Experiment: &v1alpha1.RolloutExperimentStep{Templates: []v1alpha1.RolloutExperimentTemplate{{Name: "exp", Weight: new(maxWeight / 5)}}}}
		case "mirror":
			return v1alpha1.CanaryStep{SetMirrorRoute: &v1alpha1.SetMirrorRoute{
				Name:       rapid.SampledFrom([]string{"first", "second"}).Draw(t, "name"),
				Match:      rapid.SliceOfN(rapid.SampledFrom(routeMatches), 0, 2).Draw(t, "match"),
				Percentage: rapid.SampledFrom([]*int32{nil, new(int32(35))}).Draw(t, "percentage"),
			}}
		default:
			return v1alpha1.CanaryStep{SetHeaderRoute: &v1alpha1.SetHeaderRoute{
				Name:  rapid.SampledFrom([]string{"first", "second"}).Draw(t, "name"),
				Match: rapid.SliceOfN(rapid.SampledFrom(headerMatches), 0, 2).Draw(t, "match"),
			}}
		}
	}), n, n).Draw(t, "steps")
}

var headerMatches = []v1alpha1.HeaderRoutingMatch{
	{HeaderName: "who", HeaderValue: &v1alpha1.StringMatch{Exact: "a"}},
	{HeaderName: "who", HeaderValue: &v1alpha1.StringMatch{Prefix: "a"}},
	{HeaderName: "who", HeaderValue: &v1alpha1.StringMatch{Regex: "b|c"}},
	{HeaderName: "team", HeaderValue: &v1alpha1.StringMatch{Exact: "x"}},
}

var routeMatches = []v1alpha1.RouteMatch{
	{Method: &v1alpha1.StringMatch{Exact: "GET"}},
	{Path: &v1alpha1.StringMatch{Prefix: "/a"}, Headers: map[string]v1alpha1.StringMatch{"who": {Prefix: "a"}}},
	{Path: &v1alpha1.StringMatch{Exact: "/b"}, Method: &v1alpha1.StringMatch{Exact: "POST"}},
}

// selectAnew draws the block's selectors.
func (r *release) selectAnew(t *rapid.T) {
	r.table = rapid.SampledFrom([]string{"", "", "demo", "more"}).Draw(t, "table")
	r.main = rapid.IntRange(0, 2).Draw(t, "main") == 0
	r.setBlock()
}

func (r *release) setBlock() {
	block := tree{"routeTableSelector": tree{"labels": tree{"app": "shop"}}}
	if r.table != "" {
		block["routeTableSelector"] = tree{"name": r.table}
	}
	if r.main {
		block["routeSelector"] = tree{"labels": tree{"part": "main"}}
	}
	if r.byHash {
		block["subsetLabel"], block["stable"] = v1alpha1.DefaultRolloutUniqueLabelKey, tree{"name": r.ro.Name}
	}
	r.canary().TrafficRouting.Plugins = map[string]json.RawMessage{plugin.Names[0]: asJSON(block)}
	r.touch()
}

// isSource reports whether the Rollout selects a route of a table, and the route forwards to it.
func (r *release) isSource(tb *table, route *gateway.Route) bool {
	if r.table != "" && r.table != tb.name || r.main && route.Labels["part"] != "main" {
		return false
	}
	stable, canary := r.versions()
	for version := range route.Spread() {
		if version == stable || version == canary && trafficrouting.IsPingPongEnabled(r.ro) || r.byHash && version == r.ro.Name {
			return true
		}
	}
	return false
}

// needsMemory reports whether a table may hold a pod hash that nothing but the annotation tells of: on a route that is not
// selected.
func (r *release) needsMemory(tb *table) bool {
	return r.byHash && (r.main || r.table != "" && r.table != tb.name)
}

// managed returns the managed routes that the steps up to now ask for, in the order of their precedence.
func (r *release) managed() []managedRoute {
	status := r.ro.Status
	if r.ro.Annotations["rollout.argoproj.io/revision"] == "1" || status.Abort || status.PromoteFull || !r.isUpdating() || r.clearedAt == r.version {
		return nil
	}
	_, index := r.step()
	var managed []managedRoute
	for _, name := range []string{"first", "second"} {
		last := managedRoute{}
		for _, step := range r.canary().Steps[:min(index+1, len(r.canary().Steps))] {
			if step.SetHeaderRoute != nil && step.SetHeaderRoute.Name == name {
				last = managedRoute{name: name, headers: step.SetHeaderRoute.Match}
			}
			if step.SetMirrorRoute != nil && step.SetMirrorRoute.Name == name {
				last = managedRoute{name: name, mirrors: step.SetMirrorRoute.Match, percentage: ptr.Deref(step.SetMirrorRoute.Percentage, 100)}
			}
		}
		if len(last.headers)+len(last.mirrors) > 0 {
			managed = append(managed, last)
		}
	}
	return managed
}

// mirrors reports whether some step mirrors traffic by now.
func (r *release) mirrors() bool {
	return slices.ContainsFunc(r.managed(), func(m managedRoute) bool { return m.mirrors != nil })
}

// managedRoute is a header or a mirror route that is wanted.
type managedRoute struct {
	name       string
	headers    []v1alpha1.HeaderRoutingMatch
	mirrors    []v1alpha1.RouteMatch
	percentage int32
}

// takes reports whether a request fits one of the route's matches.
func (m managedRoute) takes(req *http.Request) bool {
	byHeader := func(match v1alpha1.HeaderRoutingMatch) bool {
		return fits(match.HeaderValue, req.Header.Get(match.HeaderName))
	}
	byAll := func(match v1alpha1.RouteMatch) bool {
		for name, value := range match.Headers {
			if !fits(&value, req.Header.Get(name)) {
				return false
			}
		}
		return fits(match.Method, req.Method) && fits(match.Path, req.URL.Path)
	}
	return slices.ContainsFunc(m.headers, byHeader) || slices.ContainsFunc(m.mirrors, byAll)
}

// fits reports whether a text is as a match wants it; nil wants any.
func fits(match *v1alpha1.StringMatch, text string) bool {
	switch {
	case match == nil:
		return true
	case match.Exact != "":
		return text == match.Exact
	case match.Prefix != "":
		return strings.HasPrefix(text, match.Prefix)
	default:
		return regexp.MustCompile("^(?:" + match.Regex + ")$").MatchString(text)
	}
}

// manages reports whether a managed route's label names the Rollout.
func (r *release) manages(label string) bool { return strings.HasPrefix(label, r.ro.Name+"-") }

// share returns what each of the Rollout's destinations is to get of a route.
func (r *release) share(t *rapid.T, theirs *gateway.Route, result reconciled) map[string]int {
	owned := 0.0
	for version, percent := range theirs.Spread() {
		if r.owns(version) {
			owned += percent
		}
	}
	stable, canary := r.versions()
	names, shares := []string{stable, canary}, []int{int(r.max() - result.weight), int(result.weight)}
	for _, a := range result.additional {
		if a.ServiceName != "" {
			names, shares = append(names, a.ServiceName), append(shares, int(a.Weight))
			shares[0] -= int(a.Weight)
		}
	}
	parts, err := split.Divide(int(math.Round(owned)), shares)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for i, name := range names {
		want[name] += parts[i]
	}
	return want
}
