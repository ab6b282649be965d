package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/gateway"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/testbed"
)

// programEnv makes the test binary the demo itself. Every process that the demo starts inherits it, and its value, which
// is different for each run, tells them from all others.
const programEnv = "DEMO_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// program is a demo that runs.
type program struct {
	cmd    *exec.Cmd
	lines  *bufio.Reader
	stderr bytes.Buffer
	mark   string
}

func start(t *testing.T, plugin string, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(os.Args[0], append([]string{"-plugin", plugin}, args...)...)}
	p.mark = fmt.Sprintf("%s=%d.%s", programEnv, os.Getpid(), strings.ReplaceAll(t.Name(), "/", "."))
	p.cmd.Env = append(os.Environ(), p.mark)
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill() // it may have ended just now
		}
	})
	return p
}

// readUntil returns the lines up to one with this text.
func (p *program) readUntil(t *testing.T, text string) string {
	t.Helper()
	read := &strings.Builder{}
	for {
		line, err := p.lines.ReadString('\n')
		read.WriteString(line)
		if err != nil {
			t.Fatalf("%v before %q in\n%s%s", err, text, read, &p.stderr)
		}
		if strings.Contains(line, text) {
			return read.String()
		}
	}
}

// end sends a signal, waits for the end and returns the exit code. No process of the program may be left then.
func (p *program) end(t *testing.T, sig os.Signal) int {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, p.lines); err != nil {
		t.Error(err)
	}
	failed := (*exec.ExitError)(nil)
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &failed) {
		t.Error(err)
	}
	if left := marked(t, p.mark); len(left) > 0 {
		t.Errorf("still running after %v:\n%s", sig, strings.Join(left, "\n"))
	}
	return p.cmd.ProcessState.ExitCode()
}

// marked lists the living processes that have mark in their environment.
func marked(t *testing.T, mark string) []string {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(environments) == 0 {
		t.Skip("no /proc to look for processes in")
	}
	var found []string
	for _, file := range environments {
		environment, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(environment, []byte(mark+"\x00")) {
			continue // it has ended, or it is not ours to look at, or it is another's
		}
		command, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if err == nil && len(command) > 0 {
			found = append(found, string(bytes.ReplaceAll(command, []byte{0}, []byte(" "))))
		}
	}
	return found
}

// buildPlugin builds the plugin, or skips where there is nothing to run it with.
func buildPlugin(t *testing.T) string {
	t.Helper()
	setting := os.Getenv(testbed.Env)
	assets := filepath.Join("..", "..", "bin", "assets", "rollouts-controller")
	if _, err := os.Stat(assets); setting == "off" || err != nil && setting != "required" {
		t.Skip("no test bed: switched off, or not built; run `make assets`")
	}
	binary := filepath.Join(t.TempDir(), "plugin")
	if err := testbed.Build(t.Context(), binary); err != nil {
		t.Fatal(err)
	}
	return binary
}

func TestDemo(t *testing.T) {
	plugin := buildPlugin(t)
	t.Run("to its end and kept up", func(t *testing.T) {
		t.Parallel()
		p := start(t, plugin, "-keep", "-requests", "1000")
		told := p.readUntil(t, "collected as garbage")
		for _, want := range []string{
			`at rest: canary asked for 0, table 0 \(demo\), measured 0.0 \(1,000 requests: blue 100.0\)`,
			`setWeight 10: canary asked for 10, table 10 \(demo 90, demo-canary 10\), measured \d+\.\d \(1,000 requests: blue \d+\.\d, yellow \d+\.\d\)`,
			`setWeight 50: canary asked for 50, table 50 \(demo 50, demo-canary 50\), measured \d+\.\d \(1,000 requests: blue \d+\.\d, yellow \d+\.\d\)`,
			`setWeight 100: canary asked for 100, table 100 \(demo 0, demo-canary 100\), measured 100.0 \(1,000 requests: yellow 100.0\)`,
			`released, .*: canary asked for 0, table 0 \(demo\), measured 0.0 \(1,000 requests: yellow 100.0\)`,
			`RouteTable gloo-mesh/default is as it was applied`,
		} {
			if !regexp.MustCompile(`(?m)^` + want).MatchString(told) {
				t.Errorf("no line %q in\n%s", want, told)
			}
		}
		checkShares(t, told)
		checkPreview(t, plugin, told)
		checkCurl(t, told)
		deleteRollout(t, told)
		p.readUntil(t, "no Rollout, at weight 0")
		if code := p.end(t, os.Interrupt); code != 0 {
			t.Errorf("exit code %d after Ctrl-C, want 0: it was asked to stay until then\n%s", code, &p.stderr)
		}
	})
	for name, tt := range map[string]struct {
		line string // that is waited for
		sig  os.Signal
	}{
		"ended while starting":  {"API server up", syscall.SIGTERM},
		"ended while releasing": {"setWeight 10", os.Interrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, plugin)
			p.readUntil(t, tt.line)
			if code := p.end(t, tt.sig); code != exitInterrupted {
				t.Errorf("exit code %d, want %d\n%s", code, exitInterrupted, &p.stderr)
			}
		})
	}
}

// checkShares compares what was measured with what was asked for: of 1,000 requests at 50 percent, 7.9 points are five
// standard deviations, which chance exceeds once in two million runs.
func checkShares(t *testing.T, told string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`asked for (\d+), .* measured ([\d.]+) `).FindAllStringSubmatch(told, -1) {
		asked, err1 := strconv.ParseFloat(m[1], 64)
		measured, err2 := strconv.ParseFloat(m[2], 64)
		if err := errors.Join(err1, err2); err != nil {
			t.Error(err)
		}
		if measured < asked-7.9 || measured > asked+7.9 {
			t.Errorf("measured %v, asked for %v", measured, asked)
		}
	}
}

// checkCurl asks the printed address as curl would.
func checkCurl(t *testing.T, told string) {
	t.Helper()
	url := regexp.MustCompile(`curl (http://\S+)`).FindStringSubmatch(told)
	if url == nil {
		t.Errorf("no address in\n%s", told)
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer := gateway.Answer{}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || answer.Image != newImage || answer.Path != "/color" {
		t.Errorf("status %d, answer %+v; want %s at /color", res.StatusCode, answer, newImage)
	}
}

// deleteRollout deletes the demo's Rollout with the printed kubeconfig, as a person may.
func deleteRollout(t *testing.T, told string) {
	t.Helper()
	path := regexp.MustCompile(`export KUBECONFIG=(\S+)`).FindStringSubmatch(told)
	if path == nil {
		t.Errorf("no kubeconfig in\n%s", told)
		return
	}
	config, err := clientcmd.BuildConfigFromFlags("", path[1])
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Resource(v1alpha1.RolloutGVR).Namespace(rolloutKey.Namespace).Delete(t.Context(), rolloutKey.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{{"-requests", "999"}, {"examples"}, {"-no-such-flag"}} {
		if code := run(args); code != exitWrongUse {
			t.Errorf("demo %v: exit code %d, want %d", args, code, exitWrongUse)
		}
	}
}
