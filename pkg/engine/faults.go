package engine

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed is how many things an error lists before it only counts the rest.
const maxListed = 10

// faults are several errors on one line, for someone who reads an Event.
type faults []error

func (fs faults) Error() string { return list(fs, error.Error, "; ") }

func (fs faults) Unwrap() []error { return fs }

// worded is an error in words of its own that tells, by errors.Is, which kind of error it is.
type worded struct {
	text string
	kind error
}

func (w worded) Error() string { return w.text }

func (w worded) Unwrap() error { return w.kind }

// join returns nil for no error, the error for one, and for several all of them on one line.
func join(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	default:
		return faults(errs)
	}
}

// named puts the object's name before each of an object's faults.
func named(object string, errs []error) error {
	all := make([]error, len(errs))
	for i, err := range errs {
		all[i] = fmt.Errorf("%s: %w", object, err)
	}
	return join(all)
}

// list joins at most ten texts and counts the rest.
func list[T any](things []T, text func(T) string, separator string) string {
	var texts []string
	for i, thing := range things {
		if i == maxListed {
			texts = append(texts, fmt.Sprintf("and %d more", len(things)-maxListed))
			break
		}
		texts = append(texts, text(thing))
	}
	return strings.Join(texts, separator)
}
