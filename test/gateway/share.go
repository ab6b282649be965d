package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"golang.org/x/sync/errgroup"
)

// parallel is how many requests of one Share are under way at a time.
const parallel = 8

// Client sends requests to one address, whatever host their URLs name, and follows no redirects. What answers says so as an
// Answer does.
type Client struct{ http *http.Client }

// NewClient makes a Client for an address, as host:port.
func NewClient(addr string) *Client {
	return &Client{&http.Client{
		Transport: &http.Transport{
			MaxIdleConnsPerHost: parallel,
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, addr)
			},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close gives up the connections that are kept.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Do sends a request, whatever host its URL names, and reads the answer.
func (c *Client) Do(req *http.Request) (Answer, error) {
	res, err := c.http.Do(req)
	if err != nil {
		return Answer{}, err
	}
	_, err = io.Copy(io.Discard, res.Body) // so that the connection can serve again
	return ReadAnswer(res.StatusCode, res.Header.Get), errors.Join(err, res.Body.Close())
}

// Get is Do for a plain GET.
func (c *Client) Get(ctx context.Context, url string) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return Answer{}, err
	}
	return c.Do(req)
}

// Tally counts answers. A count for what is missing, the version of a redirect for instance, is not kept.
type Tally struct {
	Total    int
	Versions map[string]int
	Images   map[string]int
	Services map[string]int
	Routes   map[string]int
	Statuses map[int]int
}

func newTally() Tally {
	return Tally{0, map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, map[int]int{}}
}

func (t *Tally) add(a Answer) {
	t.Total++
	t.Statuses[a.Status]++
	for _, c := range []struct {
		counts map[string]int
		key    string
	}{{t.Versions, a.Version}, {t.Images, a.Image}, {t.Services, a.Service}, {t.Routes, a.Route}} {
		if c.key != "" {
			c.counts[c.key]++
		}
	}
}

// Percent is the part of all answers that counts has for key.
func (t Tally) Percent(counts map[string]int, key string) float64 {
	if t.Total == 0 {
		return 0
	}
	return 100 * float64(counts[key]) / float64(t.Total)
}

// Share sends a request without a body n times, some at once, over connections that are kept, and counts the answers.
func (c *Client) Share(ctx context.Context, n int, req *http.Request) (Tally, error) {
	tally, err := Collect(ctx, n, func(ctx context.Context) (Answer, error) { return c.Do(req.Clone(ctx)) })
	if err != nil {
		return Tally{}, fmt.Errorf("%s %s: %w", req.Method, req.URL, err)
	}
	return tally, nil
}

// Collect asks n times, some at once, and counts the answers.
func Collect(ctx context.Context, n int, ask func(context.Context) (Answer, error)) (Tally, error) {
	tally, mu := newTally(), sync.Mutex{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for range n {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			a, err := ask(ctx)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			tally.add(a)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return Tally{}, err
	}
	if tally.Total < n {
		return Tally{}, context.Cause(ctx)
	}
	return tally, nil
}
