package gateway

import (
	"fmt"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	commonv2 "github.com/solo-io/solo-apis/client-go/common.gloo.solo.io/v2"
)

// Kinds of destinations, as the reference spells them, and one for functions.
const (
	KindService            = "SERVICE"
	KindVirtualDestination = "VIRTUAL_DESTINATION"
	KindExternalService    = "EXTERNAL_SERVICE"
	KindAWSLambda          = "AWS_LAMBDA"
)

// Destination is where a route sends a request, with the reference's defaults filled in.
type Destination struct {
	Kind      string
	Name      string
	Namespace string // the table's own if the table gives none
	Cluster   string // empty: the local one
	Port      Port
	Subset    map[string]string
	Weight    uint32 // as given; 0 is also absent
}

// Port is given by number, by name, or not at all.
type Port struct {
	Number uint32
	Name   string
}

func (p Port) String() string {
	switch {
	case p.Name != "":
		return p.Name
	case p.Number != 0:
		return fmt.Sprint(p.Number)
	default:
		return "none"
	}
}

func (d Destination) String() string {
	if d.Kind == KindService {
		return d.Namespace + "/" + d.Name
	}
	return fmt.Sprintf("%s %s/%s", d.Kind, d.Namespace, d.Name)
}

// Version is the destination's name and, if its subset names a pod hash, that: web@5d4f.
func (d Destination) Version() string {
	if hash, found := d.Subset[v1alpha1.DefaultRolloutUniqueLabelKey]; found {
		return d.Name + "@" + hash
	}
	return d.Name
}

// hostname is what autoHostRewrite makes of the destination.
func (d Destination) hostname() string {
	if d.Kind == KindService {
		return d.Name + "." + d.Namespace + ".svc.cluster.local"
	}
	return d.Name
}

// asDestinations fails on a destination that names nothing.
func asDestinations(table string, refs []*commonv2.DestinationReference) ([]Destination, error) {
	var list []Destination
	for i, ref := range refs {
		d := Destination{
			Kind:      ref.GetKind().String(),
			Name:      ref.GetRef().GetName(),
			Namespace: ref.GetRef().GetNamespace(),
			Cluster:   ref.GetRef().GetCluster(),
			Port:      Port{Number: ref.GetPort().GetNumber(), Name: ref.GetPort().GetName()},
			Subset:    ref.GetSubset(),
			Weight:    ref.GetWeight(),
		}
		if lambda := ref.GetAwsLambda(); lambda != nil {
			d.Kind, d.Name, d.Namespace = KindAWSLambda, lambda.GetFunction(), lambda.GetCloudProvider().GetNamespace()
		}
		if d.Namespace == "" {
			d.Namespace = table
		}
		if d.Name == "" {
			return nil, fmt.Errorf("destinations[%d] has no ref.name", i)
		}
		list = append(list, d)
	}
	return list, nil
}
