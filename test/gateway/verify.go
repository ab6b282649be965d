package gateway

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Services looks a Service up, and returns nil if there is none.
type Services func(namespace, name string) *corev1.Service

// Verified returns the table with a Fault on every route that forwards to a Service or a port that does not exist in the
// local cluster. Other kinds, and other clusters, are taken as existing.
func (t *Table) Verified(services Services, local string) *Table {
	return t.mapRoutes(func(r *Route) error {
		if r.Fault != nil || r.forward == nil {
			return r.Fault
		}
		for _, d := range r.forward.destinations {
			if err := services.verify(d, local); err != nil {
				return err
			}
		}
		return nil
	})
}

// verify fails on a Service or a port that does not exist in the local cluster.
func (s Services) verify(d Destination, local string) error {
	if d.Kind != KindService || d.Cluster != "" && d.Cluster != local {
		return nil
	}
	return verifyPort(s(d.Namespace, d.Name), d)
}

// Rejected returns the table with the same Fault on every route that forwards.
func (t *Table) Rejected(message string) *Table {
	return t.mapRoutes(func(r *Route) error {
		if r.forward == nil {
			return r.Fault
		}
		return fmt.Errorf("%s", message)
	})
}

func (t *Table) mapRoutes(fault func(*Route) error) *Table {
	copied := *t
	for _, section := range []*[]*Route{&copied.HTTP, &copied.TCP, &copied.TLS} {
		routes := make([]*Route, 0, len(*section))
		for _, r := range *section {
			route := *r
			route.Fault = fault(r)
			routes = append(routes, &route)
		}
		*section = routes
	}
	return &copied
}

func verifyPort(service *corev1.Service, d Destination) error {
	if service == nil {
		return fmt.Errorf("Service %s does not exist", d)
	}
	if d.Port == (Port{}) {
		if len(service.Spec.Ports) == 1 {
			return nil
		}
		return fmt.Errorf("Service %s has %d ports, and the destination names none", d, len(service.Spec.Ports))
	}
	for _, p := range service.Spec.Ports {
		if d.Port.Name == p.Name && d.Port.Name != "" || d.Port.Number == uint32(p.Port) && d.Port.Number != 0 {
			return nil
		}
	}
	return fmt.Errorf("Service %s has no port %s", d, d.Port)
}

// maxFaults bounds the length of a message.
const maxFaults = 10

// Faults says what is wrong with a table's routes, in one text; empty if nothing is.
func (t *Table) Faults() string {
	var list []string
	for _, section := range [][]*Route{t.HTTP, t.TCP, t.TLS} {
		for _, r := range section {
			if r.Fault != nil {
				list = append(list, fmt.Sprintf("%s: %v", r, r.Fault))
			}
		}
	}
	if more := len(list) - maxFaults; more > 0 {
		list = append(list[:maxFaults], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "; ")
}
