package e2e

import (
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// A table in one cluster, called east, carries the traffic of Rollouts in two, which have the same name. Each cluster has a
// controller of its own; the plugin of the other one, west, reaches the table by a kubeconfig. What belongs to a Rollout
// stays with its own cluster: the Services, whose ports differ here, and the Events. East's gateway knows the versions
// behind its own Services, and of west's only the Services' names.
func TestTwoClustersOnOneTable(t *testing.T) {
	t.Parallel()
	s := setup{plugin: inEast, tables: `
apiVersion: networking.gloo.solo.io/v2
kind: RouteTable
metadata: {name: demo}
spec:
  hosts: [NAMESPACE.example.com]
  http:
    - name: demo
      forwardTo:
        destinations:
          - {ref: {name: web, cluster: east}, port: {number: 8080}, weight: 60}
          - {ref: {name: web, cluster: west}, port: {number: 9090}, weight: 40}
`}
	d := s.begin(t)
	w := west{t, startWest(t, d.Namespace), d.Key(d.name)}
	w.apply(strings.ReplaceAll(file(t, "services.yaml"), "8080", "9090"))
	s.plugin, s.edit = inWest, managesRoutes
	s.steps = append(stepsTo(10), append([]v1alpha1.CanaryStep{headerStep("beta", "x-beta", "yes")}, stepsTo(50)...)...)
	w.apply(s.rollout(t))
	w.waitFor(testbed.Healthy)

	d.release("web:2")
	w.succeeds(w.bed.SetImage(t.Context(), w.rollout, "web:2"))
	d.reaches(10)
	w.waitFor(testbed.PausedAt(1), testbed.CanaryWeight(10))
	d.isServed()
	d.serves("/", shares{"web:1": 54, "web:2": 6, "web": 36, "web-canary": 4})

	accept := gw.Reject(d.Namespace, "demo", "not to my taste")
	w.succeeds(w.bed.Promote(t.Context(), w.rollout))
	_, err := w.bed.WaitForEvent(t.Context(), w.rollout, "WeightNotVerified", "not to my taste")
	w.succeeds(err)
	accept()
	w.waitFor(testbed.PausedAt(4), testbed.CanaryWeight(50))
	d.isServed()
	d.serves("/", shares{"web:1": 54, "web:2": 6, "web": 20, "web-canary": 20})
	d.servesWith(20, "/", "x-beta", "yes", shares{"web-canary": 100})

	d.promote()
	d.reaches(50)
	w.succeeds(w.bed.Abort(t.Context(), w.rollout))
	w.waitFor(testbed.Aborted, testbed.CanaryWeight(0))
	d.isServed()
	d.serves("/", shares{"web:1": 30, "web:2": 30, "web": 40})
	d.promote()
	d.completes("web:2")
}

// west is the other cluster, seen from one test.
type west struct {
	t       *testing.T
	bed     *testbed.Bed
	rollout client.ObjectKey
}

// startWest starts another cluster, whose plugin is registered to find tables in the first one. It has a namespace of this
// name.
func startWest(t *testing.T, namespace string) *testbed.Bed {
	t.Helper()
	b, err := testbed.Start(t.Context(), testbed.Options{
		Plugins: []testbed.Plugin{{Name: inWest, Binary: binary, Args: []string{"--kubeconfig", bed.Controller.Kubeconfig, "--cluster", "west"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := b.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (w west) succeeds(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w west) apply(text string) {
	w.t.Helper()
	_, err := w.bed.Apply(w.t.Context(), w.rollout.Namespace, text)
	w.succeeds(err)
}

func (w west) waitFor(conditions ...testbed.Condition) {
	w.t.Helper()
	_, err := w.bed.WaitFor(w.t.Context(), w.rollout, conditions...)
	w.succeeds(err)
}
