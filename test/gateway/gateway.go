package gateway

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// resource is a kind of objects that the gateway takes up and judges.
type resource struct {
	kind string
	schema.GroupVersionResource
}

var (
	routeTables = resource{"RouteTable",
		schema.GroupVersionResource{Group: "networking.gloo.solo.io", Version: "v2", Resource: "routetables"}}
	mirrorPolicies = resource{"MirrorPolicy",
		schema.GroupVersionResource{Group: "trafficcontrol.policy.gloo.solo.io", Version: "v2", Resource: "mirrorpolicies"}}
)

// served is what the gateway goes by. It does not change: another one takes its place.
type served struct {
	tables   []*Table
	policies []*Policy
}

// Options of a gateway. The zero value listens on any port of the loopback interface and accepts tables at once.
type Options struct {
	// Addr is where HTTP is served. Default 127.0.0.1:0.
	Addr string
	// Delay passes between a change of an object and the moment when it is served and its status is written.
	Delay time.Duration
	// ListenerPort is what the port of a matcher is compared with if a request's Host names no port. Default 80.
	ListenerPort uint32
	// DefaultHost is taken for the Host of requests to an IP address or localhost, so that a plain curl works.
	DefaultHost string
	// Cluster is the name by which objects may call the local cluster.
	Cluster string
}

// Gateway serves the RouteTables and MirrorPolicies of an API server. Its methods may be called concurrently.
type Gateway struct {
	*Client // reaches the gateway

	options  Options
	dynamic  dynamic.Interface
	pods     Pods
	observer *observer
	served   atomic.Pointer[served]
	delay    atomic.Int64 // in nanoseconds

	addr   string
	server *http.Server
	cancel context.CancelFunc
	wait   sync.WaitGroup

	streams Streams
	copies  Copies // by policy
}

// Start begins to serve. The tables that exist are served after the delay.
func Start(ctx context.Context, config *rest.Config, o Options) (*Gateway, error) {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.ListenerPort == 0 {
		o.ListenerPort = 80
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	g := &Gateway{options: o}
	if g.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	g.served.Store(&served{})
	g.SetDelay(o.Delay)
	listener, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, err
	}
	g.addr = listener.Addr().String()
	g.Client = NewClient(g.addr)

	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	g.cancel = cancel
	if err := g.watch(ctx, running, clients); err != nil {
		cancel()
		return nil, errors.Join(err, listener.Close())
	}
	g.server = &http.Server{Handler: g, ReadHeaderTimeout: time.Minute}
	g.wait.Go(func() {
		if err := g.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(fmt.Sprintf("gateway: %v", err)) // nobody is left to tell, and every test would fail for another reason
		}
	})
	return g, nil
}

// watch starts the informers and waits, while starting lasts, until they know what there is.
func (g *Gateway) watch(starting, running context.Context, clients kubernetes.Interface) error {
	typed := informers.NewSharedInformerFactory(clients, 0)
	untyped := dynamicinformer.NewDynamicSharedInformerFactory(g.dynamic, 0)
	services, replicaSets := typed.Core().V1().Services(), typed.Apps().V1().ReplicaSets()
	g.pods = Pods{services.Lister(), replicaSets.Lister()}
	g.observer = newObserver(g)

	synced := []cache.InformerSynced{services.Informer().HasSynced, replicaSets.Informer().HasSynced}
	for _, r := range []resource{routeTables, mirrorPolicies} {
		informer := untyped.ForResource(r.GroupVersionResource).Informer()
		if _, err := informer.AddEventHandler(g.observer.handlerOf(r)); err != nil {
			return err
		}
		synced = append(synced, informer.HasSynced)
	}
	if _, err := services.Informer().AddEventHandler(g.observer.serviceHandler()); err != nil {
		return err
	}
	typed.Start(running.Done())
	untyped.Start(running.Done())
	stop := g.cancel
	g.cancel = func() { stop(); g.observer.queue.ShutDown(); typed.Shutdown(); untyped.Shutdown() }
	if !cache.WaitForCacheSync(starting.Done(), synced...) {
		g.cancel()
		return fmt.Errorf("gateway: %w", context.Cause(starting))
	}
	g.wait.Go(func() { g.observer.run(running) })
	return nil
}

// Stop ends serving and watching.
func (g *Gateway) Stop() error {
	g.cancel()
	g.Client.Close()
	err := errors.Join(g.server.Close(), g.streams.Close())
	g.wait.Wait()
	return err
}

// Addr is the address that HTTP is served at, as host:port.
func (g *Gateway) Addr() string { return g.addr }

// SetDelay is Options.Delay for changes from now on.
func (g *Gateway) SetDelay(d time.Duration) { g.delay.Store(int64(d)) }

// Tables are the tables being served.
func (g *Gateway) Tables() []*Table { return g.served.Load().tables }

func draw(n int) int { return rand.IntN(n) }
