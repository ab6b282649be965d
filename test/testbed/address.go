package testbed

import "net"

// UnusedAddress is FindAddress for a test.
func UnusedAddress(t TB) string {
	t.Helper()
	address, err := FindAddress()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return address
}

// FindAddress returns an address of this machine that nobody listens at.
func FindAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
