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
func (p Port) String() string {
	if p.Name != "" {
		return p.Name
	}
	return strconv.Itoa(p.Number)
}
