package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The test binary stands in for the plugin's.
func TestInstall(t *testing.T) {
	folder, out := t.TempDir(), bytes.Buffer{}
	path := filepath.Join(folder, Binary)
	if err := os.WriteFile(path, []byte("an older one"), 0o400); err != nil {
		t.Fatal(err)
	}
	c := Install()
	c.SetArgs([]string{folder})
	c.SetOut(&out)
	if err := c.ExecuteContext(t.Context()); err != nil || out.String() != path+"\n" {
		t.Errorf("it prints %q, %v", out.String(), err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d; %v", len(got), len(want), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o755 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	holds(t, folder, 1)
}

func TestInstallFails(t *testing.T) {
	folder, blocked := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(blocked, Binary, "a folder that is not empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "program")
	if err := os.WriteFile(program, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, program, folder string }{
		{"no such program", filepath.Join(folder, "none"), blocked},
		{"no such folder", program, filepath.Join(folder, "none")},
		{"a folder of that name", program, blocked},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if path, err := install(tt.program, tt.folder); err == nil || path != "" {
				t.Errorf("installed at %q", path)
			}
			holds(t, blocked, 1)
		})
	}
}

// holds checks how many files are in a folder.
func holds(t *testing.T, folder string, want int) {
	t.Helper()
	if found, err := os.ReadDir(folder); err != nil || len(found) != want {
		t.Errorf("%s holds %v, want %d; %v", folder, found, want, err)
	}
}
