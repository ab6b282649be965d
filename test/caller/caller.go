// Package caller starts the plugin and calls it as the Argo Rollouts controller does.
package caller

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"github.com/argoproj/argo-rollouts/rollout/trafficrouting/plugin/rpc"
	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
)

// Plugin is a running plugin.
type Plugin struct {
	rpc.TrafficRouterPlugin

	cmd    *exec.Cmd
	client *goplugin.Client
	log    *log
}

// Start starts a binary with the credentials in a kubeconfig, and initialises it.
func Start(binary, kubeconfig string, args ...string) (*Plugin, error) {
	p := &Plugin{cmd: exec.Command(binary, args...), log: &log{}}
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	p.client = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: 1, MagicCookieKey: "ARGO_ROLLOUTS_RPC_PLUGIN", MagicCookieValue: "trafficrouter",
		},
		Plugins: goplugin.PluginSet{"RpcTrafficRouterPlugin": &rpc.RpcTrafficRouterPlugin{}},
		Cmd:     p.cmd,
		Logger:  hclog.NewNullLogger(),
		Stderr:  p.log,
	})
	if err := p.dispense(); err != nil {
		p.Stop()
		return nil, fmt.Errorf("%w\n%s", err, p.Log())
	}
	return p, nil
}

func (p *Plugin) dispense() error {
	protocol, err := p.client.Client()
	if err != nil {
		return err
	}
	dispensed, err := protocol.Dispense("RpcTrafficRouterPlugin")
	if err != nil {
		return err
	}
	p.TrafficRouterPlugin = dispensed.(rpc.TrafficRouterPlugin)
	if err := p.InitPlugin(); err.HasError() {
		return err
	}
	return nil
}

// Stop ends the plugin.
func (p *Plugin) Stop() { p.client.Kill() }

// KillNow kills the process, which learns nothing of it.
func (p *Plugin) KillNow() error { return p.cmd.Process.Kill() }

// Exited reports whether the process has ended.
func (p *Plugin) Exited() bool { return p.client.Exited() }

// PID is the plugin's process id.
func (p *Plugin) PID() int { return p.cmd.Process.Pid }

// Log is what the plugin has written to stderr by now.
func (p *Plugin) Log() string { return p.log.String() }

// log is what a process writes, readable meanwhile.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
