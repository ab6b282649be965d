package preview

import (
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The engine writes several objects at once. What it made is listed in the same order every time.
func TestClusterServesSeveralAtOnce(t *testing.T) {
	c, policies := NewCluster(&Files{}), schema.GroupVersionResource{Resource: "mirrorpolicies"}
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			name := fmt.Sprintf("policy-%d", 7-n)
			if _, err := c.Create(t.Context(), policies, "", fmt.Appendf(nil, `{"metadata": {"name": %q, "namespace": "apps"}}`, name)); err != nil {
				t.Error(err)
			}
			if _, err := c.List(t.Context(), policies, "apps", labels.Everything()); err != nil {
				t.Error(err)
			}
			if n == 0 {
				_ = c.Delete(t.Context(), policies, "apps", name)
			}
		})
	}
	group.Wait()
	listed, err := c.List(t.Context(), policies, "", labels.Everything())
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, o := range listed {
		got += o.Name + " "
	}
	if want := "policy-0 policy-1 policy-2 policy-3 policy-4 policy-5 policy-6 "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
