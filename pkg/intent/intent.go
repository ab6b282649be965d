// Package intent works out what a Rollout wants of the routes that carry its traffic. It knows no routing API, and its
// answer is a function of the Rollout and the call's arguments alone: after any restart it is the same.
package intent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/rollout/trafficrouting"
	"github.com/argoproj/argo-rollouts/utils/weightutil"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
)

// Intent is what a Rollout wants at one call: which destinations are its own and what share of its traffic each gets.
type Intent struct {
	// Owner is how the Rollout is known on objects that it shares with others: namespace/name, after the cluster's name
	// where one is configured.
	Owner string
	// Namespace is the Rollout's.
	Namespace string
	// Cluster is this cluster's name as objects use it, or "".
	Cluster string

	Stable, Canary Destination
	// Alternating says that stable and canary swap roles with each release (pingPong), so that an object need list only
	// one of them, whichever it is.
	Alternating bool
	// StableHash and CanaryHash are the pod hashes of the two versions, where those are subsets of one Service, by the
	// HashLabel of Stable and Canary; see [Intent.WithHashes].
	StableHash, CanaryHash string
	// CanaryShare is what the canary gets, out of MaxShare.
	CanaryShare, MaxShare int
	// Experiments are the services of a running experiment, with their shares; the canary's is not among them.
	Experiments []Experiment
	// Managed are the managed routes that should exist, in the order of their precedence.
	Managed []ManagedRoute
	// Label is the one that objects carry while the Rollout is under way, if their routing API has them carry one.
	Label Label
	// MayMirror says that some step of the Rollout, past or to come, mirrors traffic.
	MayMirror bool
	// KeepWeights says that the call is about managed routes alone.
	KeepWeights bool
	// Services are the Services that had to be looked up, by name: those of the experiments and, for their ports, stable's.
	// One that does not exist is missing.
	Services map[string]Service
	// Gone says that the Rollout does not exist any more: Stable and Canary are not known but by what objects remember, and
	// they are to forget that.
	Gone bool
	// Used are the destinations beside stable that got traffic at the last call, as the Rollout's status says. It helps
	// where an object's memory of what was done to it is lost.
	Used []Destination
}

// Experiment is one service of an experiment step.
type Experiment struct {
	Destination Destination
	// Share is out of MaxShare.
	Share int
}

// StableShare returns what is left for stable, out of MaxShare.
func (in Intent) StableShare() int {
	share := in.MaxShare - in.CanaryShare
	for _, e := range in.Experiments {
		share -= e.Share
	}
	return share
}

// AtRest reports whether all traffic belongs to stable: before, after and between releases.
func (in Intent) AtRest() bool { return in.CanaryShare == 0 && len(in.Experiments) == 0 }

// UnderWay reports whether the Rollout wants anything of its routes that it does not want at rest.
func (in Intent) UnderWay() bool { return !in.AtRest() || len(in.Managed) > 0 }

// ByHash reports whether stable and canary are told apart by their pods' hash.
func (in Intent) ByHash() bool { return in.Stable.HashLabel != "" }

// WithHashes returns the intent with the pod hashes of the two versions, for destinations that are told apart by them. Before
// the first version is stable, and when the wanted version is the stable one, all traffic belongs to one of them.
func (in Intent) WithHashes(stable, canary string) Intent {
	if !in.ByHash() {
		return in
	}
	if stable == "" && in.CanaryShare > 0 {
		stable = canary
	}
	if stable == canary {
		in.CanaryShare = 0
	}
	in.StableHash, in.CanaryHash = stable, canary
	return in
}

// StatusHashes returns the pod hashes of a Rollout's two versions by its status. While a Rollout goes back to its stable
// version step by step, the wanted version is that already, and canary is the one that had weight last.
func StatusHashes(ro *v1alpha1.Rollout) (stable, canary string) {
	stable, canary = ro.Status.StableRS, ro.Status.CurrentPodHash
	if weights := ro.Status.Canary.Weights; stable == canary && weights != nil && weights.Canary.Weight > 0 {
		canary = weights.Canary.PodTemplateHash
	}
	return stable, canary
}

// OfGone returns what is wanted for a Rollout that does not exist any more: that nothing is left of it.
func OfGone(namespace, name, cluster string) Intent {
	ro := &v1alpha1.Rollout{}
	ro.Namespace, ro.Name = namespace, name
	return Intent{Owner: Owner(ro, cluster), Namespace: namespace, Cluster: cluster, MaxShare: 100, Gone: true}
}

