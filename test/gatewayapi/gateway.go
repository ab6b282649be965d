package gatewayapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
)

// resources of the routes, by kind, in the versions that are looked for first.
var resources = map[string]schema.GroupVersionResource{
	HTTP: {Group: group, Version: "v1", Resource: "httproutes"},
	GRPC: {Group: group, Version: "v1", Resource: "grpcroutes"},
	TCP:  {Group: group, Version: "v1alpha2", Resource: "tcproutes"},
	TLS:  {Group: group, Version: "v1alpha2", Resource: "tlsroutes"},
}

var (
	gatewayResource = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "gateways"}
	grantResource   = schema.GroupVersionResource{Group: group, Version: "v1beta1", Resource: "referencegrants"}
)

// Gateway serves the routes of an API server that has the CRDs of the Gateway API. Its methods may be called concurrently.
type Gateway struct {
	*gateway.Client // reaches it by HTTP

	pods     gateway.Pods
	observer *observer
	routes   atomic.Pointer[[]*Route]

	addr   string
	server *http.Server
	cancel context.CancelFunc
	wait   sync.WaitGroup

	streams gateway.Streams
	copies  gateway.Copies // by route
}

// Start begins to serve on an address of the loopback interface. delay passes between a change of a route and the moment
// when it is served and its status is written.
func Start(ctx context.Context, config *rest.Config, delay time.Duration) (*Gateway, error) {
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	served, err := servedResources(typed.Discovery())
	if err != nil {
		return nil, err
	}
	return start(ctx, typed, untyped, served, delay)
}

// servedResources are the resources as an API server has them: its HTTPRoutes may be of v1beta1 alone.
func servedResources(server discovery.ServerResourcesInterface) (map[string]schema.GroupVersionResource, error) {
	served := maps.Clone(resources)
	list, err := server.ServerResourcesForGroupVersion(group + "/v1")
	if err != nil {
		return nil, err
	}
	http := served[HTTP]
	if !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == http.Resource }) {
		http.Version = "v1beta1"
	}
	served[HTTP] = http
	return served, nil
}

func start(ctx context.Context, typed kubernetes.Interface, untyped dynamic.Interface, served map[string]schema.GroupVersionResource, delay time.Duration) (*Gateway, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &Gateway{addr: listener.Addr().String()}
	g.routes.Store(&[]*Route{})
	g.Client = gateway.NewClient(g.addr)
	if err := g.watch(ctx, typed, untyped, served, delay); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true) // gRPC
	g.server = &http.Server{Handler: g, ReadHeaderTimeout: time.Minute, Protocols: protocols}
	g.wait.Go(func() {
		if err := g.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(fmt.Sprintf("gateway: %v", err)) // nobody is left to tell, and every test would fail for another reason
		}
	})
	return g, nil
}

// watch starts the informers and waits, while starting lasts, until they know what there is.
func (g *Gateway) watch(starting context.Context, typed kubernetes.Interface, untyped dynamic.Interface, served map[string]schema.GroupVersionResource, delay time.Duration) error {
	running, cancel := context.WithCancel(context.WithoutCancel(starting))
	known := informers.NewSharedInformerFactory(typed, 0)
	unknown := dynamicinformer.NewDynamicSharedInformerFactory(untyped, 0)
	services, replicaSets := known.Core().V1().Services(), known.Apps().V1().ReplicaSets()
	g.pods = gateway.Pods{Services: services.Lister(), ReplicaSets: replicaSets.Lister()}
	g.observer = newObserver(g, untyped, served, delay)

	synced := []cache.InformerSynced{replicaSets.Informer().HasSynced}
	watch := func(informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) error {
		synced = append(synced, informer.HasSynced)
		_, err := informer.AddEventHandler(handler)
		return err
	}
	errs := []error{watch(services.Informer(), g.observer.surroundings())}
	for _, r := range []struct {
		resource schema.GroupVersionResource
		store    *cache.Store
	}{{gatewayResource, &g.observer.gateways}, {grantResource, &g.observer.grants}} {
		informer := unknown.ForResource(r.resource).Informer()
		*r.store = informer.GetStore()
		errs = append(errs, watch(informer, g.observer.surroundings()))
	}
	for kind, resource := range served {
		informer := unknown.ForResource(resource).Informer()
		g.observer.stores[kind] = informer.GetStore()
		errs = append(errs, watch(informer, g.observer.handlerOf(kind)))
	}
	g.cancel = func() { cancel(); g.observer.queue.ShutDown(); known.Shutdown(); unknown.Shutdown() }
	if err := errors.Join(errs...); err != nil {
		g.cancel()
		return err
	}
	known.Start(running.Done())
	unknown.Start(running.Done())
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

// Addr is the address that HTTP and gRPC are served at, as host:port.
func (g *Gateway) Addr() string { return g.addr }

// Routes are the routes being served.
func (g *Gateway) Routes() []*Route { return *g.routes.Load() }

func draw(n int) int { return rand.IntN(n) }
