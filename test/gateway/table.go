package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	commonv2 "github.com/solo-io/solo-apis/client-go/common.gloo.solo.io/v2"
	networkingv2 "github.com/solo-io/solo-apis/client-go/networking.gloo.solo.io/v2"
	"google.golang.org/protobuf/encoding/protojson"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Table is a RouteTable ready to serve. It does not change; methods that alter it return another one.
type Table struct {
	Namespace, Name string
	Labels          map[string]string
	Created         time.Time
	Hosts           []string // none: a table that others delegate to
	Weight          int32    // among the delegates of one route
	Freeze          bool     // failureMode FREEZE_CONFIG
	HTTP            []*Route
	TCP             []*Route
	TLS             []*Route
}

// Route is a route of a table.
type Route struct {
	Section string // http, tcp or tls
	Index   int    // in its section
	Name    string
	Labels  map[string]string
	// Fault says why the route cannot be served. It answers 500 in its place.
	Fault error

	matchers []matcher  // none: any request
	streams  []streamed // of tcp and tls
	forward  *split
	rewrite  rewrite
	delegate *networkingv2.DelegateAction
	redirect *networkingv2.RedirectAction
	direct   *networkingv2.DirectResponseAction
}

// String is the place of the route in its table.
func (r *Route) String() string {
	place := fmt.Sprintf("%s[%d]", r.Section, r.Index)
	if r.Name != "" {
		place += fmt.Sprintf(" %q", r.Name)
	}
	return place
}

// Decode reads a RouteTable. It fails only if the object is none at all, by the types that Gloo publishes; fields that
// these do not know are passed over. A route that cannot be served has a Fault instead.
func Decode(obj *unstructured.Unstructured) (*Table, error) {
	raw, err := json.Marshal(obj.Object["spec"])
	if err != nil {
		return nil, err
	}
	spec := &networkingv2.RouteTableSpec{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, spec); err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	if err := checkEnums(obj.Object["spec"]); err != nil {
		return nil, err
	}
	t := &Table{
		Namespace: obj.GetNamespace(),
		Name:      obj.GetName(),
		Labels:    obj.GetLabels(),
		Created:   obj.GetCreationTimestamp().Time,
		Hosts:     spec.GetHosts(),
		Weight:    spec.GetWeight(),
		Freeze:    spec.GetFailureMode() == networkingv2.RouteTableSpec_FREEZE_CONFIG,
	}
	for i, r := range spec.GetHttp() {
		route := &Route{Section: "http", Index: i, Name: r.GetName(), Labels: r.GetLabels()}
		route.Fault = route.setHTTP(t.Namespace, r, spec.GetDefaultDestination())
		t.HTTP = append(t.HTTP, route)
	}
	for i, r := range spec.GetTcp() {
		route := &Route{Section: "tcp", Index: i}
		for _, m := range r.GetMatchers() {
			route.streams = append(route.streams, streamed{port: m.GetPort()})
		}
		route.Fault = route.setForward(t.Namespace, r.GetForwardTo().GetDestinations())
		t.TCP = append(t.TCP, route)
	}
	for i, r := range spec.GetTls() {
		route := &Route{Section: "tls", Index: i}
		for _, m := range r.GetMatchers() {
			route.streams = append(route.streams, streamed{m.GetPort(), m.GetSniHosts()})
		}
		route.Fault = route.setForward(t.Namespace, r.GetForwardTo().GetDestinations())
		t.TLS = append(t.TLS, route)
	}
	return t, nil
}

func (r *Route) setHTTP(namespace string, route *networkingv2.HTTPRoute, byDefault *commonv2.DestinationReference) error {
	for i, m := range route.GetMatchers() {
		compiled, err := newMatcher(m)
		if err != nil {
			return fmt.Errorf("matchers[%d]: %w", i, err)
		}
		r.matchers = append(r.matchers, compiled)
	}
	switch action := route.GetActionType().(type) {
	case *networkingv2.HTTPRoute_ForwardTo:
		refs := action.ForwardTo.GetDestinations()
		if len(refs) == 0 && byDefault != nil {
			refs = []*commonv2.DestinationReference{byDefault}
		}
		rewrite, err := newRewrite(action.ForwardTo, r.matchers)
		r.rewrite = rewrite
		return errors.Join(err, r.setForward(namespace, refs))
	case *networkingv2.HTTPRoute_Delegate:
		r.delegate = action.Delegate
		if action.Delegate.GetSortMethod() != networkingv2.DelegateAction_TABLE_WEIGHT {
			return fmt.Errorf("sortMethod %s is not supported by this stand-in", action.Delegate.GetSortMethod())
		}
		if len(action.Delegate.GetAllowedRoutes()) > 0 {
			return fmt.Errorf("allowedRoutes is not supported by this stand-in")
		}
		return nil
	case *networkingv2.HTTPRoute_Redirect:
		r.redirect = action.Redirect
		return nil
	case *networkingv2.HTTPRoute_DirectResponse:
		r.direct = action.DirectResponse
		return nil
	case *networkingv2.HTTPRoute_Graphql:
		return fmt.Errorf("graphql is not supported by this stand-in")
	case nil:
		return fmt.Errorf("the route has no action")
	default:
		return fmt.Errorf("unknown action %T", action)
	}
}

func (r *Route) setForward(namespace string, refs []*commonv2.DestinationReference) error {
	destinations, err := asDestinations(namespace, refs)
	if err != nil {
		return err
	}
	forward, err := newSplit(destinations)
	if err != nil {
		return err
	}
	r.forward = &forward
	return nil
}

// String is the name that messages use.
func (t *Table) String() string { return t.Namespace + "/" + t.Name }
