package testbed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// controllerUser is the user that the API server takes the service account of Argo Rollouts' manifests for.
const controllerUser = "system:serviceaccount:" + ControllerNamespace + ":argo-rollouts"

// rightsOfRollouts are the files by which Argo Rollouts grants its controller what it needs itself.
var rightsOfRollouts = []string{"manifests/role/argo-rollouts-clusterrole.yaml", "manifests/cluster-install/argo-rollouts-clusterrolebinding.yaml"}

// rightsOfPlugin are the default of Options.Rights.
var rightsOfPlugin = []string{"deploy/rbac"}

// Kustomize builds a folder as `kubectl kustomize` does.
func Kustomize(folder string) (string, error) {
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return "", err
	}
	text, err := objects.AsYaml()
	return string(text), err
}

// addController makes the user that the controller and its plugins are, with the rights of Argo Rollouts' manifests and
// those of the options, and returns the path of its kubeconfig.
func (b *Bed) addController(ctx context.Context, l layout) (kubeconfig string, err error) {
	for _, name := range rightsOfRollouts {
		text, err := os.ReadFile(filepath.Join(l.rollouts, name))
		if err != nil {
			return "", err
		}
		if _, err := b.Apply(ctx, ControllerNamespace, string(text)); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, folder := range b.options.rights() {
		text, err := Kustomize(filepath.Join(l.root, folder))
		if err != nil {
			return "", err
		}
		if _, err := b.Apply(ctx, ControllerNamespace, text); err != nil {
			return "", fmt.Errorf("%s: %w", folder, err)
		}
	}
	config, kubeconfig, err := b.AddUser(controllerUser)
	if err != nil {
		return "", err
	}
	user, err := client.New(config, client.Options{})
	if err != nil {
		return "", err
	}
	return kubeconfig, b.WaitUntil(ctx, "the rights of "+controllerUser, func(ctx context.Context) (bool, error) {
		err := user.Get(ctx, client.ObjectKey{Namespace: ControllerNamespace, Name: configName}, &corev1.ConfigMap{})
		return err == nil, err
	})
}
