package kube

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

func object(namespace, name, version string, labels ...string) engine.Object {
	o := engine.Object{Namespace: namespace, Name: name, ResourceVersion: version, Labels: map[string]string{}}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		o.Labels[key] = value
	}
	return o
}

func names(objects []engine.Object) string {
	var all []string
	for _, o := range objects {
		all = append(all, o.Namespace+"/"+o.Name+"@"+o.ResourceVersion)
	}
	return strings.Join(all, " ")
}

// What this process has written is never replaced by what was there before, in whatever order the two arrive.
func TestShelfKeepsTheLaterState(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(*shelf) // what the API server says after apps/demo was written as version 20
		want string
	}{
		{"an older change", func(s *shelf) { s.put(object("apps", "demo", "9")) }, "apps/demo@20"},
		{"a later change", func(s *shelf) { s.put(object("apps", "demo", "100")) }, "apps/demo@100"},
		{"an older list with it", func(s *shelf) { s.replace([]engine.Object{object("apps", "demo", "9")}, "10") }, "apps/demo@20"},
		{"an older list without it", func(s *shelf) { s.replace(nil, "10") }, "apps/demo@20"},
		{"a later list without it", func(s *shelf) { s.replace(nil, "100") }, ""},
		{"a later list with another", func(s *shelf) { s.replace([]engine.Object{object("apps", "other", "9")}, "100") }, "apps/other@9"},
		{"the deletion of an older one of that name", func(s *shelf) { s.remove("apps", "demo", "9") }, "apps/demo@20"},
		{"its deletion", func(s *shelf) { s.remove("apps", "demo", "100") }, ""},
		{"its absence, as of before there was one", func(s *shelf) { s.remove("apps", "demo", "0") }, "apps/demo@20"},
		{"versions that are no numbers, the last of which counts", func(s *shelf) { s.put(object("apps", "demo", "a9")) }, "apps/demo@a9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newShelf()
			s.put(object("apps", "demo", "20"))
			tt.do(s)
			if got := names(s.selected("", labels.Everything())); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestShelfSelects(t *testing.T) {
	s := newShelf()
	for _, o := range []engine.Object{
		object("apps", "b", "1", "app=demo", "env=prod"), object("apps", "a", "2", "app=demo"), object("apps", "c", "3", "env=test"),
		object("mesh", "a", "4", "app=demo", "env=prod"),
	} {
		s.put(o)
	}
	for _, tt := range []struct{ namespace, selector, want string }{
		{"apps", "app=demo", "apps/a@2 apps/b@1"},
		{"apps", "app=demo,env=prod", "apps/b@1"},
		{"apps", "app=demo,!env", "apps/a@2"},
		{"apps", "env", "apps/b@1 apps/c@3"},
		{"apps", "env in (test)", "apps/c@3"},
		{"apps", "", "apps/a@2 apps/b@1 apps/c@3"},
		{"", "app=demo", "apps/a@2 apps/b@1 mesh/a@4"},
		{"none", "app=demo", ""},
	} {
		t.Run(tt.namespace+" "+tt.selector, func(t *testing.T) {
			selector, err := labels.Parse(tt.selector)
			if err != nil {
				t.Fatal(err)
			}
			if got := names(s.selected(tt.namespace, selector)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// An index knows what was there before it was first asked for, and what comes later.
func TestShelfFindsByIndex(t *testing.T) {
	s := newShelf()
	letters := engine.Index{Name: "letters", Keys: func(o engine.Object) []string { return strings.Split(o.Name, "") }}
	s.put(object("apps", "abc", "1"))
	s.put(object("mesh", "cd", "2"))
	if got := names(s.found("", letters, []string{"c"})); got != "apps/abc@1 mesh/cd@2" {
		t.Errorf("by c: %q", got)
	}
	s.put(object("apps", "ae", "3"))
	s.remove("mesh", "cd", "9")
	if got := names(s.found("", letters, []string{"c", "e", "a"})); got != "apps/abc@1 apps/ae@3" {
		t.Errorf("by c, e or a: %q", got)
	}
	if got := names(s.found("mesh", letters, []string{"a"})); got != "" {
		t.Errorf("by a in another namespace: %q", got)
	}
}

// What is remembered of an object is smaller, and plans the same: fields and annotations are still there or not.
func TestTrim(t *testing.T) {
	for _, tt := range []struct{ name, raw, want string }{
		{"managed fields", `{"metadata":{"name":"a","managedFields":[{"manager":"x"}]},"spec":{"future":9007199254740993}}`,
			`{"metadata":{"name":"a"},"spec":{"future":9007199254740993}}`},
		{"the copy of kubectl apply", `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","b":"c"},"name":"a"}}`,
			`{"metadata":{"annotations":{"b":"c","kubectl.kubernetes.io/last-applied-configuration":""},"name":"a"}}`},
		{"annotations of others", `{"metadata":{"annotations":{"b":"c"},"name":"a"}}`, `{"metadata":{"annotations":{"b":"c"},"name":"a"}}`},
		{"no annotations", `{"metadata":{"name":"a"},"status":{"x":1}}`, `{"metadata":{"name":"a"},"status":{"x":1}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := trim(events, []byte(tt.raw))
			if err != nil || string(o.JSON) != tt.want {
				t.Errorf("got %s, %v; want %s", o.JSON, err, tt.want)
			}
		})
	}
	o, err := trim(services, []byte(`{"metadata":{"name":"a"},"spec":{"ports":[]},"status":{"loadBalancer":{}}}`))
	if want := `{"metadata":{"name":"a"},"spec":{"ports":[]}}`; err != nil || string(o.JSON) != want {
		t.Errorf("Service: got %s, %v; want %s", o.JSON, err, want)
	}
}
