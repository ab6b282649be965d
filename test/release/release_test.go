// Package release holds no code: its tests look at what `make release` has built.
package release

import (
	"bufio"
	"crypto/sha256"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const root = "../.."

// artifact is a file that a release publishes.
type artifact struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Kind string `json:"type"`
}

// binaries returns the binaries in dist/, by the names that they are published by.
func binaries(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "dist", "artifacts.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("make release has not been run")
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []artifact
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, a := range all {
		if a.Kind == "Binary" && strings.Count(a.Name, "-") > 3 { // what was built has the project's name, and its copy the platform's
			found[a.Name] = filepath.Join(root, a.Path)
		}
	}
	return found
}

// platforms are what a release is for, with what tells a file for each.
var platforms = map[string]func(path string) error{
	"linux-amd64":       func(path string) error { return isStaticELF(path, elf.EM_X86_64) },
	"linux-arm64":       func(path string) error { return isStaticELF(path, elf.EM_AARCH64) },
	"darwin-amd64":      func(path string) error { return isMachO(path, macho.CpuAmd64) },
	"darwin-arm64":      func(path string) error { return isMachO(path, macho.CpuArm64) },
	"windows-amd64.exe": func(path string) error { return isPE(path, pe.IMAGE_FILE_MACHINE_AMD64) },
	"windows-arm64.exe": func(path string) error { return isPE(path, pe.IMAGE_FILE_MACHINE_ARM64) },
}

const project = "rollouts-plugin-trafficrouter-glooplatform-"

// Each file is for the machine that its name says, may be run, and has the sum that is published.
func TestBinariesAreWhatTheirNamesSay(t *testing.T) {
	built := binaries(t)
	if len(built) != len(platforms) {
		t.Errorf("%d binaries, want %d: %v", len(built), len(platforms), built)
	}
	sums := checksums(t)
	for platform, fits := range platforms {
		t.Run(platform, func(t *testing.T) {
			path, found := built[project+platform]
			if !found {
				t.Fatalf("there is none; there are %v", built)
			}
			if err := fits(path); err != nil {
				t.Error(err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o111 != 0o111 {
				t.Errorf("it may not be run by everybody: %v, %v", info.Mode(), err)
			}
			if got := sum(t, path); got != sums[project+platform] {
				t.Errorf("its sum is %s, and checksums.txt says %s", got, sums[project+platform])
			}
		})
	}
}

func isStaticELF(path string, machine elf.Machine) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.Machine != machine {
		return fmt.Errorf("it is for %s", f.Machine)
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	if len(libraries) > 0 {
		return fmt.Errorf("it needs libraries %v", libraries)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("it needs a dynamic loader")
		}
	}
	return nil
}

func isMachO(path string, cpu macho.Cpu) error {
	f, err := macho.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.Cpu != cpu {
		return fmt.Errorf("it is for %s", f.Cpu)
	}
	return nil
}

func isPE(path string, machine uint16) error {
	f, err := pe.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.Machine != machine {
		return fmt.Errorf("it is for machine %#x", f.Machine)
	}
	return nil
}

// checksums returns the sums of checksums.txt by name.
func checksums(t *testing.T) map[string]string {
	t.Helper()
	file, err := os.Open(filepath.Join(root, "dist", "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sums := map[string]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if sum, name, found := strings.Cut(lines.Text(), "  "); found {
			sums[name] = sum
		}
	}
	return sums
}

func sum(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}

// A binary does not depend on the folder that it is built in, nor on when: of the same source, the flags of .goreleaser.yaml
// make the same file.
func TestBuildsAreTheSameAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the plugin twice")
	}
	var sums []string
	for range 2 {
		folder := t.TempDir()
		if err := copySource(folder); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(folder, "plugin")
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", out, ".")
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if err := isStaticELF(out, machineHere()); runtime.GOOS == "linux" && err != nil {
			t.Error(err)
		}
		sums = append(sums, sum(t, out))
	}
	if sums[0] != sums[1] {
		t.Errorf("two builds have the sums %v", sums)
	}
}

func machineHere() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}

// copySource copies what the plugin is built of.
func copySource(to string) error {
	for _, name := range []string{"internal", "pkg"} {
		if err := os.CopyFS(filepath.Join(to, name), os.DirFS(filepath.Join(root, name))); err != nil {
			return err
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "*.go"))
	if err != nil {
		return err
	}
	for _, file := range append(files, filepath.Join(root, "go.mod"), filepath.Join(root, "go.sum")) {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
