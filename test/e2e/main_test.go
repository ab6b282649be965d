// Package e2e runs whole releases: the real controller, the real plugin, and a gateway that real requests go through.
package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gatewayapi"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// The names that the plugin is registered by. Each has a process of its own.
const (
	today        = "solo-io/glooplatform"
	firstRelease = "solo-io/glooplatformAPI"
	alias        = "argo-x/other"
	mortal       = "test/mortal"  // is killed
	fragile      = "test/fragile" // likewise, in another test
	bounded      = "test/bounded" // may change tables in one namespace only
	inEast       = "test/east"    // calls its cluster east
	inWest       = "test/west"    // is registered in another cluster, which it calls west
	downloaded   = "test/loaded"  // comes by HTTP, with its sha256
	successor    = "argoproj-labs/gatewayAPI"
)

// allowedNamespace is where tables of the plugin called bounded may be.
const allowedNamespace = "gateways"

var (
	bed    *testbed.Bed
	gw     *gateway.Gateway    // in place of Gloo
	edge   *gatewayapi.Gateway // serves routes of the Gateway API
	binary string              // the plugin
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait for the controller most of the time, so more of them than there are processors run at once.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv(testbed.Env) == "off" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "e2e-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "plugin")
	if err := testbed.Build(context.Background(), binary, "-race"); err != nil {
		return fail(err)
	}
	released, stop, err := serveRelease(binary)
	if err != nil {
		return fail(err)
	}
	defer stop()
	return testbed.Run(testbed.Options{
		Plugins: []testbed.Plugin{
			{Name: today, Binary: binary},
			{Name: firstRelease, Binary: binary},
			{Name: alias, Binary: binary},
			{Name: mortal, Binary: binary},
			{Name: fragile, Binary: binary},
			{Name: bounded, Binary: binary, Args: []string{"--route-namespaces", allowedNamespace}},
			{Name: inEast, Binary: binary, Args: []string{"--cluster", "east"}},
			{Name: successor, Binary: binary},
			released,
		},
		GatewayAPI:     true,
		Rights:         []string{"deploy/rbac", "deploy/rbac-gateway-api"},
		ControllerArgs: []string{"--qps=500", "--burst=1000"},
	}, func(b *testbed.Bed) int {
		if b == nil {
			return m.Run()
		}
		bed = b
		gateways := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: allowedNamespace}}
		if err := bed.Client.Create(context.Background(), gateways); err != nil {
			return fail(err)
		}
		if gw, err = gateway.Start(context.Background(), b.Config, gateway.Options{Delay: 50 * time.Millisecond, Cluster: "east"}); err != nil {
			return fail(err)
		}
		// At once: a weight that is not served yet when the controller looks again is looked at 10 seconds later.
		if edge, err = gatewayapi.Start(context.Background(), b.Config, 0); err != nil {
			return fail(err)
		}
		code := m.Run()
		if err := errors.Join(gw.Stop(), edge.Stop()); err != nil {
			return fail(err)
		}
		for _, line := range bed.Controller.Log().Grep("DATA RACE|panic: ") {
			code = fail(fmt.Errorf("the controller's log holds %q", line))
		}
		return code
	})
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	return 1
}
