package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Env names an environment variable that tells Run what to do: "off" starts no bed, so that tests which need one are
// skipped; "required" makes missing assets a failure. Otherwise tests are skipped for want of assets only.
const Env = "TESTBED"

// TB is what For needs of *testing.T and *testing.B.
type TB interface {
	Helper()
	Context() context.Context
	Name() string
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Run is for TestMain: it starts a bed, hands it to tests, stops it, and returns the exit code. Where there is none the bed
// is nil, and For skips; see Env.
//
//	func TestMain(m *testing.M) {
//		os.Exit(testbed.Run(options, func(b *testbed.Bed) int { bed = b; return m.Run() }))
//	}
func Run(o Options, tests func(*Bed) int) int {
	if os.Getenv(Env) == "off" {
		return tests(nil)
	}
	bed, err := Start(context.Background(), o)
	if errors.Is(err, ErrNoAssets) && os.Getenv(Env) != "required" {
		fmt.Fprintf(os.Stderr, "testbed: %v; tests that need it are skipped\n", err)
		return tests(nil)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "testbed: %v\n", err)
		return 1
	}
	code := tests(bed)
	if err := bed.Stop(); err != nil {
		fmt.Fprintf(os.Stderr, "testbed: %v\n", err)
		return max(code, 1)
	}
	return code
}

// RunWithPlugin is Run, and hands the tests the path of the plugin as well, which it builds; empty: there is no bed.
func RunWithPlugin(o Options, tests func(bed *Bed, binary string) int) int {
	return Run(o, func(b *Bed) int {
		if b == nil {
			return tests(nil, "")
		}
		binary := filepath.Join(b.Dir, "plugin")
		if err := Build(context.Background(), binary); err != nil {
			fmt.Fprintf(os.Stderr, "testbed: %v\n", err)
			return 1
		}
		return tests(b, binary)
	})
}

// Scope is a bed seen from one test: names are those of its own namespace, and errors end the test.
type Scope struct {
	Bed       *Bed
	Namespace string
	t         TB
}

// For gives a test a namespace of its own, named after it. It skips the test if there is no bed.
func (b *Bed) For(t TB) *Scope {
	t.Helper()
	if b == nil {
		t.Skipf("no test bed: switched off, or not built; run `make assets`")
	}
	ns, err := b.NewNamespace(t.Context(), namespacePrefix(t.Name()))
	if err != nil {
		t.Fatalf("namespace: %v", err)
	}
	return &Scope{Bed: b, Namespace: ns, t: t}
}

var notInNames = regexp.MustCompile("[^a-z0-9]+")

func namespacePrefix(test string) string {
	name := notInNames.ReplaceAllString(strings.ToLower(strings.TrimPrefix(test, "Test")), "-")
	return strings.Trim(name[:min(len(name), 40)], "-")
}

// Key is the full name of something in the test's namespace.
func (s *Scope) Key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: s.Namespace, Name: name}
}

// check ends the test if there is an error.
func (s *Scope) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%v", err)
	}
}

// Apply is Bed.Apply. NAMESPACE in the text stands for the test's namespace.
func (s *Scope) Apply(text string) []*unstructured.Unstructured {
	s.t.Helper()
	objects, err := s.Bed.Apply(s.t.Context(), s.Namespace, strings.ReplaceAll(text, "NAMESPACE", s.Namespace))
	s.check(err)
	return objects
}

// Get reads any object of the test's namespace.
func (s *Scope) Get(apiVersion, kind, name string) *unstructured.Unstructured {
	s.t.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	s.check(s.Bed.Client.Get(s.t.Context(), s.Key(name), obj))
	return obj
}

// WaitFor is Bed.WaitFor.
func (s *Scope) WaitFor(rollout string, conditions ...Condition) *v1alpha1.Rollout {
	s.t.Helper()
	ro, err := s.Bed.WaitFor(s.t.Context(), s.Key(rollout), conditions...)
	s.check(err)
	return ro
}

// WaitUntil is Bed.WaitUntil.
func (s *Scope) WaitUntil(what string, met func(context.Context) (bool, error)) {
	s.t.Helper()
	s.check(s.Bed.WaitUntil(s.t.Context(), what, met))
}

// WaitForEvent is Bed.WaitForEvent. It returns the event's message.
func (s *Scope) WaitForEvent(rollout, reason, text string) string {
	s.t.Helper()
	event, err := s.Bed.WaitForEvent(s.t.Context(), s.Key(rollout), reason, text)
	s.check(err)
	return event.Message
}

// SetImage is Bed.SetImage.
func (s *Scope) SetImage(rollout, image string) {
	s.t.Helper()
	s.check(s.Bed.SetImage(s.t.Context(), s.Key(rollout), image))
}

// EditRollout is Bed.EditRollout.
func (s *Scope) EditRollout(rollout string, edit func(*v1alpha1.Rollout)) {
	s.t.Helper()
	s.check(s.Bed.EditRollout(s.t.Context(), s.Key(rollout), edit))
}

// Promote is Bed.Promote.
func (s *Scope) Promote(rollout string) {
	s.t.Helper()
	s.check(s.Bed.Promote(s.t.Context(), s.Key(rollout)))
}

// PromoteFull is Bed.PromoteFull.
func (s *Scope) PromoteFull(rollout string) {
	s.t.Helper()
	s.check(s.Bed.PromoteFull(s.t.Context(), s.Key(rollout)))
}

// Abort is Bed.Abort.
func (s *Scope) Abort(rollout string) {
	s.t.Helper()
	s.check(s.Bed.Abort(s.t.Context(), s.Key(rollout)))
}

// Retry is Bed.Retry.
func (s *Scope) Retry(rollout string) {
	s.t.Helper()
	s.check(s.Bed.Retry(s.t.Context(), s.Key(rollout)))
}

// SetPods is Pods.Set for pods of the test's namespace.
func (s *Scope) SetPods(image string, state PodState) (undo func()) {
	return s.Bed.Pods.Set(PodsOf{Namespace: s.Namespace, Image: image}, state)
}
