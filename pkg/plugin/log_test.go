package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/logs"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/memory"
)

// journal is a log that can be looked at.
type journal struct{ bytes.Buffer }

// lines returns what has been logged since it was last asked, from info on and without the words in brackets.
func (j *journal) lines() []string {
	var lines []string
	for line := range strings.Lines(j.String()) {
		if !strings.HasPrefix(line, "[DEBUG]") && !strings.HasPrefix(line, " ") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	j.Reset()
	return lines
}

func (j *journal) router(t *testing.T, cluster engine.Cluster) *plugin.Router {
	t.Helper()
	log, err := logs.New(j, logs.Text, "debug")
	if err != nil {
		t.Fatal(err)
	}
	return plugin.OnCluster(cluster, log)
}

func want(t *testing.T, when string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s, the log has\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// listing is a table whose one route lists these destinations, accepted by Gloo.
func listing(destinations string) []byte {
	return fmt.Appendf(nil, `{"metadata":{"namespace":"apps","name":"demo"},"spec":{"http":[{"name":"one","forwardTo":{"destinations":[%s]}}]},`+
		`"status":{"common":{"State":{"approval":"ACCEPTED"}}}}`, destinations)
}

const webAndCanary = `{"ref":{"name":"web"}},{"ref":{"name":"web-canary"}}`

func TestLogTellsOfChangesAlone(t *testing.T) {
	c, j := &memory.Cluster{}, &journal{}
	c.Put(listing(webAndCanary))
	r, ro := j.router(t, c), rollout(t, "solo-io/glooplatform", "routeTableSelector: {name: demo}\nverify: Spec")
	reconcile := func(weight int32) []string {
		if err := r.SetWeight(ro, weight, nil); err.HasError() {
			t.Fatal(err)
		}
		if _, err := r.VerifyWeight(ro, weight, nil); err.HasError() {
			t.Fatal(err)
		}
		return j.lines()
	}
	changed := `[INFO]  weight changed: rollout=apps/web object="RouteTable apps/demo" route="http[0] \"one\"" destination="Service apps/`
	want(t, "at 10", reconcile(10), changed+`web" from=50 to=90`, changed+`web-canary" from=50 to=10`)
	want(t, "at 10 again", reconcile(10))
	want(t, "at 20", reconcile(20), changed+`web" from=90 to=80`, changed+`web-canary" from=10 to=20`)
	if err := r.SetWeight(ro, 0, nil); err.HasError() {
		t.Fatal(err)
	}
	j.lines()
	want(t, "at rest", reconcile(0))
}

func TestLogSaysOnceWhatStays(t *testing.T) {
	c, j := &memory.Cluster{}, &journal{}
	c.Put(listing(webAndCanary))
	r, ro := j.router(t, c), rollout(t, "solo-io/glooplatform", "routeTableSelector: {name: demo}\nverify: Spec")
	set := func(weight int32) {
		if err := r.SetWeight(ro, weight, nil); err.HasError() {
			t.Fatal(err)
		}
		j.lines()
	}
	verify := func(weight int32) []string {
		if _, err := r.VerifyWeight(ro, weight, nil); err.HasError() {
			t.Fatal(err)
		}
		return j.lines()
	}
	warning := `[WARN]  weight is not verified: rollout=apps/web call=VerifyWeight event=WeightNotVerified reason="`
	notAsSet := warning + `RouteTable apps/demo: it is not as it was set"`
	set(10)
	want(t, "when another weight is asked for", verify(20), notAsSet)
	want(t, "still", verify(20))
	c.Put(listing(`{"ref":{"name":"shop"}}`))
	if got := verify(20); len(got) != 1 || !strings.HasPrefix(got[0], warning) || got[0] == notAsSet {
		t.Errorf("when another thing is wrong, the log has %q", got)
	}
	c.Put(listing(webAndCanary))
	set(10)
	want(t, "when all is well", verify(10))
	want(t, "when it is wrong again", verify(20), notAsSet)
	want(t, "when all is well again", verify(10))
	want(t, "when it is wrong as before", verify(20), notAsSet)
}

// Argo Rollouts can forget which Service an experiment has. Its share is stable's then, and somebody has to be told.
func TestExperimentWithoutService(t *testing.T) {
	c, j := &memory.Cluster{}, &journal{}
	c.Put(listing(webAndCanary))
	r, ro := j.router(t, c), rollout(t, "solo-io/glooplatform", "routeTableSelector: {name: demo}\nverify: Spec")
	forgotten := []v1alpha1.WeightDestination{{Weight: 20}, {Weight: 0}}
	if err := r.SetWeight(ro, 10, forgotten); err.HasError() {
		t.Fatal(err)
	}
	j.lines()
	answer, _ := r.VerifyWeight(ro, 10, forgotten)
	if answer != types.Verified {
		t.Errorf("VerifyWeight = %v, want verified", answer)
	}
	want(t, "while the Service is not named", j.lines(), `[WARN]  something is doubtful: rollout=apps/web call=VerifyWeight event=RouteWarning `+
		`reason="the Experiment's status names no Service for a weight of 20, which stays with stable; `+
		`if this lasts, delete that template's Service and annotate the Experiment, so that it is made anew"`)
}

// panicky is a cluster that brings a bug out.
type panicky struct{ engine.Cluster }

func (panicky) Get(context.Context, schema.GroupVersionResource, string, string) (engine.Object, error) {
	panic("a bug")
}

// A panic in a call, or in one of several objects that it works on, is logged with its stack, once.
func TestLogHasTheStackOfAPanic(t *testing.T) {
	out := bytes.Buffer{}
	log, err := logs.New(&out, logs.Hclog, "info")
	if err != nil {
		t.Fatal(err)
	}
	r, ro := plugin.OnCluster(panicky{}, log), rollout(t, "solo-io/glooplatform", "routeTableSelector: {name: demo}")
	for range 2 {
		if err := r.SetWeight(ro, 10, nil); err.ErrorString != "the plugin has a bug that this Rollout brings out (a bug); its log has the stack" {
			t.Error(err)
		}
	}
	line := map[string]any{}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil { // as it would if there were two
		t.Fatalf("%v in\n%s", err, out.String())
	}
	stack, _ := line["stack"].(string)
	if line["@level"] != "error" || line["@message"] != "panic" || line["rollout"] != "apps/web" || line["reason"] != "a bug" || !strings.Contains(stack, "panicky.Get") {
		t.Errorf("got %v", line)
	}
}

// What a Rollout's warnings are about is told apart by Rollout.
func TestLogTellsRolloutsApart(t *testing.T) {
	j := &journal{}
	r := j.router(t, unreachable{})
	one := rollout(t, "solo-io/glooplatform", "routeTableSelector: {name: demo}")
	other := one.DeepCopy()
	other.Name = "shop"
	for _, ro := range []*v1alpha1.Rollout{one, other, one, other} {
		if _, err := r.VerifyWeight(ro, 10, nil); err.HasError() {
			t.Error(err)
		}
	}
	if got := j.lines(); len(got) != 2 || !strings.Contains(got[0], "rollout=apps/web") || !strings.Contains(got[1], "rollout=apps/shop") {
		t.Errorf("the log has %q", got)
	}
}
