package plugin

import (
	"path/filepath"

	"github.com/argoproj/argo-rollouts/utils/defaults"
)

// NameFromPath returns the name that the plugin is registered by, as the path tells it by which it was started: the
// controller keeps plugins as plugin-bin/<namespace>/<name>. It is empty for any other path.
func NameFromPath(path string) string {
	rest, name := filepath.Split(filepath.Clean(path))
	rest, namespace := filepath.Split(filepath.Clean(rest))
	if filepath.Base(filepath.Clean(rest)) != defaults.DefaultRolloutPluginFolder {
		return ""
	}
	return namespace + "/" + name
}
