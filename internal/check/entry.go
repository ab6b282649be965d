package check

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/argoproj/argo-rollouts/utils/plugin/types"
)

// Self is what is known of the binary that checks.
type Self struct {
	// Sha256 is that of its file, in hexadecimal digits; empty: it could not be read.
	Sha256 string
	// OS and Arch are what it was built for.
	OS, Arch string
}

// judgeEntry returns what is to be said of an entry that registers this plugin. Misfit is why the binary does not take the
// entry's args; nil if it does.
func judgeEntry(name string, entry types.PluginItem, self Self, misfit error) []Finding {
	about := name + ": " + entry.Name
	findings := []Finding{{OK, name, fmt.Sprintf("registers %s, at %s", entry.Name, entry.Location), ""}}
	if fault := locationFault(entry.Location); fault != "" {
		findings = []Finding{{Fail, about, fault, "give it the address of the plugin's binary, " + restart}}
	} else {
		findings = append(findings, judgeSum(about, entry, self)...)
	}
	if misfit != nil {
		findings = append(findings, Finding{Fail, about, fmt.Sprintf("args: %v; the plugin ends when it is started", misfit),
			"correct args, " + restart + "; --help lists the flags"})
	}
	return findings
}

// locationFault says why the controller cannot fetch a plugin from a location; empty: it can try.
func locationFault(location string) string {
	address, err := url.ParseRequestURI(location)
	switch {
	case location == "":
		return "it has no location, so the controller ends when it starts"
	case err != nil || address.Scheme != "http" && address.Scheme != "https" && address.Scheme != "file":
		return fmt.Sprintf("location %s is no http://, https:// or file:// address, so the controller ends when it starts", location)
	default:
		return ""
	}
}

// judgeSum compares an entry's sha256 with that of this binary.
func judgeSum(about string, entry types.PluginItem, self Self) []Finding {
	os, arch := platformOf(entry.Location)
	apart := os != "" && (os != self.OS || arch != self.Arch)
	const cure = "take the sum of that file from the checksums.txt of its release"
	switch {
	case strings.HasPrefix(entry.Location, "file:"):
		if entry.Sha256 == "" {
			return nil
		}
		return []Finding{{Note, about, "sha256 is not compared by the controller, since the location is a file", ""}}
	case entry.Sha256 == "":
		return []Finding{{Warn, about, "it has no sha256, so whatever its location answers is run with the controller's rights", cure}}
	case apart:
		return []Finding{{Warn, about, fmt.Sprintf("its sha256 cannot be compared: it is of a binary for %s/%s, and this one is for %s/%s", os, arch, self.OS, self.Arch),
			"check with the binary that is registered"}}
	case self.Sha256 == "":
		return []Finding{{Warn, about, "its sha256 cannot be compared, since this binary's own file cannot be read", ""}}
	case entry.Sha256 != self.Sha256:
		return []Finding{{Fail, about, fmt.Sprintf("its sha256 %s is not that of this binary, %s: it is of another version, or wrong, and then the controller ends when it starts", entry.Sha256, self.Sha256),
			"check with the binary that is registered, or " + cure}}
	default:
		return []Finding{{OK, about, "its sha256 is that of this binary", ""}}
	}
}

// platformOf returns the platform in the name of a release's file; empty: its name does not say.
func platformOf(location string) (os, arch string) {
	rest, named := strings.CutPrefix(path.Base(location), Binary+"-")
	if !named {
		return "", ""
	}
	os, arch, _ = strings.Cut(strings.TrimSuffix(rest, ".exe"), "-")
	return os, arch
}
