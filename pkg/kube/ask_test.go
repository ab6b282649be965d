package kube_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/kube"
)

// reply is what comes of a request: an answer, a failure of the network or, if it is neither, nothing until nobody waits any more.
type reply struct {
	code       int
	body       string
	retryAfter string
	err        error
}

// replies is an API server, or a network, that answers one request after another; the last answer stands for all further ones.
type replies struct {
	each  []reply
	asked int
}

func (r *replies) RoundTrip(request *http.Request) (*http.Response, error) {
	reply := r.each[min(r.asked, len(r.each)-1)]
	r.asked++
	switch {
	case reply.err != nil:
		return nil, reply.err
	case reply.code == 0:
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	if reply.retryAfter != "" {
		w.Header().Set("Retry-After", reply.retryAfter)
	}
	w.WriteHeader(reply.code)
	_, err := w.WriteString(reply.body)
	return w.Result(), err
}

var (
	fine     = reply{code: 200, body: `{"metadata":{"namespace":"apps","name":"demo","resourceVersion":"7"}}`}
	busy     = reply{code: 429, body: "Too many requests, please try again later.", retryAfter: "3"}
	busier   = reply{code: 429, retryAfter: "60"}
	down     = reply{code: 503, body: `{"kind":"Status","status":"Failure","message":"etcd is away","reason":"ServiceUnavailable","code":503}`}
	gateway  = reply{code: 502, body: "<html>"}
	conflict = reply{code: 409, body: `{"kind":"Status","status":"Failure","message":"changed meanwhile","reason":"Conflict","code":409}`}
	refusal  = reply{err: &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}}
	alert    = reply{err: &net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}}
	silence  = reply{}
)

// client-go's recorder tells what an API server refuses, or has no more, from what is to be sent again by the error's very type.
func TestRefusedEventIsForTheRecorder(t *testing.T) {
	for _, tt := range []struct {
		reason string
		code   int
	}{{"Forbidden", 403}, {"NotFound", 404}} {
		t.Run(tt.reason, func(t *testing.T) {
			body := fmt.Sprintf(`{"kind":"Status","status":"Failure","message":"no","reason":%q,"code":%d,"details":{"name":"demo.1","kind":"events"}}`, tt.reason, tt.code)
			r := &replies{each: []reply{{code: tt.code, body: body}}}
			c, err := kube.NewClient(&rest.Config{Host: "http://api", Transport: r})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Events().Patch(&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "demo.1"}}, []byte(`{"count":2}`))
			if status, bare := err.(*apierrors.StatusError); !bare || string(status.ErrStatus.Reason) != tt.reason || r.asked != 1 { //nolint:errorlint // as the recorder does
				t.Errorf("after %d requests: %T %v", r.asked, err, err)
			}
		})
	}
}

// patched sends a patch by a client that gets these replies, within a deadline of 15 seconds.
func patched(t *testing.T, r *replies) (engine.Object, error) {
	t.Helper()
	c, err := kube.NewClient(&rest.Config{Host: "http://api", Transport: r})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	return c.Patch(ctx, routeTables, "apps", "demo", []byte(`[]`))
}

// What is over soon is waited for.
func TestTriesAgain(t *testing.T) {
	for _, tt := range []struct {
		name  string
		each  []reply
		least time.Duration // that it takes
	}{
		{"at once", []reply{fine}, 0},
		{"an API server in trouble", []reply{down, down, down, fine}, 700 * time.Millisecond},
		{"one that has no time, and says for how long", []reply{busy, busy, fine}, 6 * time.Second},
		{"something before it that is broken", []reply{gateway, fine}, 100 * time.Millisecond},
		{"refused connections", []reply{refusal, refusal, fine}, 300 * time.Millisecond},
		{"an answer that breaks off", []reply{{err: io.ErrUnexpectedEOF}, {err: io.EOF}, fine}, 300 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, r := time.Now(), &replies{each: tt.each}
				o, err := patched(t, r)
				if err != nil || o.ResourceVersion != "7" || r.asked != len(tt.each) {
					t.Errorf("got %v, %v after %d requests, want %d", o, err, r.asked, len(tt.each))
				}
				if took := time.Since(began); took < tt.least {
					t.Errorf("after %v, want at least %v", took, tt.least)
				}
			})
		})
	}
}

