package gatewayapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
)

// serveGRPC answers a call with an empty message, and says in the headers what has answered; without a version, by the code
// that fits best and no message.
func (g *Gateway) serveGRPC(w http.ResponseWriter, req *http.Request) {
	a := g.answer(Decide(g.Routes(), GRPC, req, draw))
	a.Show(w.Header())
	w.Header().Set("Content-Type", "application/grpc")
	code, ok := map[int]codes.Code{
		http.StatusOK:                 codes.OK,
		http.StatusNotFound:           codes.Unimplemented,
		http.StatusServiceUnavailable: codes.Unavailable,
	}[a.Status]
	if !ok {
		code = codes.Internal
	}
	if code == codes.OK {
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write(make([]byte, 5)) // an empty message; if the client has gone, nobody is left to tell
	}
	w.Header().Set("Grpc-Status", strconv.Itoa(int(code)))
}

// Caller calls methods by gRPC as a client of one host. Close it in the end.
type Caller struct{ conn *grpc.ClientConn }

// DialGRPC makes a Caller; the gateway's address stands for the host's.
func (g *Gateway) DialGRPC(host string) (*Caller, error) {
	conn, err := grpc.NewClient("passthrough:///"+g.addr, grpc.WithAuthority(host),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	return &Caller{conn}, err
}

// Call calls a method, as /service/method, with headers in pairs of a name and a value. What answers says so as an Answer,
// even if the call fails.
func (c *Caller) Call(ctx context.Context, method string, headers ...string) (gateway.Answer, error) {
	ctx = metadata.AppendToOutgoingContext(ctx, headers...)
	var got, after metadata.MD
	err := c.conn.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{}, grpc.Header(&got), grpc.Trailer(&after))
	status := http.StatusOK
	if err != nil {
		status = http.StatusInternalServerError
	}
	return gateway.ReadAnswer(status, func(name string) string {
		return strings.Join(append(got.Get(name), after.Get(name)...), ",")
	}), err
}

// Close ends the connection.
func (c *Caller) Close() error { return c.conn.Close() }