// Bounds limits what a Rollout may ask for, since whoever may write one steers with the controller's rights.
type Bounds struct {
	// Cluster is this cluster's name as route tables use it, or "".
	Cluster string
	// DestinationNamespaces are the namespaces in which destinations of a kind other than SERVICE may be. Nil: any.
	DestinationNamespaces []string
}

// Of returns what ro wants when the controller sets its canary to weight, beside the additional destinations of an
// experiment. Its error lists all that is missing or senseless in the Rollout or the block.
func Of(ro *v1alpha1.Rollout, c *config.Config, bounds Bounds, weight int32, additional []v1alpha1.WeightDestination) (Intent, error) {
	if ro.Spec.Strategy.Canary == nil {
		return Intent{}, errors.New("spec.strategy.canary is not set; traffic is moved for canary Rollouts only")
	}
	in := Intent{
		Owner:       Owner(ro, bounds.Cluster),
		Namespace:   ro.Namespace,
		Cluster:     bounds.Cluster,
		Alternating: trafficrouting.IsPingPongEnabled(ro),
		CanaryShare: int(weight),
		MaxShare:    int(weightutil.MaxTrafficWeight(ro)),
	}
	stableService, canaryService := trafficrouting.GetStableAndCanaryServices(ro, true)
	in.Stable = describe(ro, c, c.Stable, stableService, bounds.Cluster)
	in.Canary = describe(ro, c, c.Canary, canaryService, bounds.Cluster)
	if c.SubsetLabel != "" {
		in.Stable.HashLabel = c.SubsetLabel
		in.Canary = in.Stable
	}

	faults := in.destinationFaults(ro, c, bounds)
	if err := in.addExperiments(additional); err != nil {
		faults = append(faults, err.Error())
	}
	managed, err := managedRoutes(ro)
	if err != nil {
		faults = append(faults, err.Error())
	}
	if len(faults) > 0 {
		return Intent{}, errors.New(strings.Join(faults, "; "))
	}
	in.Label.Key, in.Label.Value = c.InProgressLabel()
	in.Managed, in.MayMirror, in.Used = managed, MayMirror(ro), used(ro, in)
	return in, nil
}

// Owner returns how a Rollout is known on objects that it shares with others: namespace/name, after the cluster's name
// where one is given.
func Owner(ro *v1alpha1.Rollout, cluster string) string {
	name := ro.Namespace + "/" + ro.Name
	if cluster != "" {
		name = cluster + "/" + name
	}
	return name
}

// describe returns the destination that a service of the Rollout and the block's description of it make together, where
// the Rollout lives in cluster home, if that is known.
func describe(ro *v1alpha1.Rollout, c *config.Config, given *config.Destination, service, home string) Destination {
	d := config.Destination{}
	if given != nil {
		d = *given
	}
	return Destination{
		Kind:      first(d.Kind, c.DestinationKind, config.KindService),
		Cluster:   d.Cluster,
		Home:      home,
		Namespace: first(d.Namespace, c.DestinationNamespace, ro.Namespace),
		Name:      first(d.Name, service),
		Port:      d.Port,
		Subset:    d.Subset,
	}
}

// first returns the first text that is not empty.
func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// destinationFaults returns what is wrong with the stable and canary destinations.
func (in Intent) destinationFaults(ro *v1alpha1.Rollout, c *config.Config, bounds Bounds) []string {
	var faults []string
	if in.ByHash() {
		faults = hashFaults(ro, c)
	} else if in.Alternating {
		if c.Stable != nil && c.Stable.Name != "" || c.Canary != nil && c.Canary.Name != "" {
			faults = append(faults, "stable.name, canary.name: the Rollout uses pingPong, where the two services swap roles; leave the names out")
		}
	}
	if in.Alternating && (in.Stable.Name == "" || in.Canary.Name == "") {
		return append(faults, "the Rollout's spec.strategy.canary.pingPong lacks pingService or pongService; set both")
	}
	if in.Stable.Name == "" {
		faults = append(faults, "the Rollout has no spec.strategy.canary.stableService; set it, or set stable.name in this block")
	}
	if in.Canary.Name == "" {
		faults = append(faults, "the Rollout has no spec.strategy.canary.canaryService; set it, or set canary.name in this block")
	}
	if len(faults) > 0 {
		return faults
	}
	if !in.ByHash() && !in.Stable.apart(in.Canary) {
		faults = append(faults, fmt.Sprintf("stable and canary are both %s; they must differ in name, or each in its own subset, port or cluster", in.Stable))
	}
	for _, d := range []Destination{in.Stable, in.Canary} {
		switch {
		case d.Kind == config.KindService && d.Namespace != ro.Namespace:
			faults = append(faults, fmt.Sprintf("%s: a Service must be in the Rollout's own namespace %s", d, ro.Namespace))
		case d.Kind != config.KindService && !allowed(d.Namespace, bounds.DestinationNamespaces):
			faults = append(faults, fmt.Sprintf("%s: namespace %s is not among those that the plugin's flag --destination-namespaces allows (%s)",
				d, d.Namespace, strings.Join(bounds.DestinationNamespaces, ", ")))
		}
	}
	return slices.Compact(faults)
}

