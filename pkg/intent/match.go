package intent

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
)

// RequestMatch is a condition on a request. All that is set must hold; nothing set holds for any request.
type RequestMatch struct {
	// Method and Path are nil for any.
	Method, Path *ValueMatch
	Headers      []HeaderMatch
}

// HeaderMatch is a condition on a request's header.
type HeaderMatch struct {
	Name string
	ValueMatch
}

// ValueMatch is a condition on a text.
type ValueMatch struct {
	Type MatchType
	// Value is what the text is compared with; it is never empty.
	Value string
}

// MatchType is how a text is compared.
type MatchType string

// A text is compared as a whole, by its beginning, or as a whole with an RE2 expression.
const (
	Exact  MatchType = "exact"
	Prefix MatchType = "prefix"
	Regex  MatchType = "regex"
)

func headerMatch(match v1alpha1.HeaderRoutingMatch) (HeaderMatch, error) {
	if match.HeaderName == "" {
		return HeaderMatch{}, errors.New("headerName is not set")
	}
	value, err := valueMatch("headerValue of "+match.HeaderName, match.HeaderValue)
	return HeaderMatch{match.HeaderName, value}, err
}

// optionalMatch returns the condition of a field that may be missing.
func optionalMatch(field string, value *v1alpha1.StringMatch) (*ValueMatch, error) {
	if value == nil {
		return nil, nil
	}
	match, err := valueMatch(field, value)
	return &match, err
}

// valueMatch returns the condition that a field of a step states. Its error names the field.
func valueMatch(field string, value *v1alpha1.StringMatch) (ValueMatch, error) {
	if value == nil {
		value = &v1alpha1.StringMatch{}
	}
	var set []ValueMatch
	for _, given := range []ValueMatch{{Exact, value.Exact}, {Prefix, value.Prefix}, {Regex, value.Regex}} {
		if given.Value != "" {
			set = append(set, given)
		}
	}
	if len(set) != 1 {
		return ValueMatch{}, fmt.Errorf("%s has %d of exact, prefix and regex; set one", field, len(set))
	}
	if set[0].Type == Regex {
		if _, err := regexp.Compile(value.Regex); err != nil {
			return ValueMatch{}, fmt.Errorf("%s: regex is no RE2 expression: %w", field, err)
		}
	}
	return set[0], nil
}
