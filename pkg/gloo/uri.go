package gloo

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// uri is a StringMatch of the RouteTable API on a request's path; at most one of the first four is set, and none holds for
// any path. ignoreCase has no effect on a regex, which must match the whole path.
type uri struct {
	Exact      string `json:"exact,omitempty"`
	Prefix     string `json:"prefix,omitempty"`
	Suffix     string `json:"suffix,omitempty"`
	Regex      string `json:"regex,omitempty"`
	IgnoreCase bool   `json:"ignoreCase,omitempty"`
}

// and returns the condition that holds where u, which may be nil, and a match on the path both do. It fails with
// errImpossible where no path can fit both, and otherwise where Gloo, which asks for one condition, cannot state both.
func (u *uri) and(match intent.ValueMatch) (uri, error) {
	switch {
	case u.any():
		return spellURI(match), nil
	case match.Type == intent.Exact:
		return u.andExact(match.Value)
	case u.Exact != "" && (!u.IgnoreCase || isUncased(u.Exact)):
		return u.ifFits(match)
	case match.Type == intent.Prefix && u.Prefix != "":
		return u.andPrefix(match.Value)
	case match.Type == intent.Regex && match.Value == u.Regex:
		return *u, nil
	default:
		return uri{}, u.inexpressible(match)
	}
}

// any reports whether every path fits; all begin with a slash.
func (u *uri) any() bool {
	return u == nil || u.Exact == "" && u.Suffix == "" && u.Regex == "" && (u.Prefix == "" || u.Prefix == "/")
}

func spellURI(match intent.ValueMatch) uri {
	switch match.Type {
	case intent.Prefix:
		return uri{Prefix: match.Value}
	case intent.Regex:
		return uri{Regex: match.Value}
	default:
		return uri{Exact: match.Value}
	}
}

func (u *uri) andExact(path string) (uri, error) {
	fits, err := u.fits(path)
	if err != nil {
		return uri{}, err
	}
	if !fits {
		return uri{}, errImpossible
	}
	return uri{Exact: path}, nil
}

// fits reports whether a path meets the condition.
func (u *uri) fits(path string) (bool, error) {
	if u.Regex != "" {
		whole, err := wholeExpression(u.Regex)
		if err != nil {
			return false, err
		}
		return whole.MatchString(path), nil
	}
	return u.fitsText(path), nil
}

// fitsText is fits for a condition that is no regex.
func (u *uri) fitsText(path string) bool {
	fold := func(text string) string { return text }
	if u.IgnoreCase {
		fold = strings.ToLower
	}
	path = fold(path)
	return (u.Exact == "" || path == fold(u.Exact)) && strings.HasPrefix(path, fold(u.Prefix)) && strings.HasSuffix(path, fold(u.Suffix))
}

// ifFits returns u, which holds for one path alone, if that path fits a match.
func (u *uri) ifFits(match intent.ValueMatch) (uri, error) {
	wanted := spellURI(match)
	fits, err := wanted.fits(u.Exact)
	if err != nil {
		return uri{}, err
	}
	if !fits {
		return uri{}, errImpossible
	}
	return *u, nil
}

// andPrefix returns the longer of two prefixes, if it begins with the shorter one. Only where u ignores case, and is the
// longer one, it matters that the other does not.
func (u *uri) andPrefix(prefix string) (uri, error) {
	wanted := uri{Prefix: u.Prefix, IgnoreCase: u.IgnoreCase}
	if wanted.fitsText(prefix) {
		return uri{Prefix: prefix}, nil
	}
	shorter := uri{Prefix: prefix, IgnoreCase: u.IgnoreCase}
	switch {
	case !shorter.fitsText(u.Prefix):
		return uri{}, errImpossible
	case u.IgnoreCase && !isUncased(prefix):
		return uri{}, u.inexpressible(intent.ValueMatch{Type: intent.Prefix, Value: prefix})
	}
	return *u, nil
}

// isUncased reports whether a text has no letters that come in two cases.
func isUncased(text string) bool {
	return strings.ToLower(text) == text && strings.ToUpper(text) == text
}

func wholeExpression(expression string) (*regexp.Regexp, error) {
	whole, err := regexp.Compile(`^(?s:` + expression + `)$`)
	if err != nil {
		return nil, fmt.Errorf("uri.regex is no RE2 expression: %w", err)
	}
	return whole, nil
}

func (u *uri) inexpressible(match intent.ValueMatch) error {
	return fmt.Errorf("path %s %q cannot be asked for beside uri %s: Gloo takes one condition on the path; leave path out, or give the route a matcher without a uri, or with a prefix",
		match.Type, match.Value, u)
}

// String returns the condition as a table gives it.
func (u *uri) String() string {
	var text string
	switch {
	case u.Exact != "":
		text = fmt.Sprintf("exact %q", u.Exact)
	case u.Prefix != "":
		text = fmt.Sprintf("prefix %q", u.Prefix)
	case u.Suffix != "":
		text = fmt.Sprintf("suffix %q", u.Suffix)
	default:
		text = fmt.Sprintf("regex %q", u.Regex)
	}
	if u.IgnoreCase {
		text += " (ignoreCase)"
	}
	return text
}
