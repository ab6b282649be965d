package gateway

import (
	"fmt"
	"net"
)

// ListenTCP serves tcp routes on an address of the loopback interface, which it returns, in place of a port. A connection
// gets one line, "SERVICE VERSION IMAGE", and is closed; without a version it is closed at once.
func (g *Gateway) ListenTCP(port uint32) (string, error) {
	return g.streams.Listen(func(conn net.Conn) { g.serveStream(conn, port) })
}

func (g *Gateway) serveStream(conn net.Conn, port uint32) {
	defer conn.Close()
	if a := g.TCP(port); a.Version != "" {
		_, _ = fmt.Fprintf(conn, "%s %s %s\n", a.Service, a.Version, a.Image) // the client has gone; nobody is left to tell
	}
}

// TCP answers for a connection to a port without making one.
func (g *Gateway) TCP(port uint32) Answer { return g.answer(DecideTCP(g.Tables(), port, draw)) }

// TLS answers for a connection to a port that asks for a server name, without making one.
func (g *Gateway) TLS(port uint32, serverName string) Answer {
	return g.answer(DecideTLS(g.Tables(), port, serverName, draw))
}
