package testbed

import (
	"fmt"
	"os"
	"os/signal"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/rollout/trafficrouting/plugin/rpc"
	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	goplugin "github.com/hashicorp/go-plugin"
)

// bed serves the tests of this package; nil without assets.
var bed *Bed

// The test binary plays three parts: the tests, the plugin that the controller starts, and a program that uses a bed.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(handshake.MagicCookieKey) != "":
		servePlugin()
	case os.Getenv(programEnv) != "":
		os.Exit(runProgram())
	default:
		os.Exit(Run(options(), func(b *Bed) int { bed = b; return m.Run() }))
	}
}

const pluginName, otherPluginName = "test/idle", "other/idle"

// options registers this binary as a plugin under two names.
func options() Options {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Options{
		Plugins:    []Plugin{{Name: pluginName, Binary: self}, {Name: otherPluginName, Binary: self}},
		GatewayAPI: true,
		Progress:   os.Stderr,
	}
}

var handshake = goplugin.HandshakeConfig{
	ProtocolVersion:  1,
	MagicCookieKey:   "ARGO_ROLLOUTS_RPC_PLUGIN",
	MagicCookieValue: "trafficrouter",
}

func servePlugin() {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: handshake,
		Plugins:         map[string]goplugin.Plugin{"RpcTrafficRouterPlugin": &rpc.RpcTrafficRouterPlugin{Impl: idle{}}},
	})
}

// idle is a traffic router that agrees to everything.
type idle struct{}

func (idle) InitPlugin() types.RpcError                                 { return types.RpcError{} }
func (idle) Type() string                                               { return "idle" }
func (idle) RemoveManagedRoutes(*v1alpha1.Rollout) (err types.RpcError) { return err }

func (idle) UpdateHash(*v1alpha1.Rollout, string, string, []v1alpha1.WeightDestination) (err types.RpcError) {
	return err
}

func (idle) SetWeight(*v1alpha1.Rollout, int32, []v1alpha1.WeightDestination) (err types.RpcError) {
	return err
}

func (idle) SetHeaderRoute(*v1alpha1.Rollout, *v1alpha1.SetHeaderRoute) (err types.RpcError) {
	return err
}

func (idle) SetMirrorRoute(*v1alpha1.Rollout, *v1alpha1.SetMirrorRoute) (err types.RpcError) {
	return err
}

func (idle) VerifyWeight(*v1alpha1.Rollout, int32, []v1alpha1.WeightDestination) (types.RpcVerified, types.RpcError) {
	return types.Verified, types.RpcError{}
}

// programEnv makes the test binary a program that keeps a bed up, prints its folder, and waits for Ctrl-C without
// stopping the bed.
const programEnv = "TESTBED_PROGRAM"

func runProgram() int {
	ctrlC := make(chan os.Signal, 1)
	signal.Notify(ctrlC, os.Interrupt)
	o := options()
	o.Progress = nil
	b, err := Start(background, o)
	if err == nil {
		err = b.useRouted(background)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(b.Dir)
	<-ctrlC
	return 0
}
