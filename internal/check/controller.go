package check

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
)

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// oldest is the oldest controller whose sources docs/controller-versions.md speaks of.
var oldest = version.MustParseGeneric("1.7")

// controllerVersion returns the version of the Argo Rollouts controller in a namespace, by the tag of its image, or nil.
func controllerVersion(ctx context.Context, cluster Cluster, namespace string) (*version.Version, Finding) {
	object := "Argo Rollouts controller in namespace " + namespace
	listed, err := cluster.List(ctx, deployments, namespace, labels.Everything())
	if err != nil {
		return nil, unread(object, "its Deployment", err)
	}
	var images []string
	for _, d := range listed {
		deployment := struct {
			Spec struct {
				Template struct {
					Spec struct {
						Containers []struct {
							Image string `json:"image"`
						} `json:"containers"`
					} `json:"spec"`
				} `json:"template"`
			} `json:"spec"`
		}{}
		if err := json.Unmarshal(d.JSON, &deployment); err != nil {
			return nil, unread(object, "Deployment "+d.Name, err)
		}
		for _, container := range deployment.Spec.Template.Spec.Containers {
			images = append(images, container.Image)
		}
	}
	return judgeImages(object, images)
}

// judgeImages returns the version of the one among the images that is the controller's.
func judgeImages(object string, images []string) (*version.Version, Finding) {
	isController := func(image string) bool {
		name, _, _ := strings.Cut(path.Base(image), "@")
		name, _, _ = strings.Cut(name, ":")
		return name == "argo-rollouts"
	}
	i := slices.IndexFunc(images, isController)
	if i < 0 {
		return nil, Finding{Warn, object, "no Deployment there has its image, so its version is not known", "name its namespace by --controller-namespace"}
	}
	untagged, _, _ := strings.Cut(path.Base(images[i]), "@")
	_, tag, _ := strings.Cut(untagged, ":")
	v, err := version.ParseGeneric(tag)
	switch {
	case err != nil:
		return nil, Finding{Note, object, fmt.Sprintf("its image %s does not tell its version", images[i]), ""}
	case v.LessThan(oldest):
		return v, Finding{Warn, object, fmt.Sprintf("it is v%s, with which nobody has tried the plugin", v), "use v1.8 or newer"}
	default:
		return v, Finding{OK, object, fmt.Sprintf("it is v%s", v), ""}
	}
}
