package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program in a process group of its own, which its children share.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the program has ended
	err  error         // how it ended; read it after done
}

func startProcess(cmd *exec.Cmd, output io.Writer) (*process, error) {
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// waitFor waits until a program's log contains text, for a minute at most, and fails if the program ends before.
func (p *process) waitFor(ctx context.Context, text string, log func() Log) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return poll(ctx, func() (bool, error) {
		running, now := p.running(), log()
		if !running {
			return false, fmt.Errorf("ended while starting: %w\n%s", p.err, now.Tail(20))
		}
		return now.Contains(text), nil
	})
}

// stop asks the program to end, and after grace kills it; children that it left behind are killed in either case.
func (p *process) stop(grace time.Duration) error {
	if p.running() {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		select {
		case <-p.done:
		case <-time.After(grace):
		}
	}
	if err := syscall.Kill(-p.pid(), syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("process group %d: %w", p.pid(), err)
	}
	<-p.done
	return nil
}

// child is one line of the process table.
type child struct {
	pid     int
	command string // the path it was started by, and its arguments
}

// children lists the living processes whose parent is pid.
func children(pid int) ([]child, error) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return childrenByPS(pid)
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var found []child
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		// "pid (name) state ppid ...", where the name may hold anything
		fields := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:])
		if len(fields) < 2 || fields[0] == "Z" || fields[1] != strconv.Itoa(pid) {
			continue
		}
		dir := filepath.Dir(path)
		command, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			continue
		}
		id, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			return nil, err
		}
		found = append(found, child{id, strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " "))})
	}
	return found, nil
}

// childrenByPS is for systems without /proc.
func childrenByPS(pid int) ([]child, error) {
	out, err := exec.Command("ps", "-axo", "pid=,ppid=,state=,args=").Output()
	if err != nil {
		return nil, fmt.Errorf("ps: %w", err)
	}
	var found []child
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[1] != strconv.Itoa(pid) || strings.HasPrefix(fields[2], "Z") {
			continue
		}
		id, err := strconv.Atoi(fields[0])
		if err != nil {
			return nil, err
		}
		found = append(found, child{id, strings.Join(fields[3:], " ")})
	}
	return found, nil
}
