package kube

import (
	"errors"
	"io"
	"net"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// passes reports whether an error is of a kind that the same request may not meet again a little later: the API server is
// busy, starts, or has trouble behind it, or the network broke off. A certificate that is wrong stays so.
func passes(err error) bool {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		code := status.Status().Code
		return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError && code != http.StatusNotImplemented
	}
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op.Op != "remote error" // which is what the other side has against a certificate
	}
	return utilnet.IsProbableEOF(err) || errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsTimeout(err) || utilnet.IsHTTP2ConnectionLost(err)
}
