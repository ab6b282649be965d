package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	modulePath   = "github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform"
	rolloutsPath = "github.com/argoproj/argo-rollouts"
	gatewayPath  = "sigs.k8s.io/gateway-api"

	etcdName       = "etcd"
	apiServerName  = "kube-apiserver"
	controllerName = "rollouts-controller"
)

// ErrNoAssets is returned by Start while a program that it runs has not been built.
var ErrNoAssets = errors.New("not built yet; run `make assets`")

// layout is where things are on this machine.
type layout struct {
	root     string   // of this module
	rollouts string   // of Argo Rollouts' module
	assets   string   // the folder with the programs
	crds     []string // folders and files of CRDs
}

// findLayout asks the go command, so it works from any folder of the module.
func findLayout(ctx context.Context, o Options) (layout, error) {
	root, err := moduleDir(ctx, ".", modulePath)
	if err != nil {
		return layout{}, err
	}
	rollouts, err := moduleDir(ctx, ".", rolloutsPath)
	if err != nil {
		return layout{}, err
	}
	l := layout{root: root, rollouts: rollouts, assets: o.Assets}
	if l.assets == "" {
		l.assets = filepath.Join(root, "bin", "assets")
	}
	l.crds = append([]string{filepath.Join(rollouts, "manifests", "crds"), filepath.Join(root, "test", "crds")}, o.CRDs...)
	if o.GatewayAPI {
		crds, err := gatewayCRDs(ctx, root)
		if err != nil {
			return layout{}, err
		}
		l.crds = append(l.crds, crds...)
	}
	for _, path := range l.crds {
		if _, err := os.Stat(path); err != nil {
			return layout{}, fmt.Errorf("CRDs: %w; run `make assets` if a module is not downloaded", err)
		}
	}
	programs := []string{etcdName, apiServerName}
	if !o.APIOnly {
		programs = append(programs, controllerName)
	}
	for _, name := range programs {
		if _, err := os.Stat(l.program(name)); err != nil {
			return layout{}, fmt.Errorf("%s: %w", l.program(name), ErrNoAssets)
		}
	}
	return l, nil
}

func (l layout) program(name string) string { return filepath.Join(l.assets, name) }

// gatewayCRDs are those of Options.GatewayAPI. A module of its own says in which version.
func gatewayCRDs(ctx context.Context, root string) ([]string, error) {
	dir, err := moduleDir(ctx, filepath.Join(root, "test", "crds", "gatewayapi"), gatewayPath)
	if err != nil {
		return nil, err
	}
	crds := filepath.Join(dir, "config", "crd")
	return []string{
		filepath.Join(crds, "standard"),
		filepath.Join(crds, "experimental", "gateway.networking.k8s.io_tcproutes.yaml"),
		filepath.Join(crds, "experimental", "gateway.networking.k8s.io_tlsroutes.yaml"),
	}, nil
}

// moduleDir returns the folder of a module that the one in folder within is or requires.
func moduleDir(ctx context.Context, within, path string) (string, error) {
	out, err := goCommand(ctx, "-C", within, "list", "-m", "-f", "{{.Dir}}", path)
	if err != nil {
		return "", err
	}
	if dir := strings.TrimSpace(string(out)); dir != "" {
		return dir, nil
	}
	return "", fmt.Errorf("module %s is not downloaded; run `make assets`", path)
}

// Build compiles the plugin of this module into the file out, with further flags of `go build`, such as -race.
func Build(ctx context.Context, out string, flags ...string) error {
	args := append([]string{"build", "-o", out}, flags...)
	_, err := goCommand(ctx, append(args, modulePath)...)
	return err
}

func goCommand(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out, nil
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
