package testbed

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

//go:embed reaper.sh
var reaperScript string

// reaper is a small process that outlives this one by a moment, however this one ends, and takes the bed down with it.
type reaper struct {
	dir  string
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

func startReaper(dir string) (*reaper, error) {
	if err := os.WriteFile(filepath.Join(dir, "pids"), nil, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command("sh", "-c", reaperScript, "reaper", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // out of the reach of Ctrl-C
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("reaper: %w", err)
	}
	return &reaper{dir: dir, cmd: cmd, pipe: pipe}, nil
}

// wrap returns a program that runs path after telling the reaper of itself: the process id stays the same through exec.
func (r *reaper) wrap(path string) (string, error) {
	wrapped := filepath.Join(r.dir, filepath.Base(path))
	script := fmt.Sprintf("#!/bin/sh\necho $$ >>'%s'\nexec '%s' \"$@\"\n", filepath.Join(r.dir, "pids"), path)
	return wrapped, os.WriteFile(wrapped, []byte(script), 0o700)
}

// dismiss ends the reaper. All that it watched must have ended.
func (r *reaper) dismiss() error {
	if _, err := io.WriteString(r.pipe, "done\n"); err != nil {
		return fmt.Errorf("reaper: %w", err)
	}
	return r.cmd.Wait()
}
