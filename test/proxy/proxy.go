// Package proxy stands between a client and an API server: it counts requests, and does to them what networks and API servers
// do on a bad day.
package proxy

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Request is what a fault may look at.
type Request struct {
	*http.Request
	// Verb is that of the API: get, list, watch, create, update, patch or delete.
	Verb string
	// Resource is the plural, such as routetables.
	Resource string
}

// Fault does something to a request in place of forwarding it, or before that. It reports whether it answered the request.
type Fault func(w http.ResponseWriter, r Request) (answered bool)

// Proxy forwards requests to an API server with the credentials that it was started with. Its methods may be called
// concurrently.
type Proxy struct {
	upstream *httputil.ReverseProxy
	address  string

	mu      sync.Mutex
	server  *http.Server
	fault   Fault
	watch   func(line []byte) bool
	counts  map[string]int
	streams map[*http.Request]context.CancelFunc
}

// Start starts a proxy on a port of the loopback interface that is free.
func Start(config *rest.Config) (*Proxy, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	p := &Proxy{counts: map[string]int{}, streams: map[*http.Request]context.CancelFunc{}}
	p.upstream = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      transport,
		FlushInterval:  -1, // at once, for watches
		ModifyResponse: p.sift,
		ErrorLog:       log.New(io.Discard, "", 0),
	}
	return p, p.Listen()
}

// Listen takes connections again after Refuse, at the same address.
func (p *Proxy) Listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server != nil {
		return nil
	}
	address := p.address
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	p.address = listener.Addr().String()
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go func(s *http.Server) { _ = s.Serve(listener) }(p.server) // it ends with Refuse
	return nil
}

// Refuse ends all connections, and takes no others until Listen is called.
func (p *Proxy) Refuse() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		return nil
	}
	err := p.server.Close()
	p.server = nil
	return err
}

// Kubeconfig writes a kubeconfig that leads to the proxy.
func (p *Proxy) Kubeconfig(path string) error {
	return os.WriteFile(path, []byte(fmt.Sprintf(`
apiVersion: v1
kind: Config
clusters: [{name: proxy, cluster: {server: "http://%s"}}]
contexts: [{name: proxy, context: {cluster: proxy}}]
current-context: proxy
`, p.address)), 0o600)
}

// SetFault lets a fault happen to every request from now on; nil: none.
func (p *Proxy) SetFault(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

// SetWatch lets watches tell only of those changes, each in a line of JSON, for which tells is true; nil: all.
func (p *Proxy) SetWatch(tells func(line []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch = tells
}

// EndWatches ends all watches that are under way.
func (p *Proxy) EndWatches() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, end := range p.streams {
		end()
	}
}

// Lose lets the API server carry out a request, and ends the connection in place of the answer. It does not return.
func (p *Proxy) Lose(r Request) {
	p.upstream.ServeHTTP(nobody{}, r.Request)
	panic(http.ErrAbortHandler)
}

// nobody takes answers that are lost.
type nobody struct{}

func (nobody) Header() http.Header         { return http.Header{} }
func (nobody) Write(b []byte) (int, error) { return len(b), nil }
func (nobody) WriteHeader(int)             {}

// Counts returns how many requests there were, by verb and resource, as in "patch routetables".
func (p *Proxy) Counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// ServeHTTP forwards a request, unless a fault keeps it from that.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request := understand(r)
	ctx, end := context.WithCancel(r.Context())
	defer end()
	p.mu.Lock()
	p.counts[request.Verb+" "+request.Resource]++
	fault := p.fault
	if request.Verb == "watch" {
		p.streams[r] = end
	}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.streams, r)
	}()
	if fault != nil && fault(w, request) {
		return
	}
	p.upstream.ServeHTTP(w, r.WithContext(ctx))
}

// understand tells the verb and resource of a request by its path.
func understand(r *http.Request) Request {
	steps := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	skip := 3 // apis/GROUP/VERSION
	if steps[0] == "api" {
		skip = 2
	}
	steps = steps[min(skip, len(steps)):]
	if len(steps) > 2 && steps[0] == "namespaces" {
		steps = steps[2:]
	}
	request := Request{Request: r, Verb: map[string]string{
		http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[r.Method]}
	if len(steps) > 0 {
		request.Resource = steps[0]
	}
	if request.Verb == "get" && len(steps) == 1 {
		request.Verb = "list"
	}
	if r.URL.Query().Get("watch") != "" {
		request.Verb = "watch"
	}
	return request
}
