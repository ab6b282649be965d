package intent

import (
	"maps"
	"slices"
	"strings"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
)

// Destination names something that a route can forward to.
//
// As a description, of what a Rollout means, an empty Cluster, a nil Port and a nil Subset stand for any. As read from an
// object they stand for none.
type Destination struct {
	Kind    string
	Cluster string
	// Home is, in a description without a Cluster, the cluster that a Service must be in: entries of others, which name
	// another cluster, are not meant. Empty: any.
	Home      string
	Namespace string
	Name      string
	Port      *config.Port
	Subset    map[string]string
	// HashLabel is the label in Subset whose value is the pod hash of the one or the other version of a Rollout. It does not
	// count when destinations are compared. Empty: there is none.
	HashLabel string
}

// WithHash returns the destination with another pod hash in its subset; an empty one leaves it as it is.
func (d Destination) WithHash(hash string) Destination {
	if hash == "" {
		return d
	}
	d = d.WithoutHash()
	d.Subset[d.HashLabel] = hash
	return d
}

// WithoutHash returns the destination without a pod hash in its subset.
func (d Destination) WithoutHash() Destination {
	subset := map[string]string{}
	for label, value := range d.Subset {
		if label != d.HashLabel {
			subset[label] = value
		}
	}
	d.Subset = subset
	return d
}

// Hash returns the pod hash in the destination's subset, if it has one.
func (d Destination) Hash() string {
	if d.HashLabel == "" {
		return ""
	}
	return d.Subset[d.HashLabel]
}

// Matches reports whether found, a destination as read from an object, is one that d describes.
func (d Destination) Matches(found Destination) bool {
	return d.Kind == found.Kind && d.Namespace == found.Namespace && d.Name == found.Name &&
		d.MatchesCluster(found) &&
		(d.Port == nil || found.Port != nil && *d.Port == *found.Port) &&
		d.matchesSubset(found)
}

func (d Destination) matchesSubset(found Destination) bool {
	if d.HashLabel != "" {
		_, hashed := found.Subset[d.HashLabel]
		return hashed || len(found.Subset) == 0
	}
	return d.Subset == nil || maps.Equal(d.Subset, found.Subset)
}

// MatchesCluster reports whether found is in a cluster that d, a description, means.
func (d Destination) MatchesCluster(found Destination) bool {
	if d.Cluster == "" && d.Home != "" && d.Kind == config.KindService {
		return found.Cluster == "" || found.Cluster == d.Home
	}
	return d.Cluster == "" || d.Cluster == found.Cluster
}

// Equal reports whether two destinations, both as read from an object, are the same.
func (d Destination) Equal(other Destination) bool {
	return d.Kind == other.Kind && d.Namespace == other.Namespace && d.Name == other.Name && d.Cluster == other.Cluster &&
		(d.Port == nil) == (other.Port == nil) && (d.Port == nil || *d.Port == *other.Port) && maps.Equal(d.Subset, other.Subset)
}

// apart reports whether no destination can match both descriptions.
func (d Destination) apart(other Destination) bool {
	return d.Kind != other.Kind || d.Namespace != other.Namespace || d.Name != other.Name ||
		d.Cluster != "" && other.Cluster != "" && d.Cluster != other.Cluster ||
		d.Port != nil && other.Port != nil && *d.Port != *other.Port ||
		d.Subset != nil && other.Subset != nil && !maps.Equal(d.Subset, other.Subset)
}

// Key returns a text that is the same for equal destinations only, for an annotation that remembers them. A pod hash does
// not count: the two versions that it tells apart are one destination there.
func (d Destination) Key() string {
	if d.HashLabel != "" {
		d = d.WithoutHash()
	}
	key := d.String()
	if d.Kind == config.KindService {
		key = key[len("Service "):]
	}
	return key
}

// String returns the destination as errors name it, such as "Service apps/web:8080 (version=v1)".
func (d Destination) String() string {
	var room [128]byte // plans make many of these
	text := append(room[:0], kindWord(d.Kind)...)
	text = append(append(append(append(text, ' '), d.Namespace...), '/'), d.Name...)
	if d.Port != nil {
		text = d.Port.Append(append(text, ':'))
	}
	if d.Cluster != "" {
		text = append(append(text, " in cluster "...), d.Cluster...)
	}
	if len(d.Subset) > 0 {
		var labels []string
		for _, key := range slices.Sorted(maps.Keys(d.Subset)) {
			labels = append(labels, key+"="+d.Subset[key])
		}
		text = append(append(append(text, " ("...), strings.Join(labels, ",")...), ')')
	}
	return string(text)
}

// kindWord returns a kind as people know it; one that is not known here stays as it stands in the object.
func kindWord(kind string) string {
	switch kind {
	case config.KindService:
		return "Service"
	case config.KindVirtualDestination:
		return "VirtualDestination"
	case config.KindExternalService:
		return "ExternalService"
	default:
		return kind
	}
}