// hashFaults returns what in a Rollout does not go with subsets by pod hash.
func hashFaults(ro *v1alpha1.Rollout, c *config.Config) []string {
	canary := ro.Spec.Strategy.Canary
	if trafficrouting.IsPingPongEnabled(ro) {
		return []string{"subsetLabel: the Rollout uses pingPong, which needs two Services; leave one of the two out"}
	}
	if c.Stable.Name == canary.StableService || c.Stable.Name == canary.CanaryService {
		return []string{fmt.Sprintf("stable.name: Argo Rollouts narrows Service %s to the pods of one version, and subsetLabel needs one of both; leave stableService and canaryService out", c.Stable.Name)}
	}
	return nil
}

func allowed(namespace string, namespaces []string) bool {
	return namespaces == nil || slices.Contains(namespaces, namespace)
}

// addExperiments takes over the additional destinations. While an experiment is torn down it names no service; what it had
// goes to stable.
func (in *Intent) addExperiments(additional []v1alpha1.WeightDestination) error {
	for _, a := range additional {
		if a.ServiceName == "" {
			continue
		}
		if a.Weight < 0 {
			return fmt.Errorf("weight %d of experiment service %s is negative", a.Weight, a.ServiceName)
		}
		d := Destination{Kind: config.KindService, Namespace: in.Namespace, Name: a.ServiceName}
		if !d.apart(in.Stable) || !d.apart(in.Canary) {
			return fmt.Errorf("experiment service %s is the Rollout's stable or canary as well", a.ServiceName)
		}
		same := func(e Experiment) bool { return e.Destination.Name == a.ServiceName }
		if i := slices.IndexFunc(in.Experiments, same); i >= 0 {
			in.Experiments[i].Share += int(a.Weight)
		} else if a.Weight > 0 {
			in.Experiments = append(in.Experiments, Experiment{Destination: d, Share: int(a.Weight)})
		}
	}
	switch {
	case in.MaxShare < 1:
		return fmt.Errorf("maxTrafficWeight is %d; want 1 or more", in.MaxShare)
	case in.CanaryShare < 0 || in.CanaryShare > in.MaxShare:
		return fmt.Errorf("weight %d is outside 0 to maxTrafficWeight %d", in.CanaryShare, in.MaxShare)
	case in.StableShare() < 0:
		return fmt.Errorf("canary and experiment together get %d, more than maxTrafficWeight %d", in.MaxShare-in.StableShare(), in.MaxShare)
	}
	return nil
}

// used returns the destinations that the status says got traffic at the last call, but for stable. The status names the
// Rollout's services; where it has none, what the block names stands for them.
func used(ro *v1alpha1.Rollout, in Intent) []Destination {
	weights := ro.Status.Canary.Weights
	if weights == nil {
		return nil
	}
	var destinations []Destination
	if weights.Canary.Weight > 0 {
		before := in.Canary
		before.Name = first(weights.Canary.ServiceName, in.Canary.Name)
		destinations = append(destinations, before, in.Canary)
		if in.Alternating {
			destinations = append(destinations, in.Stable)
		}
	}
	for _, w := range weights.Additional {
		if w.Weight > 0 && w.ServiceName != "" {
			destinations = append(destinations, Destination{Kind: config.KindService, Namespace: ro.Namespace, Name: w.ServiceName})
		}
	}
	return destinations
}
