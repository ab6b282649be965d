package gateway

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
)

// Answer is what the gateway says about a response, in its headers and, where the route gives no body, as its body.
type Answer struct {
	Status    int     `json:"status"`
	Outcome   Outcome `json:"outcome"`
	Table     string  `json:"table,omitempty"`     // namespace/name
	Route     string  `json:"route,omitempty"`     // as http[2] "name"
	Kind      string  `json:"kind,omitempty"`      // of the destination
	Service   string  `json:"service,omitempty"`   // the destination's name
	Namespace string  `json:"namespace,omitempty"` // the destination's
	Version   string  `json:"version,omitempty"`   // the pod-template-hash; for a destination that is no Service, its name
	Image     string  `json:"image,omitempty"`     // of the version
	Host      string  `json:"host,omitempty"`      // as the destination sees it
	Path      string  `json:"path,omitempty"`      // with the query, as the destination sees it
	Message   string  `json:"message,omitempty"`   // why a route is broken
}

// headers pairs the fields of an answer with the headers that carry them.
func (a *Answer) headers() map[string]*string {
	return map[string]*string{
		"X-Served-Outcome":   (*string)(&a.Outcome),
		"X-Served-Table":     &a.Table,
		"X-Served-Route":     &a.Route,
		"X-Served-Kind":      &a.Kind,
		"X-Served-Service":   &a.Service,
		"X-Served-Namespace": &a.Namespace,
		"X-Served-Version":   &a.Version,
		"X-Served-Image":     &a.Image,
		"X-Served-Host":      &a.Host,
		"X-Served-Path":      &a.Path,
		"X-Served-Message":   &a.Message,
	}
}

// Show sets the headers that carry the answer. Fields that are empty have none.
func (a *Answer) Show(h http.Header) {
	for name, value := range a.headers() {
		if *value != "" {
			h.Set(name, *value)
		}
	}
}

// ReadAnswer reads what Show has set; get returns the value of a header, or nothing.
func ReadAnswer(status int, get func(name string) string) Answer {
	a := Answer{Status: status}
	for name, value := range a.headers() {
		*value = get(name)
	}
	return a
}

// ServeHTTP routes a request and answers it in the name of the version that it reaches.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	port := g.options.ListenerPort
	host, name, err := net.SplitHostPort(req.Host)
	if err == nil {
		if n, err := strconv.ParseUint(name, 10, 16); err == nil {
			port = uint32(n)
		}
	} else {
		host = req.Host
	}
	if g.options.DefaultHost != "" && (host == "localhost" || net.ParseIP(host) != nil) {
		req.Host, port = g.options.DefaultHost, g.options.ListenerPort
	}
	now := g.served.Load()
	d := Decide(now.tables, req, port, draw)
	a := g.answer(d)
	if d.Outcome == Forwarded && a.Status == http.StatusOK {
		g.mirror(now.policies, d, req)
	}
	a.Show(w.Header())
	switch d.Outcome {
	case Redirected:
		w.Header().Set("Location", d.Location)
		w.WriteHeader(a.Status)
	case Answered:
		w.WriteHeader(a.Status)
		_, _ = io.WriteString(w, d.Body) // the client has gone; nobody is left to tell
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.Status)
		_ = json.NewEncoder(w).Encode(a) // likewise
	}
}

// answer finds the version that a decision leads to.
func (g *Gateway) answer(d Decision) Answer {
	a := Answer{Status: d.Status, Outcome: d.Outcome}
	if d.Table != nil {
		a.Table, a.Route = d.Table.String(), d.Route.String()
	}
	if d.Outcome == Broken {
		a.Message = d.Body
	}
	if d.Outcome != Forwarded {
		return a
	}
	a.Kind, a.Service, a.Namespace = d.Destination.Kind, d.Destination.Name, d.Destination.Namespace
	if d.Request != nil {
		a.Host, a.Path = d.Request.Host, d.Request.URL.RequestURI()
	}
	v, found := g.resolve(d.Destination)
	if !found {
		a.Status = http.StatusServiceUnavailable
		return a
	}
	a.Status, a.Version, a.Image = http.StatusOK, v.Name, v.Image
	return a
}
