package check

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/argoproj/argo-rollouts/utils/plugin/types"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

// Binary is what the plugin's file is called; a release's has the platform after it.
const Binary = "rollouts-plugin-trafficrouter-glooplatform"

// field is where ConfigMap argo-rollouts-config has the traffic routers.
const field = "trafficRouterPlugins"

// restart is what a change of the ConfigMap takes.
const restart = "and restart the controller"

// pluginName is what the controller takes for a plugin's name (argo-rollouts, utils/config).
var pluginName = regexp.MustCompile(`^[a-zA-Z0-9-]+/[a-zA-Z0-9_.-]+$`)

// entriesOf returns the traffic routers that a ConfigMap registers, read as the controller does, and what is wrong with the
// list as such.
func entriesOf(name string, configMap engine.Object) ([]types.PluginItem, []Finding) {
	text, fault := dataOf(configMap)
	if fault == "" {
		fault = listFault(text)
	}
	var entries []types.PluginItem
	if fault == "" {
		if err := yaml.Unmarshal([]byte(text), &entries); err != nil {
			fault = fmt.Sprintf("%s cannot be read (%v), so the controller ends when it starts", field, err)
		}
	}
	if fault != "" {
		return nil, []Finding{{Fail, name, fault, "write it as deploy/by-url/configmap.yaml does, " + restart}}
	}
	var findings []Finding
	if err := yaml.UnmarshalStrict([]byte(text), &entries); err != nil {
		findings = append(findings, Finding{Warn, name, fmt.Sprintf("the controller passes over a field of %s: %v", field, err), "correct it, " + restart})
	}
	for _, entry := range entries {
		if !pluginName.MatchString(entry.Name) {
			findings = append(findings, Finding{Fail, name, fmt.Sprintf("%q is no name of a plugin, so the controller ends when it starts", entry.Name),
				"name it in two parts with one slash, " + restart})
		}
	}
	return entries, findings
}

// dataOf returns the text of the list of traffic routers, or why there is none.
func dataOf(configMap engine.Object) (text, fault string) {
	read := struct {
		Data map[string]string `json:"data"`
	}{}
	if err := json.Unmarshal(configMap.JSON, &read); err != nil {
		return "", fmt.Sprintf("it cannot be read: %v", err)
	}
	if strings.TrimSpace(read.Data[field]) == "" {
		return "", "it has no " + field + ", so no traffic router is registered"
	}
	return read.Data[field], ""
}

// listFault says what a text is in place of a list; empty: nothing.
func listFault(text string) string {
	var tree any
	if yaml.Unmarshal([]byte(text), &tree) != nil {
		return "" // which is said with the parser's own words
	}
	switch tree.(type) {
	case []any:
		return ""
	case map[string]any:
		return field + " is a map, and the controller takes nothing but a list: it ends when it starts"
	default:
		return field + " is no list, so the controller ends when it starts"
	}
}

// ours returns the entries that are this plugin, by one of its names, by the name of the file or by its sha256.
func ours(entries []types.PluginItem, names []string, self Self) []types.PluginItem {
	var found []types.PluginItem
	for _, entry := range entries {
		if slices.Contains(names, entry.Name) || strings.HasPrefix(path.Base(entry.Location), Binary) || self.Sha256 != "" && entry.Sha256 == self.Sha256 {
			found = append(found, entry)
		}
	}
	return found
}

// unregistered is the finding that no entry is this plugin.
func unregistered(name string, entries []types.PluginItem, names []string) Finding {
	var others []string
	for _, entry := range entries {
		others = append(others, entry.Name)
	}
	found := fmt.Sprintf("it registers no plugin %s", strings.Join(names, " or "))
	if len(others) > 0 {
		found += ", only " + strings.Join(others, ", ")
	}
	return Finding{Fail, name, found, "add it as deploy/by-url/configmap.yaml does, " + restart + "; a plugin of another name is found by --name"}
}
