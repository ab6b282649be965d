package gateway

import "testing"

func TestStreams(t *testing.T) {
	tables := []*Table{table(t, "t", `
tcp:
  - matchers: [{port: 5432}]
    forwardTo: {destinations: [{ref: {name: postgres}}]}
  - matchers: [{port: 6379}]
    forwardTo: {}
  - matchers: [{port: 1}, {port: 2}]
    forwardTo: {destinations: [{ref: {name: a}, weight: 1}, {ref: {name: b}, weight: 99}]}
tls:
  - matchers: [{sniHosts: [a.example.com], port: 443}]
    forwardTo: {destinations: [{ref: {name: exact}}]}
  - matchers: [{sniHosts: ["*.com"]}]
    forwardTo: {destinations: [{ref: {name: wild}}]}
`)}
	last := func(n int) int { return n - 1 }
	for _, tt := range []struct {
		port uint32
		sni  string
		want string
	}{
		{5432, "", "postgres"},
		{6379, "", "broken"},
		{2, "", "b"},
		{3, "", "not found"},
		{443, "a.example.com", "exact"},
		{444, "a.example.com", "wild"},
		{443, "b.org", "not found"},
	} {
		d := DecideTCP(tables, tt.port, last)
		if tt.sni != "" {
			d = DecideTLS(tables, tt.port, tt.sni, last)
		}
		got := d.Destination.Name
		if d.Outcome != Forwarded {
			got = string(d.Outcome)
		}
		if got != tt.want {
			t.Errorf("port %d %s: %s, want %s", tt.port, tt.sni, got, tt.want)
		}
	}
}
