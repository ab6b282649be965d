package kube

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// trim returns an object with what is worth remembering of it: not the lists of who manages which field, not the copy of it
// that kubectl apply keeps in an annotation, and of a Service only its ports. The rest stays as the API server sent it.
func trim(resource schema.GroupVersionResource, raw json.RawMessage) (engine.Object, error) {
	tree, meta := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &tree); err != nil {
		return engine.Object{}, fmt.Errorf("the API server's answer cannot be read: %w", err)
	}
	if err := json.Unmarshal(tree["metadata"], &meta); err != nil {
		return engine.Object{}, fmt.Errorf("the API server's answer cannot be read: metadata: %w", err)
	}
	delete(meta, "managedFields")
	var err error
	if meta["annotations"], err = withoutCopy(meta["annotations"]); err != nil {
		return engine.Object{}, err
	}
	if meta["annotations"] == nil {
		delete(meta, "annotations")
	}
	if tree["metadata"], err = json.Marshal(meta); err != nil {
		return engine.Object{}, err
	}
	if resource == services {
		tree = map[string]json.RawMessage{"metadata": tree["metadata"], "spec": tree["spec"]}
	}
	small, err := json.Marshal(tree)
	if err != nil {
		return engine.Object{}, err
	}
	return decode(small)
}

// lastApplied is the annotation in which kubectl apply keeps a copy of the object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// withoutCopy empties that annotation. It stays as such, since patches depend on which annotations there are.
func withoutCopy(annotations json.RawMessage) (json.RawMessage, error) {
	all := map[string]string{}
	if len(annotations) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(annotations, &all); err != nil {
		return nil, fmt.Errorf("the API server's answer cannot be read: metadata.annotations: %w", err)
	}
	if _, found := all[lastApplied]; !found {
		return annotations, nil
	}
	all[lastApplied] = ""
	return json.Marshal(all)
}
