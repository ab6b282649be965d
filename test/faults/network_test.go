package faults

import (
	"context"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// In the middle of a release nobody answers at the API server's address. The calls say so, and what is served stays; then the
// release goes on.
func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	d := setup{args: []string{"--call-timeout", size("1s", "15s")}}.begin(t)
	d.reaches(at10)
	d.releases[0].next()
	d.check(d.proxy.Refuse())
	over := time.After(size(3*time.Second, 30*time.Second))
	d.failsWith(d.releases[0], "SetWeight: ", "cannot be reached, tried ", "connection refused")
	<-over
	d.WaitUntil("the address", func(context.Context) (bool, error) { return true, d.proxy.Listen() })
	d.finishes()
}

// Every request takes two seconds.
func TestSlowRequests(t *testing.T) {
	t.Parallel()
	d := setup{pause: 5 * time.Second}.begin(t)
	d.proxy.SetFault(slow(2 * time.Second))
	d.reaches(at50)
	d.proxy.SetFault(nil)
	d.finishes()
}

// Two of three requests are answered by an error that passes.
func TestStorms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		code   int32
		reason metav1.StatusReason
	}{
		{"too many requests", http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests},
		{"internal errors", http.StatusInternalServerError, metav1.StatusReasonInternalError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := setup{pause: 3 * time.Second}.begin(t)
			d.proxy.SetFault(storm(tt.code, tt.reason))
			d.reaches(at10)
			d.proxy.SetFault(nil)
			d.finishes()
		})
	}
}
