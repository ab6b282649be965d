package faults

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/proxy"
)

// answers sends an answer to a request in place of the API server, as that would.
func answers(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(code))
	_ = json.NewEncoder(w).Encode(metav1.Status{ // to whoever is still there
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: string(reason),
	})
}

// storm answers all but every third request by a code.
func storm(code int32, reason metav1.StatusReason) proxy.Fault {
	var n atomic.Int64
	return func(w http.ResponseWriter, _ proxy.Request) bool {
		if n.Add(1)%3 == 0 {
			return false
		}
		answers(w, code, reason)
		return true
	}
}

// slow lets every request wait.
func slow(d time.Duration) proxy.Fault {
	return func(_ http.ResponseWriter, r proxy.Request) bool {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
		return false
	}
}
