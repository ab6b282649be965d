package testbed

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// Program is one that runs beside a bed and reaches its API server, such as a gateway.
type Program struct {
	process *process
	log     string // the file that it writes to
}

// StartProgram starts the executable at path with an administrator's kubeconfig in its environment, and returns once its
// output contains ready, or fails if it ends before. It ends with the bed.
func (b *Bed) StartProgram(ctx context.Context, ready, path string, args ...string) (*Program, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	wrapped, err := b.reaper.wrap(path)
	if err != nil {
		return nil, err
	}
	p := &Program{log: wrapped + ".log"}
	output, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	cmd := exec.Command(wrapped, args...)
	cmd.Dir, cmd.Env = b.Dir, childEnv("KUBECONFIG="+b.Kubeconfig)
	if p.process, err = startProcess(cmd, output); err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.programs = append(b.programs, p)
	b.mu.Unlock()
	return p, p.process.waitFor(ctx, ready, p.Log)
}

// Log is what the program has written by now. It is empty if it cannot be read.
func (p *Program) Log() Log { return readLog(p.log) }

func (b *Bed) stopPrograms() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, p := range b.programs {
		errs = append(errs, p.process.stop(stopGrace))
	}
	return errors.Join(errs...)
}
