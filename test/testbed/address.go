package testbed

import "net"

// UnusedAddress is one of this machine that nobody listens at.
func UnusedAddress(t TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("%v", err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatalf("%v", err)
	}
	return address
}
