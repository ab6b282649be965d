package engine

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Object is an object of a routing API as the API server sent it.
type Object struct {
	Namespace, Name string
	UID             string
	ResourceVersion string
	Generation      int64
	Labels          map[string]string
	Annotations     map[string]string
	// JSON is the whole object.
	JSON json.RawMessage
	// Policies are those of the Rollout in question beside the object, if they were looked for: PoliciesKnown.
	Policies      []Object
	PoliciesKnown bool
}

// ReadObject reads an object's metadata from its JSON.
func ReadObject(raw json.RawMessage) (Object, error) {
	head := metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(raw, &head); err != nil {
		return Object{}, err
	}
	return Object{
		Namespace:       head.Namespace,
		Name:            head.Name,
		UID:             string(head.UID),
		Generation:      head.Generation,
		ResourceVersion: head.ResourceVersion,
		Labels:          head.Labels,
		Annotations:     head.Annotations,
		JSON:            raw,
	}, nil
}
