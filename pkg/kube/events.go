package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
)

// Events writes Events. It is what client-go's recorder, which aggregates them, sends them by.
type Events struct{ client *Client }

var _ record.EventSink = Events{}

// Events returns where Events of the client's cluster go.
func (c *Client) Events() Events { return Events{c} }

var events = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// eventTime bounds the sending of one Event.
const eventTime = 10 * time.Second

// Create sends a new Event.
func (e Events) Create(event *corev1.Event) (*corev1.Event, error) {
	return e.send("create", (*rest.RESTClient).Post, event, "", event)
}

// Update replaces an Event.
func (e Events) Update(event *corev1.Event) (*corev1.Event, error) {
	return e.send("update", (*rest.RESTClient).Put, event, event.Name, event)
}

// Patch changes an Event by a strategic merge patch: its count, and when it was last seen.
func (e Events) Patch(event *corev1.Event, patch []byte) (*corev1.Event, error) {
	merge := func(r *rest.RESTClient) *rest.Request { return r.Patch(types.StrategicMergePatchType) }
	return e.send("patch", merge, event, event.Name, json.RawMessage(patch))
}

// send sends an Event once: the recorder tries again by itself.
func (e Events) send(verb string, begin func(*rest.RESTClient) *rest.Request, event *corev1.Event, name string, body any) (*corev1.Event, error) {
	ctx, cancel := context.WithTimeout(context.Background(), eventTime)
	defer cancel()
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("event %s/%s: %w", event.Namespace, event.Name, err)
	}
	raw, err := e.client.try(ctx, ask{verb, events, event.Namespace, func(r *rest.RESTClient, _ schema.GroupVersionResource) *rest.Request {
		request := begin(r).AbsPath(path(events, event.Namespace, name)...).Body(data)
		if verb != "patch" { // whose content type says which kind of patch it is
			request = request.SetHeader("Content-Type", "application/json")
		}
		return request
	}})
	if refusal := (*apierrors.StatusError)(nil); errors.As(err, &refusal) {
		return nil, refusal // bare, as the recorder knows it: it gives up what is refused, and makes anew what is gone
	}
	if err != nil {
		return nil, err
	}
	answer := &corev1.Event{}
	if err := json.Unmarshal(raw, answer); err != nil {
		return nil, fmt.Errorf("event %s/%s: %w", event.Namespace, event.Name, err)
	}
	return answer, nil
}
