package oracle

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// Fits reports whether a request meets all conditions of a match.
func Fits(match intent.RequestMatch, req *http.Request) bool {
	if match.Method != nil && !holds(*match.Method, req.Method) || match.Path != nil && !holds(*match.Path, req.URL.Path) {
		return false
	}
	for _, h := range match.Headers {
		if values := req.Header.Values(h.Name); len(values) == 0 || !holds(h.ValueMatch, values[0]) {
			return false
		}
	}
	return true
}

func holds(m intent.ValueMatch, text string) bool {
	switch m.Type {
	case intent.Prefix:
		return strings.HasPrefix(text, m.Value)
	case intent.Regex:
		return regexp.MustCompile("^(?:" + m.Value + ")$").MatchString(text)
	default:
		return text == m.Value
	}
}
