package config

import "strconv"

// Port names a port of a destination, by number or by name, in a RouteTable's own spelling.
type Port struct {
	// Number of the port, 1 to 65535.
	Number int `json:"number,omitempty"`

	// Name of the port, as the Service gives it.
	Name string `json:"name,omitempty"`
}

// String returns the port as a person would name it.
func (p Port) String() string { return string(p.Append(nil)) }

// Append appends the port, as String has it, to a text.
func (p Port) Append(text []byte) []byte {
	if p.Name != "" {
		return append(text, p.Name...)
	}
	return strconv.AppendInt(text, int64(p.Number), 10)
}
