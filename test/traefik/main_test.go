// Package traefik holds no code: its tests run releases behind Traefik, a gateway of the Gateway API that nobody here wrote.
package traefik

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// program is what `make traefik` builds.
const program = "../../bin/assets/traefik"

// name is the one that the plugin is registered by.
const name = "argoproj-labs/gatewayAPI"

var (
	bed     *testbed.Bed
	clients *gateway.Client // of the Gateway
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if !isBuilt() || os.Getenv(testbed.Env) == "off" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "traefik-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	plugin := filepath.Join(dir, "plugin")
	if err := testbed.Build(context.Background(), plugin); err != nil {
		return fail(err)
	}
	return testbed.Run(testbed.Options{
		GatewayAPI: true,
		Plugins:    []testbed.Plugin{{Name: name, Binary: plugin}},
		Rights:     []string{"deploy/rbac-gateway-api"},
	}, func(b *testbed.Bed) int {
		if b == nil {
			return m.Run()
		}
		bed = b
		if err := serve(context.Background()); err != nil {
			return fail(err)
		}
		return m.Run()
	})
}

// isBuilt says whether there is a Traefik to test with. Unlike the bed it need not be there, whatever testbed.Env says: it
// takes longer to build than everything else together.
func isBuilt() bool {
	_, err := os.Stat(program)
	return err == nil
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "traefik:", err)
	return 1
}

// theGateway takes routes of all namespaces for hosts of example.com. A listener's port is that of an entry point.
const theGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: traefik}
spec: {controllerName: traefik.io/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: front, namespace: default}
spec:
  gatewayClassName: traefik
  listeners:
    - {name: http, protocol: HTTP, port: %s, hostname: "*.example.com", allowedRoutes: {namespaces: {from: All}}}
`

// serve starts Traefik with a Gateway, on the loopback interface.
func serve(ctx context.Context) error {
	address, err := testbed.FindAddress()
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if _, err := bed.Apply(ctx, "", fmt.Sprintf(theGateway, port)); err != nil {
		return err
	}
	clients = gateway.NewClient(address)
	_, err = bed.StartProgram(ctx, "Starting provider *gateway.Provider", program,
		"--entrypoints.web.address="+address,
		"--providers.kubernetesgateway=true",
		"--providers.kubernetesgateway.statusaddress.ip=127.0.0.1",
		"--providers.providersthrottleduration=100ms",
		"--global.checknewversion=false",
		"--log.level=INFO")
	return err
}
