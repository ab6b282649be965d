package cli

import (
	"os"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
)

func TestBuildOf(t *testing.T) {
	argo := []*debug.Module{{Path: argoRollouts, Version: "v1.10.1"}}
	for _, tt := range []struct {
		name, version, commit string
		info                  debug.BuildInfo
		want                  Build
	}{
		{"the linker was told", "v1.2.3", "0f1e", debug.BuildInfo{
			GoVersion: "go1.26.8", Deps: argo, Main: debug.Module{Version: "v1.2.4-0.2026"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abcd"}},
		}, Build{"v1.2.3", "0f1e", "go1.26.8", "v1.10.1"}},
		{"built by the Go toolchain alone", "", "", debug.BuildInfo{
			GoVersion: "go1.26.8", Deps: argo, Main: debug.Module{Version: "v1.2.4-0.2026"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abcd"}, {Key: "vcs.modified", Value: "false"}},
		}, Build{"v1.2.4-0.2026", "abcd", "go1.26.8", "v1.10.1"}},
		{"with changes", "", "", debug.BuildInfo{
			GoVersion: "go1.26.8", Deps: argo, Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}, {Key: "vcs.revision", Value: "abcd"}},
		}, Build{"unknown", "abcd-dirty", "go1.26.8", "v1.10.1"}},
		{"nothing is known", "", "", debug.BuildInfo{}, Build{"unknown", "unknown", "unknown", "unknown"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := buildOf(tt.version, tt.commit, &tt.info); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// The linker does not complain of a variable that is not there.
func TestMakefileNamesTheVariables(t *testing.T) {
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	here := reflect.TypeFor[Build]().PkgPath()
	for _, variable := range []string{here + ".version=", here + ".commit="} {
		if !strings.Contains(strings.ReplaceAll(string(text), "$(MODULE)", module), "-X "+variable) {
			t.Errorf("the Makefile does not set %s", variable)
		}
	}
}

const module = "github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform"
