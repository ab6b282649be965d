package testbed

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

var background = context.Background()

// useRouted makes the controller start a plugin.
func (b *Bed) useRouted(ctx context.Context) error {
	if _, err := b.Apply(ctx, "default", routed); err != nil {
		return err
	}
	_, err := b.WaitFor(ctx, client.ObjectKey{Namespace: "default", Name: "web"}, Healthy)
	return err
}

// A program that ends by Ctrl-C, or worse, without Stop does not leave its bed behind.
func TestBedEndsWithItsProgram(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]os.Signal{"interrupted": os.Interrupt, "killed": os.Kill} {
		t.Run(name, func(t *testing.T) {
			needBed(t)
			program := exec.Command(os.Args[0])
			program.Env = append(os.Environ(), programEnv+"=1")
			program.Stderr = os.Stderr
			out, err := program.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := program.Start(); err != nil {
				t.Fatal(err)
			}
			dir, readErr := bufio.NewReader(out).ReadString('\n')
			dir = strings.TrimSpace(dir)
			pids := allProcesses(t, dir)
			if err := errors.Join(readErr, program.Process.Signal(sig)); err != nil {
				t.Fatal(err)
			}
			_ = program.Wait() // it was killed
			waitForEnd(t, dir, pids)
		})
	}
}

func needBed(t *testing.T) {
	if bed == nil {
		t.Skip("no test bed: switched off, or not built; run `make assets`")
	}
}

// allProcesses are the processes of the bed in dir, and their children.
func allProcesses(t *testing.T, dir string) []int {
	t.Helper()
	list, err := os.ReadFile(filepath.Join(dir, "pids"))
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for text := range strings.FieldsSeq(string(list)) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		plugins, err := children(pid)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
		for _, p := range plugins {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

func waitForEnd(t *testing.T, dir string, pids []int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for _, pid := range pids {
		if err := poll(ctx, func() (bool, error) { return !alive(pid), nil }); err != nil {
			t.Errorf("process %d is still there: %v", pid, err)
		}
	}
	if err := poll(ctx, func() (bool, error) {
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist), nil
	}); err != nil {
		t.Errorf("folder %s is still there: %v", dir, err)
	}
}

// alive is false for a zombie: where nobody collects orphans, it has ended all the same.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	return !strings.Contains(string(stat), ") Z ")
}

func TestMissingAssetsSayWhatToDo(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Options{Assets: t.TempDir()})
	if !errors.Is(err, ErrNoAssets) || !strings.Contains(err.Error(), "make assets") {
		t.Errorf("Start without assets: %v; want ErrNoAssets", err)
	}
	_, err = Start(t.Context(), Options{CRDs: []string{"no-such-folder"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-folder") {
		t.Errorf("Start with a missing CRD folder: %v", err)
	}
}

func TestUserHasNoRights(t *testing.T) {
	t.Parallel()
	s := bed.For(t)
	config, _, err := bed.AddUser("nobody")
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Get(t.Context(), s.Key("web"), rolloutObject())
	if err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("Get as nobody: %v; want it forbidden", err)
	}
}
