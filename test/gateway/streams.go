package gateway

import (
	"errors"
	"net"
	"sync"
)

// Streams are a gateway's listeners for connections that are not HTTP's. The zero value has none.
type Streams struct {
	mu        sync.Mutex
	listeners []net.Listener
	wait      sync.WaitGroup
}

// Listen serves the connections to an address of the loopback interface, which it returns, each by a call of serve. That
// closes the connection.
func (s *Streams) Listen(serve func(net.Conn)) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	s.listeners = append(s.listeners, listener)
	s.mu.Unlock()
	s.wait.Go(func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				s.wait.Go(func() { serve(conn) })
			}
		}
	})
	return listener.Addr().String(), nil
}

// Close ends listening, and returns when every connection was served.
func (s *Streams) Close() error {
	var errs []error
	s.mu.Lock()
	for _, l := range s.listeners {
		errs = append(errs, l.Close())
	}
	s.mu.Unlock()
	s.wait.Wait()
	return errors.Join(errs...)
}
