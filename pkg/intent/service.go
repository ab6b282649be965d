package intent

import (
	"fmt"
	"strings"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
)

// Service is what has to be known of a Service before traffic is sent to it.
type Service struct {
	Ports []ServicePort
	// Assumed says that nothing is known of the Service, and that it is taken to have the port that is asked for.
	Assumed bool
}

// ServicePort is one port of a Service.
type ServicePort struct {
	Number int
	Name   string
	// Target is the pods' port that it leads to, a number or a name.
	Target string
}

// Find returns the Service's port that a route names, or its only one if port is nil.
func (s Service) Find(port *config.Port) (found ServicePort, ok bool) {
	if s.Assumed {
		return ServicePort{}, true
	}
	for _, p := range s.Ports {
		if port != nil && (port.Number == p.Number || port.Name != "" && port.Name == p.Name) {
			return p, true
		}
	}
	if port == nil && len(s.Ports) == 1 {
		return s.Ports[0], true
	}
	return ServicePort{}, false
}

// String lists the ports as errors do.
func (s Service) String() string {
	if len(s.Ports) == 0 {
		return "no ports"
	}
	var ports []string
	for _, p := range s.Ports {
		text := fmt.Sprint(p.Number)
		if p.Name != "" {
			text += " " + p.Name
		}
		ports = append(ports, text)
	}
	return strings.Join(ports, ", ")
}

// ExperimentPort returns the port of an experiment's Service that leads to the same container port as stable's does. An
// experiment's Service exposes the container ports, not the ports of stable's Service, so the two are compared by where
// they lead. Where it is not known where stable's leads (it is no Service, or not one of this cluster), the same number or
// name will do, or a port that is the only one. It fails if the Service does not exist or no port fits: any other port
// would be a guess.
func (in Intent) ExperimentPort(stable Destination, service string) (*config.Port, error) {
	own, found := in.Services[service]
	if !found {
		return nil, fmt.Errorf("experiment Service %s/%s does not exist", in.Namespace, service)
	}
	for _, p := range own.Ports {
		if in.fits(p, stable, own) {
			return &config.Port{Number: p.Number}, nil
		}
	}
	port := "none"
	if stable.Port != nil {
		port = stable.Port.String()
	}
	return nil, fmt.Errorf("none of the ports of experiment Service %s/%s (%s) leads where stable's port (%s) does", in.Namespace, service, own, port)
}

// fits reports whether p, a port of an experiment's Service own, stands for the port of stable.
func (in Intent) fits(p ServicePort, stable Destination, own Service) bool {
	here := stable.Cluster == "" || stable.Cluster == in.Cluster
	if known, found := in.Services[stable.Name]; found && here && stable.Kind == config.KindService {
		if port, found := known.Find(stable.Port); found {
			return p.Target == port.Target || p.Name == port.Target
		}
	}
	if stable.Port == nil {
		return len(own.Ports) == 1
	}
	return p.Number == stable.Port.Number || p.Name != "" && p.Name == stable.Port.Name
}
