package testbed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Apply creates the objects of a YAML text with any number of documents, in their order; one that exists already is
// replaced as a whole, except for its status. Objects without a namespace go into the one given. It returns them as
// stored.
func (b *Bed) Apply(ctx context.Context, namespace, text string) ([]*unstructured.Unstructured, error) {
	objects, err := Decode(text)
	if err != nil {
		return nil, err
	}
	for _, obj := range objects {
		if err := b.apply(ctx, namespace, obj); err != nil {
			return nil, fmt.Errorf("%s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
	}
	return objects, nil
}

// Decode reads the objects of a YAML text. Empty documents are passed over.
func Decode(text string) ([]*unstructured.Unstructured, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	var objects []*unstructured.Unstructured
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		obj := &unstructured.Unstructured{}
		raw, err := yaml.YAMLToJSON(doc)
		if err != nil {
			return nil, err
		}
		if string(raw) == "null" {
			continue
		}
		if err := obj.UnmarshalJSON(raw); err != nil {
			return nil, err
		}
		objects = append(objects, obj)
	}
}

func (b *Bed) apply(ctx context.Context, namespace string, obj *unstructured.Unstructured) error {
	namespaced, err := b.Client.IsObjectNamespaced(obj)
	if err != nil {
		return err
	}
	if namespaced && obj.GetNamespace() == "" {
		obj.SetNamespace(namespace)
	}
	wanted := obj.DeepCopy()
	err = b.Client.Create(ctx, obj)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	return retry.RetryOnConflict(Patience, func() error {
		now := &unstructured.Unstructured{}
		now.SetGroupVersionKind(wanted.GroupVersionKind())
		if err := b.Client.Get(ctx, client.ObjectKeyFromObject(wanted), now); err != nil {
			return err
		}
		wanted.DeepCopyInto(obj)
		obj.SetResourceVersion(now.GetResourceVersion())
		return b.Client.Update(ctx, obj)
	})
}
