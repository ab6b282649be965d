package kube

import (
	"errors"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A refusal counts until another answer comes: whatever that is, the API server may be asked again.
func TestViewForgetsARefusal(t *testing.T) {
	forbidden := apierrors.NewForbidden(services.GroupResource(), "", errors.New("no"))
	trouble := apierrors.NewGenericServerResponse(http.StatusBadGateway, "watch", services.GroupResource(), "", "", 0, false)
	v := &view{decided: make(chan struct{})}
	if v.doubts("list", forbidden); !v.isRefused() {
		t.Error("not refused after a refusal")
	}
	if v.doubts("watch", trouble); v.isRefused() || v.doubt == nil {
		t.Errorf("refused %v, doubt %v after trouble of another kind", v.isRefused(), v.doubt)
	}
}

// The controller's environment, which the plugin inherits, may switch client-go to lists by a watch. An API server would be
// asked for changes only, and what it does not tell would be taken for all there is.
func TestSupplyListsWhateverTheEnvironment(t *testing.T) {
	begin := true
	s := &supply{believe: func() { t.Error("believed") }}
	if _, err := s.watch(t.Context(), metav1.ListOptions{SendInitialEvents: &begin}); !errors.Is(err, errListByWatch) {
		t.Errorf("got %v", err)
	}
}
