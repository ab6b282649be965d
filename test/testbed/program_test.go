package testbed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// script writes a program for the shell, and returns its path.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), strings.ReplaceAll(t.Name(), "/", "-"))
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestProgramKnowsTheAPIServer(t *testing.T) {
	t.Parallel()
	needBed(t)
	p, err := bed.StartProgram(t.Context(), "kubeconfig", script(t, `echo "$KUBECONFIG $1"; exec sleep 600`), "an argument")
	if err != nil {
		t.Fatal(err)
	}
	if want := bed.Kubeconfig + " an argument\n"; string(p.Log()) != want {
		t.Errorf("it says %q, want %q", p.Log(), want)
	}
}

func TestProgramThatEndsAtOnceSaysWhy(t *testing.T) {
	t.Parallel()
	needBed(t)
	_, err := bed.StartProgram(t.Context(), "ready", script(t, "echo the port is taken\nexit 3"))
	if err == nil || !strings.Contains(err.Error(), "exit status 3\nthe port is taken") {
		t.Errorf("it ended with %v", err)
	}
}
