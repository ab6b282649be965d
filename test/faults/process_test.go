package faults

import (
	"strings"
	"sync"

	"github.com/argoproj/argo-rollouts/rollout/trafficrouting/plugin/rpc"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/caller"
)

// process is the plugin's, which is started again when it is needed and has ended, as the controller does it.
type process struct {
	kubeconfig string
	args       []string

	mu      sync.Mutex
	running *caller.Plugin
	kills   int
	logs    []string // of those that have ended
}

// router returns the plugin, which it starts if need be.
func (p *process) router() (rpc.TrafficRouterPlugin, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil && !p.running.Exited() {
		return p.running, nil
	}
	p.end()
	started, err := caller.Start(binary, p.kubeconfig, p.args...)
	if err != nil {
		return nil, err
	}
	p.running = started
	return started, nil
}

// end is called with the lock held.
func (p *process) end() {
	if p.running != nil {
		p.running.Stop()
		p.logs = append(p.logs, p.running.Log())
		p.running = nil
	}
}

// kill kills the process, if one is running.
func (p *process) kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil || p.running.Exited() {
		return nil
	}
	p.kills++
	return p.running.KillNow()
}

// killed returns how often the process was killed.
func (p *process) killed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kills
}

// stop ends the process, and returns what all have logged.
func (p *process) stop() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	return strings.Join(p.logs, "")
}
