package plugin

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// warn tells those who look at the Rollout, and those who look at the log, all that a call has to say for one reason. In the
// log the same is said once, and at debug for as long as it stays. No texts: nothing is to be said any more.
func (r *Router) warn(verb string, ro *v1alpha1.Rollout, reason string, texts ...string) {
	thing := strings.Join([]string{verb, reason, r.owner(ro)}, " ")
	if len(texts) == 0 {
		r.said.Over(thing)
		return
	}
	level := r.said.Level(hclog.Warn, thing, strings.Join(texts, "\n"))
	r.mu.Lock()
	recorder := r.recorder
	r.mu.Unlock()
	for _, text := range texts {
		r.options.Log.Log(level, messages[reason], "rollout", r.owner(ro), "call", verb, "event", reason, "reason", text)
		if recorder != nil {
			recorder.Event(reference(ro), corev1.EventTypeWarning, reason, text)
		}
	}
}

// messages are what the log says beside an Event's text.
var messages = map[string]string{
	ReasonError:       "managed routes are not as they should be",
	ReasonNotVerified: "weight is not verified",
	ReasonWarning:     "something is doubtful",
}

// unnamed tells of experiments that get nothing, because their Service is not named. Argo Rollouts can forget the name in an
// Experiment's status: a list that was made from what was known a moment earlier replaces the newer one.
func unnamed(additional []v1alpha1.WeightDestination) []string {
	var texts []string
	for _, a := range additional {
		if a.ServiceName == "" && a.Weight > 0 {
			texts = append(texts, fmt.Sprintf("the Experiment's status names no Service for a weight of %d, which stays with stable; "+
				"if this lasts, delete that template's Service and annotate the Experiment, so that it is made anew", a.Weight))
		}
	}
	return texts
}

// owner names a Rollout as the rest of the log does.
func (r *Router) owner(ro *v1alpha1.Rollout) string {
	return intent.Owner(ro, r.options.Bounds.Cluster)
}

// guard turns a panic into err, so that what one Rollout brings about does not end the process for all of them.
func (r *Router) guard(verb string, ro *v1alpha1.Rollout, err *error) {
	thing := strings.Join([]string{verb, "panic", r.owner(ro)}, " ")
	cause := recover()
	if cause == nil {
		r.said.Over(thing)
		return
	}
	stack := string(debug.Stack())
	if elsewhere, found := cause.(engine.Panic); found {
		cause, stack = elsewhere.Cause, elsewhere.Stack
	}
	text := fmt.Sprint(cause)
	r.options.Log.Log(r.said.Level(hclog.Error, thing, text), "panic", "rollout", r.owner(ro), "call", verb, "reason", text, "stack", stack)
	*err = fmt.Errorf("the plugin has a bug that this Rollout brings out (%s); its log has the stack", text)
}
