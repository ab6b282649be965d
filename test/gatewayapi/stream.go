package gatewayapi

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
)

// Listen serves connections to a listener of a Gateway on an address of the loopback interface, which it returns: by TLS for
// TLSRoutes, and for TCPRoutes otherwise. A connection gets one line, "SERVICE VERSION IMAGE", and is closed; without a
// version it is closed at once. What speaks TLS are the pods behind, all with one certificate that nobody has signed.
func (g *Gateway) Listen(l Listener, overTLS bool) (string, error) {
	var config *tls.Config
	if overTLS {
		var err error
		if config, err = serverConfig(); err != nil {
			return "", err
		}
	}
	return g.streams.Listen(func(conn net.Conn) { g.serveStream(conn, l, config) })
}

func (g *Gateway) serveStream(conn net.Conn, l Listener, config *tls.Config) {
	defer conn.Close()
	var d Decision
	if config == nil {
		d = DecideTCP(g.Routes(), l, draw)
	} else {
		secure := tls.Server(conn, config)
		if secure.Handshake() != nil {
			return // the client's fault, who sees it
		}
		d = DecideTLS(g.Routes(), l, secure.ConnectionState().ServerName, draw)
		conn = secure
	}
	if a := g.answer(d); a.Version != "" {
		_, _ = fmt.Fprintf(conn, "%s %s %s\n", a.Service, a.Version, a.Image) // the client has gone; nobody is left to tell
		if secure, ok := conn.(*tls.Conn); ok {
			_ = secure.CloseWrite() // likewise
		}
	}
}

// Connect asks what answers at an address of Listen: by TLS if a server name is given. Status 503 means that the connection
// was closed without a line.
func Connect(ctx context.Context, addr, serverName string) (gateway.Answer, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return gateway.Answer{}, err
	}
	defer conn.Close()
	if serverName != "" {
		conn = tls.Client(conn, &tls.Config{ServerName: serverName, InsecureSkipVerify: true})
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	words := strings.Fields(line)
	switch {
	case errors.Is(err, io.EOF) && line == "":
		return gateway.Answer{Status: http.StatusServiceUnavailable}, nil
	case err != nil || len(words) != 3:
		return gateway.Answer{}, fmt.Errorf("%s answers %q: %w", addr, line, err)
	}
	return gateway.Answer{Status: http.StatusOK, Service: words[0], Version: words[1], Image: words[2]}, nil
}
