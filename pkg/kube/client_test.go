package kube_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/kube"
)

var routeTables = schema.GroupVersionResource{Group: "networking.gloo.solo.io", Version: "v2", Resource: "routetables"}

// client returns a client of a server that answers with handler. The tests with a real API server are the end-to-end
// ones; here stands what such a server seldom does.
func client(t *testing.T, handler http.HandlerFunc) (*kube.Client, string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := kube.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c, server.URL
}

// status answers with a Status object.
func status(code int, reason, message, details string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":%q,"reason":%q,"code":%d,"details":%s}`, message, reason, code, details)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		want    string // HOST stands for the server's address
	}{
		{"not permitted", status(403, "Forbidden", "no", `{"name":"demo","group":"networking.gloo.solo.io","kind":"routetables"}`),
			"the plugin's service account may not get routetables.networking.gloo.solo.io in namespace gloo-mesh; grant that to the Argo Rollouts controller's role"},
		{"not known", status(401, "Unauthorized", "Unauthorized", `{}`), "API server HOST does not accept the plugin's credentials"},
		{"not served", status(404, "NotFound", "the server could not find the requested resource", `{}`),
			"the cluster serves no routetables.networking.gloo.solo.io v2; is its custom resource definition installed?"},
		{"not there", status(404, "NotFound", "routetables \"demo\" not found", `{"name":"demo","kind":"routetables"}`), `routetables "demo" not found`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, host := client(t, tt.handler)
			_, err := c.Get(context.Background(), routeTables, "gloo-mesh", "demo")
			if want := strings.ReplaceAll(tt.want, "HOST", host); err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestUnreachableServerIsNamed(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := kube.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Get(context.Background(), routeTables, "gloo-mesh", "demo")
	if want := "API server " + server.URL + " cannot be reached: "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s...", err, want)
	}
}

func TestListReadsAllPages(t *testing.T) {
	c, _ := client(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("labelSelector"); got != "app=demo" {
			t.Errorf("selector %q", got)
		}
		next, name := "more", "a"
		if r.URL.Query().Get("continue") == "more" {
			next, name = "", "b"
		}
		fmt.Fprintf(w, `{"kind":"RouteTableList","metadata":{"resourceVersion":"5","continue":%q},"items":[{"metadata":{"namespace":"apps","name":%q,"resourceVersion":"5"},"spec":{"big":9007199254740993}}]}`, next, name)
	})
	objects, err := c.List(context.Background(), routeTables, "apps", labels.Set{"app": "demo"}.AsSelector())
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 2 || objects[0].Name != "a" || objects[1].Name != "b" || !strings.Contains(string(objects[1].JSON), "9007199254740993") {
		t.Errorf("got %v", objects)
	}
}

func TestPatchIsAJSONPatch(t *testing.T) {
	c, _ := client(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Method + " " + r.URL.Path + " " + r.Header.Get("Content-Type"); got != "PATCH /apis/networking.gloo.solo.io/v2/namespaces/gloo-mesh/routetables/demo application/json-patch+json" {
			t.Errorf("asked for %s", got)
		}
		fmt.Fprint(w, `{"metadata":{"namespace":"gloo-mesh","name":"demo","uid":"u","resourceVersion":"6","generation":3}}`)
	})
	o, err := c.Patch(context.Background(), routeTables, "gloo-mesh", "demo", []byte(`[]`))
	if err != nil || o.UID != "u" || o.ResourceVersion != "6" || o.Generation != 3 {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestRehearsalIsADryRun(t *testing.T) {
	c, _ := client(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Method + " " + r.URL.RawQuery; got != "PATCH dryRun=All" {
			t.Errorf("asked for %s", got)
		}
		fmt.Fprint(w, `{"metadata":{"namespace":"gloo-mesh","name":"demo","uid":"u","resourceVersion":"6","generation":3}}`)
	})
	if o, err := c.Rehearse(context.Background(), routeTables, "gloo-mesh", "demo", []byte(`[]`)); err != nil || o.UID != "u" {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestServicePorts(t *testing.T) {
	c, _ := client(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"metadata":{"name":"web"},"spec":{"ports":[{"name":"http","port":80,"targetPort":"web"},{"port":81,"targetPort":8081}]}}`)
	})
	got, err := c.Service(context.Background(), "apps", "web")
	want := intent.Service{Ports: []intent.ServicePort{{Number: 80, Name: "http", Target: "web"}, {Number: 81, Target: "8081"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestTroubleOfTheServerNamesIt(t *testing.T) {
	c, host := client(t, status(503, "ServiceUnavailable", "the server is currently unable to handle the request", `{}`))
	_, err := c.Get(context.Background(), routeTables, "gloo-mesh", "demo")
	if want := "API server " + host + " is in trouble: the server is currently unable to handle the request"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// A review of rights has no name, sent or answered. What is sent with one is only created if the answer has one as well.
func TestCreateWhatIsNotKept(t *testing.T) {
	c, _ := client(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"kind":"SubjectAccessReview","metadata":{},"status":{"allowed":true}}`)
	})
	reviews := schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"}
	if o, err := c.Create(t.Context(), reviews, "", []byte(`{"kind":"SubjectAccessReview"}`)); err != nil || !strings.Contains(string(o.JSON), "allowed") {
		t.Errorf("got %s, %v", o.JSON, err)
	}
	if _, err := c.Create(t.Context(), routeTables, "apps", []byte(`{"metadata":{"name":"demo"}}`)); err == nil || !strings.Contains(err.Error(), "no object") {
		t.Errorf("got %v, want an error that the answer is no object", err)
	}
}
