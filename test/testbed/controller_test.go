package testbed

import (
	"errors"
	"strings"
	"testing"
)

// The bed of this test is its own: others would miss the controller while it restarts, and in the end it stops.
func TestControllerAndPluginsComeAndGo(t *testing.T) {
	t.Parallel()
	needBed(t)
	o := options()
	o.Progress = nil
	b, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { // also after t.Fatal
		pids := allProcesses(t, b.Dir)
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
		waitForEnd(t, b.Dir, pids)
	}()
	if _, err := b.StartProgram(t.Context(), "up", script(t, "echo up\nexec sleep 600")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Controller.PluginPID(pluginName); !errors.Is(err, ErrNoPlugin) {
		t.Errorf("before any Rollout: %v, want ErrNoPlugin", err)
	}
	s := b.For(t)
	s.Apply(routed)
	s.WaitFor("web", Healthy)
	first, err := b.Controller.PluginPID(pluginName)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Controller.KillPlugin(t.Context(), pluginName); err != nil {
		t.Fatal(err)
	}
	s.SetImage("web", "web:2")
	s.WaitFor("web", PausedAt(1))
	second, err := b.Controller.PluginPID(pluginName)
	if err != nil || second == first {
		t.Errorf("plugin %d, %v after killing %d", second, err, first)
	}
	before, mark := b.Controller.Log(), b.Controller.LogMark()
	if err := b.Controller.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, since := b.Controller.Log(), b.Controller.LogSince(mark); !since.Contains("Started controller") || !strings.HasSuffix(string(now), string(since)) || len(now)-len(since) < len(before) {
		t.Errorf("%d of %d bytes of the log are later than the first %d", len(since), len(now), len(before))
	}
	if alive(second) {
		t.Errorf("plugin %d outlives its controller", second)
	}
	s.PromoteFull("web")
	s.WaitFor("web", Healthy)
	if _, err := b.Controller.PluginPID(otherPluginName); !errors.Is(err, ErrNoPlugin) {
		t.Errorf("a plugin that no Rollout names: %v, want ErrNoPlugin", err)
	}
	if got := len(allProcesses(t, b.Dir)); got < 4 {
		t.Errorf("%d processes, want etcd, kube-apiserver, rollouts-controller and a plugin at least", got)
	}
	if lines := b.Controller.Log().Grep(`Copied plugin .*plugin-bin/other/idle`); len(lines) != 2 {
		t.Errorf("the controller has copied the other plugin %d times, want 2", len(lines))
	}
}
