package gatewayapi

// Mirror is a backend that gets copies of a part of the requests.
type Mirror struct {
	Backend Backend
	// Part of Whole requests are copied.
	Part, Whole int
}

func newMirror(namespace string, view mirrorView) Mirror {
	m := Mirror{newBackend(namespace, view.BackendRef), 100, 100}
	switch {
	case view.Percent != nil:
		m.Part = *view.Percent
	case view.Fraction != nil:
		m.Part = view.Fraction.Numerator
		if view.Fraction.Denominator != nil {
			m.Whole = *view.Fraction.Denominator
		}
	}
	return m
}

// copies decides which mirrors get a copy of one request. One that cannot be used gets none.
func (f filters) copies(draw func(int) int) []Mirror {
	var list []Mirror
	for _, m := range f.mirrors {
		if m.Backend.Fault == nil && draw(m.Whole) < m.Part {
			list = append(list, m)
		}
	}
	return list
}
