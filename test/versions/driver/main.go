// Command driver calls the plugin with the types and the RPC client of the Argo Rollouts version that it is built against. It
// starts the binary that its first argument names, with the kubeconfig that its second names. Then it carries out the calls that it
// reads from stdin, and answers each on stdout, one JSON value after another.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/utils/plugin/types"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/caller"
)

// call is one of the controller's. A Rollout's fields that this version does not know are passed over.
type call struct {
	Verb       string                       `json:"verb"`
	Rollout    *v1alpha1.Rollout            `json:"rollout"`
	Weight     int32                        `json:"weight"`
	Additional []v1alpha1.WeightDestination `json:"additional"`
	Header     *v1alpha1.SetHeaderRoute     `json:"header"`
	Mirror     *v1alpha1.SetMirrorRoute     `json:"mirror"`
	CanaryHash string                       `json:"canaryHash"`
	StableHash string                       `json:"stableHash"`
}

// answer is what came of a call.
type answer struct {
	// Version is that of Argo Rollouts, which the driver is built against.
	Version string `json:"version"`
	// Type is what the plugin calls itself.
	Type     string `json:"type"`
	Verified bool   `json:"verified"`
	Error    string `json:"error"`
}

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(1)
	}
}

func run(binary, kubeconfig string) error {
	plugin, err := caller.Start(binary, kubeconfig)
	if err != nil {
		return err
	}
	defer plugin.Stop()
	about := answer{Version: version(), Type: plugin.Type()}
	calls, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		c := call{}
		if err := calls.Decode(&c); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		a := about
		verified, fault := c.make(plugin)
		a.Verified, a.Error = verified, fault.ErrorString
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}

// make calls the plugin.
func (c call) make(plugin *caller.Plugin) (verified bool, fault types.RpcError) {
	switch c.Verb {
	case "UpdateHash":
		fault = plugin.UpdateHash(c.Rollout, c.CanaryHash, c.StableHash, c.Additional)
	case "SetWeight":
		fault = plugin.SetWeight(c.Rollout, c.Weight, c.Additional)
	case "VerifyWeight":
		var answer types.RpcVerified
		answer, fault = plugin.VerifyWeight(c.Rollout, c.Weight, c.Additional)
		verified = answer == types.Verified
	case "SetHeaderRoute":
		fault = plugin.SetHeaderRoute(c.Rollout, c.Header)
	case "SetMirrorRoute":
		fault = plugin.SetMirrorRoute(c.Rollout, c.Mirror)
	case "RemoveManagedRoutes":
		fault = plugin.RemoveManagedRoutes(c.Rollout)
	default:
		fault.ErrorString = "no such verb: " + c.Verb
	}
	return verified, fault
}

// version is that of the module that holds the types and the RPC client.
func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/argoproj/argo-rollouts" {
			return module.Version
		}
	}
	return ""
}
