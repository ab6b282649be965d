package engine

import (
	"encoding/json"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/jsonfault"
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

// head is what is read of an object before any API looks at it.
type head struct {
	Metadata metadata `json:"metadata"`
}

type metadata struct {
	Namespace       string            `json:"namespace"`
	Name            string            `json:"name"`
	UID             string            `json:"uid"`
	ResourceVersion string            `json:"resourceVersion"`
	Generation      int64             `json:"generation"`
	Labels          map[string]string `json:"labels"`
	Annotations     map[string]string `json:"annotations"`
}

// ReadObject reads an object's metadata from its JSON. What stands behind them, it leaves to those who want it.
func ReadObject(raw json.RawMessage) (Object, error) {
	m := metadata{}
	if !jsonfault.ReadField(raw, "metadata", &m) {
		read, err := jsonfault.Read[head](raw)
		if err != nil {
			return Object{}, err
		}
		m = read.Metadata
	}
	return Object{
		Namespace:       m.Namespace,
		Name:            m.Name,
		UID:             m.UID,
		ResourceVersion: m.ResourceVersion,
		Generation:      m.Generation,
		Labels:          m.Labels,
		Annotations:     m.Annotations,
		JSON:            raw,
	}, nil
}
