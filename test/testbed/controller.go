package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// stopGrace is how long a program may take to end by itself.
const stopGrace = 10 * time.Second

// Controller is the Argo Rollouts controller of a bed.
type Controller struct {
	// Kubeconfig is the path of a file with the credentials of the controller's service account, which are its plugins' too.
	Kubeconfig string

	bed     *Bed
	program string
	dir     string // its working folder, where it puts plugin-bin

	mu      sync.Mutex
	process *process
}

// configureController writes what the controller reads when it starts.
func (b *Bed) configureController(ctx context.Context) error {
	type entry struct {
		Name     string   `json:"name"`
		Location string   `json:"location"`
		SHA256   string   `json:"sha256,omitempty"`
		Args     []string `json:"args,omitempty"`
	}
	var entries []entry
	for _, p := range b.options.Plugins {
		location, err := p.location()
		if err != nil {
			return fmt.Errorf("plugin %s: %w", p.Name, err)
		}
		entries = append(entries, entry{p.Name, location, p.SHA256, p.Args})
	}
	list, err := yaml.Marshal(entries)
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Namespace: ControllerNamespace, Name: configName}
	for _, obj := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ControllerNamespace}},
		&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"trafficRouterPlugins": string(list)}},
	} {
		if err := b.Client.Create(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}

// location returns where the controller finds the executable.
func (p Plugin) location() (string, error) {
	if p.URL != "" {
		return p.URL, nil
	}
	path, err := filepath.Abs(p.Binary)
	if err != nil {
		return "", err
	}
	_, err = os.Stat(path)
	return "file://" + path, err
}

// Start starts the controller, if it is not running, and waits until it reconciles.
func (c *Controller) Start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil && c.process.running() {
		return nil
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	mark := c.LogMark()
	file, err := os.OpenFile(c.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	// port 0: the system picks one that is free
	args := append([]string{"--kubeconfig", c.Kubeconfig, "--leader-elect=false", "--namespace", ControllerNamespace,
		"--metricsPort=0", "--healthzPort=0"}, c.bed.options.ControllerArgs...)
	cmd := exec.Command(c.program, args...)
	cmd.Dir = c.dir
	cmd.Env = append(childEnv("KUBECONFIG="+c.Kubeconfig, "ROLLOUT_VERIFY_RETRY_INTERVAL=1",
		"POD_NAMESPACE="+ControllerNamespace), c.bed.options.ControllerEnv...)
	if c.process, err = startProcess(cmd, file); err != nil {
		return err
	}
	return c.process.waitFor(ctx, "Started controller", func() Log { return c.LogSince(mark) })
}

// Stop ends the controller and the plugins that it started. Rollouts stand still until Start is called again.
func (c *Controller) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return nil
	}
	return c.process.stop(stopGrace)
}

// Restart is Stop and Start: the controller and its plugins lose what they hold in memory.
func (c *Controller) Restart(ctx context.Context) error {
	if err := c.Stop(); err != nil {
		return err
	}
	return c.Start(ctx)
}

// PID is the controller's process id, or 0 if it is not running.
func (c *Controller) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil || !c.process.running() {
		return 0
	}
	return c.process.pid()
}

// ErrNoPlugin is returned while the controller runs no process for a plugin. It starts one at the first reconcile of a
// Rollout that names the plugin.
var ErrNoPlugin = errors.New("no plugin process")

// PluginPID is the process id of the plugin registered under name.
func (c *Controller) PluginPID(name string) (int, error) {
	parent := c.PID()
	if parent == 0 {
		return 0, fmt.Errorf("%s: the controller is not running: %w", name, ErrNoPlugin)
	}
	started, err := children(parent)
	if err != nil {
		return 0, err
	}
	path := filepath.Join("plugin-bin", name)
	for _, p := range started {
		if program, _, _ := strings.Cut(p.command, " "); strings.HasSuffix(program, path) {
			return p.pid, nil
		}
	}
	return 0, fmt.Errorf("%s: %w", name, ErrNoPlugin)
}

// KillPlugin kills the process of the plugin registered under name and returns when it is gone. The controller starts
// another one when it next needs it.
func (c *Controller) KillPlugin(ctx context.Context, name string) error {
	pid, err := c.PluginPID(name)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) {
		now, err := c.PluginPID(name)
		if errors.Is(err, ErrNoPlugin) {
			return true, nil
		}
		return now != pid, err
	})
}

// LogFile is the path of what the controller and its plugins have written since the bed was started.
func (c *Controller) LogFile() string { return filepath.Join(c.bed.Dir, "controller.log") }

// LogMark is the present end of the log, for LogSince.
func (c *Controller) LogMark() int64 {
	info, err := os.Stat(c.LogFile())
	if err != nil {
		return 0
	}
	return info.Size()
}

// LogSince reads what the log holds after a mark: to look at it again and again, for it may have many megabytes. It is
// empty if it cannot be read.
func (c *Controller) LogSince(mark int64) Log {
	file, err := os.Open(c.LogFile())
	if err != nil {
		return ""
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, mark, math.MaxInt64-mark))
	if err != nil {
		return ""
	}
	return Log(text)
}

// Log reads the log as it is now. It is empty if it cannot be read.
func (c *Controller) Log() Log { return readLog(c.LogFile()) }
