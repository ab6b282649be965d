package kube_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// said answers with a text, whatever was asked.
func said(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

// A list that breaks off in the middle, since the API server has forgotten what it began, is begun anew: half of it is not
// all there is.
func TestCacheBeginsAnExpiredListAnew(t *testing.T) {
	expired := false
	s := startAPIServer(t, "a", "b")
	s.instead = func(verb string, r *http.Request) http.HandlerFunc {
		next := r.URL.Query().Get("continue")
		switch {
		case verb != "list":
			return nil
		case next == "":
			return said(`{"kind":"RouteTableList","metadata":{"resourceVersion":"2","continue":"rest"},"items":[` + table("a", 1) + `]}`)
		case !expired:
			expired = true
			return status(410, "Expired", "the continue token is too old", `{}`)
		default:
			return said(`{"kind":"RouteTableList","metadata":{"resourceVersion":"2"},"items":[` + table("b", 2) + `]}`)
		}
	}
	c := s.cache(t, time.Hour)
	s.remembers(t, c)
	if got, err := listed(t, c, "apps"); got != "ab" || err != nil {
		t.Errorf("listed %q, %v; want ab", got, err)
	}
}

// What is no list of objects says nothing of what is there: what is remembered is not replaced by it, and not believed either.
func TestCacheDoubtsWhatIsNoList(t *testing.T) {
	for _, tt := range []struct{ name, answer string }{
		{"a page for people", "<html>Sign in</html>"},
		{"an empty object", `{}`},
		{"nothing", `null`},
		{"an object of another kind", `{"kind":"Status","metadata":{},"status":"Success"}`},
		{"a list as of no version", `{"kind":"RouteTableList","metadata":{},"items":[]}`},
		{"one item that is no object", `{"kind":"RouteTableList","metadata":{"resourceVersion":"9"},"items":[7]}`},
		{"one item without a name", `{"kind":"RouteTableList","metadata":{"resourceVersion":"9"},"items":[{"metadata":{}}]}`},
		{"half a list", `{"kind":"RouteTableList","metadata":{"resourceVersion":"9"},"items":[`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := startAPIServer(t, "a")
			c := s.cache(t, 100*time.Millisecond)
			s.remembers(t, c)
			s.set(func() {
				s.silent = true
				s.instead = func(verb string, _ *http.Request) http.HandlerFunc {
					if verb == "list" {
						return said(tt.answer)
					}
					return nil
				}
			})
			s.change("a")
			until(t, "the change", func() bool { return versionOf(t, c, "a") == "2" })
			if got, err := listed(t, c, "apps"); err == nil {
				t.Errorf("listed %q", got)
			}
		})
	}
}

// A change that cannot be read is not passed over.
func TestCacheDoubtsAChangeThatCannotBeRead(t *testing.T) {
	for _, event := range []string{
		`{"type":"MODIFIED","object":7}`,
		`{"type":"MODIFIED","object":{"metadata":{}}}`,
		`{"type":"MODIFIED","object":{"metadata":{"name":1}}}`,
	} {
		s := startAPIServer(t, "a")
		c := s.cache(t, time.Hour)
		s.remembers(t, c)
		s.set(func() {
			s.forbidden = "list"
			s.tell(event)
			s.silent = true
		})
		s.change("a")
		until(t, "the change", func() bool { return versionOf(t, c, "a") == "2" })
	}
}

// A bookmark names no object; the watch goes on after it.
func TestCacheReadsBookmarks(t *testing.T) {
	s := startAPIServer(t, "a")
	c := s.cache(t, time.Hour)
	s.remembers(t, c)
	s.set(func() {
		s.tell(`{"type":"BOOKMARK","object":{"kind":"RouteTable","metadata":{"creationTimestamp":null,"resourceVersion":"1"}}}`)
	})
	s.requests()
	s.change("a")
	until(t, "the change", func() bool { return versionOf(t, c, "a") == "2" })
	if got := s.requests(); got != "" {
		t.Errorf("asked for %s", got)
	}
}