// What lasts is said, with what was waited for and for how long.
func TestGivesUp(t *testing.T) {
	const dialled = `Patch "http://api/apis/networking.gloo.solo.io/v2/namespaces/apps/routetables/demo": dial tcp: connection refused`
	for _, tt := range []struct {
		name  string
		each  []reply
		tries int // at least, where there are several
		want  string
	}{
		{"an API server in trouble", []reply{down}, 7,
			"API server http://api answered 503 when asked to patch routetables.networking.gloo.solo.io in namespace apps, N times in Ts; the last answer: etcd is away"},
		{"refused connections", []reply{refusal}, 7,
			"API server http://api cannot be reached, tried N times in Ts to patch routetables.networking.gloo.solo.io in namespace apps: " + dialled},
		{"no answer at all", []reply{silence}, 1,
			"API server http://api did not answer in time when asked to patch routetables.networking.gloo.solo.io in namespace apps"},
		{"trouble, and then no answer", []reply{down, down, silence}, 3,
			"API server http://api answered 503 when asked to patch routetables.networking.gloo.solo.io in namespace apps, 2 times in 15s; the last answer: etcd is away"},
		{"an API server that wants to be left alone for longer", []reply{busier}, 1,
			"API server http://api is in trouble: the server has received too many requests and has asked us to try again later"},
		{"an answer that stands", []reply{conflict}, 1, "changed meanwhile"},
		{"a certificate that the other side refuses", []reply{alert}, 1,
			`API server http://api cannot be reached: Patch "http://api/apis/networking.gloo.solo.io/v2/namespaces/apps/routetables/demo": remote error: tls: bad certificate`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, r := time.Now(), &replies{each: tt.each}
				_, err := patched(t, r)
				took := time.Since(began)
				want := strings.NewReplacer("N times", fmt.Sprintf("%d times", r.asked), "Ts", took.Round(time.Second).String()).Replace(tt.want)
				if err == nil || err.Error() != want {
					t.Errorf("got  %v\nwant %s", err, want)
				}
				if r.asked < tt.tries || tt.tries == 1 && r.asked > 1 || took > 15*time.Second {
					t.Errorf("%d requests in %v, want %d", r.asked, took, tt.tries)
				}
			})
		})
	}
}

// Somebody who gave up is told just that.
func TestTellsOfBeingGivenUp(t *testing.T) {
	c, err := kube.NewClient(&rest.Config{Host: "http://api", Transport: &replies{each: []reply{silence}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Get(ctx, routeTables, "apps", "demo")
	want := "API server http://api was asked to get routetables.networking.gloo.solo.io in namespace apps, and the answer was not waited for"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// A person who asks, without a deadline, is answered at once.
func TestTriesOnceWithoutADeadline(t *testing.T) {
	r := &replies{each: []reply{down}}
	c, err := kube.NewClient(&rest.Config{Host: "http://api", Transport: r})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), routeTables, "apps", "demo"); err == nil || r.asked != 1 {
		t.Errorf("%v after %d requests", err, r.asked)
	}
}

// A request that the process's own limits hold up is not the API server's fault.
func TestTellsOfItsOwnLimits(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"metadata":{"name":"demo"}}`)
	}))
	t.Cleanup(server.Close)
	clusters, err := kube.Connect(accessTo(t, server.URL, "a"), accessTo(t, server.URL, "a"), kube.Limits{QPS: 0.01, Burst: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	if _, err := clusters.Get(ctx, routeTables, "apps", "demo"); err != nil {
		t.Fatal(err)
	}
	_, err = clusters.Get(ctx, routeTables, "apps", "demo")
	want := "the plugin's own limit of requests left no time to get routetables.networking.gloo.solo.io in namespace apps; raise its flag --kube-api-qps"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// accessTo writes a kubeconfig with a token, and returns access by it.
func accessTo(t *testing.T, server, token string) kube.Access {
	t.Helper()
	a := kube.Access{Kubeconfig: filepath.Join(t.TempDir(), "config")}
	writeKubeconfig(t, a, server, token)
	return a
}

func writeKubeconfig(t *testing.T, a kube.Access, server, token string) {
	t.Helper()
	text := fmt.Sprintf(`
apiVersion: v1
kind: Config
clusters: [{name: x, cluster: {server: "%s", insecure-skip-tls-verify: true}}]
users: [{name: x, user: {token: "%s"}}]
contexts: [{name: x, context: {cluster: x, user: x}}]
current-context: x
`, server, token)
	if err := os.WriteFile(a.Kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Credentials that are not accepted any more are read again, once for each request.
func TestReadsCredentialsAgain(t *testing.T) {
	asked, valid := 0, "first"
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Header.Get("Authorization") != "Bearer "+valid {
			status(401, "Unauthorized", "Unauthorized", `{}`)(w, r)
			return
		}
		fmt.Fprint(w, `{"metadata":{"name":"demo"}}`)
	}))
	t.Cleanup(server.Close)
	access := accessTo(t, server.URL, "first")
	clusters, err := kube.Connect(access, access, kube.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, valid, written string
		asked                int
		unauthorized         bool
	}{
		{"the first", "first", "first", 1, false},
		{"replaced", "second", "second", 2, false},
		{"still the second", "second", "second", 1, false},
		{"expired, and not replaced yet", "third", "second", 2, true},
		{"replaced by now", "third", "third", 2, false},
	} {
		asked, valid = 0, tt.valid
		writeKubeconfig(t, access, server.URL, tt.written)
		_, err := clusters.Get(t.Context(), routeTables, "apps", "demo")
		if apierrors.IsUnauthorized(err) != tt.unauthorized || (err == nil) == tt.unauthorized || asked != tt.asked {
			t.Errorf("%s: %v after %d requests, want %d", tt.name, err, asked, tt.asked)
		}
	}
	if err := os.Remove(access.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	valid = "fourth"
	if _, err := clusters.Get(t.Context(), routeTables, "apps", "demo"); !apierrors.IsUnauthorized(err) {
		t.Errorf("without a kubeconfig: %v", err)
	}
}
