package kube

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// item is an object on its way through client-go's reflector, which wants to know its metadata.
type item struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	object engine.Object
}

func newItem(resource schema.GroupVersionResource, raw json.RawMessage) (*item, error) {
	o, err := trim(resource, raw)
	if err != nil {
		return nil, err
	}
	return &item{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, ResourceVersion: o.ResourceVersion}, object: o}, nil
}

// DeepCopyObject is part of runtime.Object. Nobody changes an item, so it is its own copy.
func (i *item) DeepCopyObject() runtime.Object { return i }

// items is a page of a list.
type items struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*item
}

// DeepCopyObject is part of runtime.Object.
func (l *items) DeepCopyObject() runtime.Object { return l }

// supply is where a shelf's objects come from: one resource, in one namespace or in all.
type supply struct {
	client    *Client
	resource  schema.GroupVersionResource
	namespace string
	shelf     *shelf
	// believe is told when a watch begins, and doubt when it ends or a request fails.
	believe func()
	doubt   func(verb string, err error)
}

// run keeps the shelf as the API server says until ctx ends.
func (s *supply) run(ctx context.Context) {
	source := &cache.ListWatch{ListWithContextFunc: s.list, WatchFuncWithContext: s.watch}
	options := cache.ReflectorOptions{Name: "routes", TypeDescription: s.resource.Resource}
	cache.NewReflectorWithOptions(source, &item{}, stock{s.shelf}, options).RunWithContext(ctx)
}

// pageTime bounds the reading of a page. Meanwhile, and after it, the API server is asked for single objects.
const pageTime = 15 * time.Second

// list reads a page, and doubts what is remembered if it cannot. The reflector tries again by itself.
func (s *supply) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := s.read(ctx, options.Continue)
	if err == nil {
		return list, nil
	}
	s.doubt("list", err)
	if apierrors.IsResourceExpired(err) { // at that, the reflector would take the next first page for all there is
		err = errors.New("the list broke off and is begun anew: " + err.Error())
	}
	return nil, err
}

// read reads the page that comes next. It asks for the latest state, whatever version the reflector would be content with: an
// older one may lack what this process has written.
func (s *supply) read(ctx context.Context, next string) (*items, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	raw, err := s.client.try(ctx, ask{"list", s.resource, s.namespace, func(r *rest.RESTClient, of schema.GroupVersionResource) *rest.Request {
		return r.Get().AbsPath(path(of, s.namespace, "")...).Param("limit", listPage).Param("continue", next).MaxRetries(0)
	}})
	if err != nil {
		return nil, err
	}
	page, err := s.client.page(raw)
	if err != nil {
		return nil, err
	}
	list := &items{ListMeta: page.Metadata}
	for _, raw := range page.Items {
		i, err := newItem(s.resource, raw)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, i)
	}
	return list, nil
}

// errListByWatch makes the reflector list as ever, though the environment may tell client-go to do that by a watch.
var errListByWatch = errors.New("lists are not read by a watch")

func (s *supply) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if options.SendInitialEvents != nil {
		return nil, errListByWatch
	}
	resource, err := s.client.version(ctx, s.resource)
	if err != nil {
		s.doubt("watch", err)
		return nil, err
	}
	client := s.client.connection.current()
	request := client.Get().AbsPath(path(resource, s.namespace, "")...).
		Param("watch", "true").Param("allowWatchBookmarks", "true").Param("resourceVersion", options.ResourceVersion)
	if options.TimeoutSeconds != nil {
		request = request.Param("timeoutSeconds", strconv.FormatInt(*options.TimeoutSeconds, 10))
	}
	body, err := request.Stream(naming(ctx, "watch", resource))
	s.client.forget(s.resource, err)
	if apierrors.IsUnauthorized(err) { // the reflector will ask again, by other credentials
		if _, renewal := s.client.connection.renew(client); renewal != nil {
			err = renewal
		}
	}
	if err != nil {
		err = s.client.explain(err, ask{verb: "watch", resource: s.resource, namespace: s.namespace})
		s.doubt("watch", err)
		return nil, err
	}
	s.believe()
	reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, "watch", "ClientWatchDecoding")
	return watch.NewStreamWatcher(&changes{ctx, s, body, json.NewDecoder(body)}, reporter), nil
}

// changes decodes what a watch says.
type changes struct {
	ctx    context.Context // the round's, after which the end of the watch means nothing
	supply *supply
	body   io.Closer
	json   *json.Decoder
}

// Decode is part of watch.Decoder. After an error nothing more is told, so that what is remembered is not to be believed.
func (c *changes) Decode() (watch.EventType, runtime.Object, error) {
	kind, o, err := c.next()
	broken := err
	if kind == watch.Error && err == nil {
		broken = apierrors.FromObject(o)
	}
	if broken != nil && c.ctx.Err() == nil {
		c.supply.doubt("watch", broken)
	}
	return kind, o, err
}

// next reads what the watch says next: of an object, of a version up to which there was nothing to say, or of an error.
func (c *changes) next() (watch.EventType, runtime.Object, error) {
	event := struct {
		Type   watch.EventType `json:"type"`
		Object json.RawMessage `json:"object"`
	}{}
	if err := c.json.Decode(&event); err != nil {
		return "", nil, err
	}
	switch event.Type {
	case watch.Error:
		status := &metav1.Status{}
		return event.Type, status, json.Unmarshal(event.Object, status)
	case watch.Bookmark:
		mark := &item{}
		return event.Type, mark, json.Unmarshal(event.Object, &struct {
			Metadata *metav1.ObjectMeta `json:"metadata"`
		}{&mark.ObjectMeta})
	default:
		i, err := newItem(c.supply.resource, event.Object)
		return event.Type, i, err
	}
}

// Close is part of watch.Decoder.
func (c *changes) Close() { _ = c.body.Close() } // nothing is read from it any more

// stock is a shelf as client-go's reflector fills it.
type stock struct{ shelf *shelf }

var _ cache.ReflectorStore = stock{}

// Add is part of cache.ReflectorStore.
func (s stock) Add(o any) error {
	s.shelf.put(o.(*item).object)
	return nil
}

// Update is part of cache.ReflectorStore.
func (s stock) Update(o any) error { return s.Add(o) }

// Delete is part of cache.ReflectorStore.
func (s stock) Delete(o any) error {
	gone := o.(*item).object
	s.shelf.remove(gone.Namespace, gone.Name, gone.ResourceVersion)
	return nil
}

// Replace is part of cache.ReflectorStore.
func (s stock) Replace(all []any, version string) error {
	var objects []engine.Object
	for _, o := range all {
		objects = append(objects, o.(*item).object)
	}
	s.shelf.replace(objects, version)
	return nil
}

// Resync is part of cache.ReflectorStore. A shelf has nothing to resync.
func (s stock) Resync() error { return nil }
