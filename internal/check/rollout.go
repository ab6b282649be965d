package check

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/preview"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
)

// judgeUse says whether a Rollout can be served: by a release that the plugin plays on what was read.
func judgeUse(ctx context.Context, controller Cluster, u use, all source) []Finding {
	object := rolloutName(u.ro)
	if u.fault != nil {
		return []Finding{{Fail, object, u.fault.Error(), "correct the block, or the Rollout"}}
	}
	services, findings := readServices(ctx, controller, u)
	if !all.sees(u) {
		return append(findings, Finding{Warn, object, "not all objects that it selects can be read, so they are not looked at", "ask somebody who may"})
	}
	all.services = services
	cluster := preview.NewCluster(all.narrowed(u))
	moments, err := preview.Play(ctx, u.plugin.Router(cluster), cluster, u.ro, u.targets)
	if err != nil {
		return append(findings, unread(object, "what a release would do", err))
	}
	report := preview.NewReport(moments, []string{u.plugin.Name}, u.plugin.Bounds, u.targets)
	for _, step := range report.Steps {
		if step.Error != "" {
			return append(findings, Finding{Fail, object, fmt.Sprintf("%s is refused: %s", step.Name, step.Error), ""})
		}
	}
	for _, left := range report.NotMoved {
		findings = append(findings, Finding{Note, object, left, ""})
	}
	labels, more := podLabels(ctx, controller, u)
	findings = slices.Concat(findings, more, judgeDestinations(u, moments, services, labels))
	if !slices.ContainsFunc(findings, func(f Finding) bool { return f.Mark == Fail }) {
		findings = append([]Finding{{OK, object, fmt.Sprintf("%s moves its weight on %s", u.plugin.Name, places(report)), ""}}, findings...)
	}
	return findings
}

// places names the routes that a release moves.
func places(report preview.Report) string {
	var texts []string
	for _, step := range report.Steps {
		for _, route := range step.Routes {
			if !route.Managed {
				texts = append(texts, route.Object+" "+route.Route)
			}
		}
	}
	slices.Sort(texts)
	if texts = slices.Compact(texts); len(texts) > 3 {
		texts = append(texts[:3], fmt.Sprintf("%d more routes", len(texts)-3))
	}
	return strings.Join(texts, ", ")
}

// readServices reads the Services that a Rollout names. One that is missing is a finding.
func readServices(ctx context.Context, controller Cluster, u use) (map[string]intent.Service, []Finding) {
	canary := u.ro.Spec.Strategy.Canary
	names := []string{canary.StableService, canary.CanaryService}
	if canary.PingPong != nil {
		names = append(names, canary.PingPong.PingService, canary.PingPong.PongService)
	}
	for _, d := range []intent.Destination{u.in.Stable, u.in.Canary} {
		if d.Kind == config.KindService && (d.Cluster == "" || d.Cluster == u.in.Cluster) {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	services := map[string]intent.Service{}
	var findings []Finding
	for _, name := range slices.Compact(names) {
		if name == "" {
			continue
		}
		service, err := controller.Service(ctx, u.ro.Namespace, name)
		switch {
		case apierrors.IsNotFound(err):
			findings = append(findings, Finding{Fail, rolloutName(u.ro), fmt.Sprintf("Service %s/%s does not exist", u.ro.Namespace, name), "create it"})
		case err != nil:
			findings = append(findings, unread(rolloutName(u.ro), "Service "+name, err))
		default:
			services[name] = service
		}
	}
	return services, findings
}

// podLabels returns the labels of a Rollout's pods; nil: they are not known.
func podLabels(ctx context.Context, controller Cluster, u use) (map[string]string, []Finding) {
	ref := u.ro.Spec.WorkloadRef
	if ref == nil {
		return u.ro.Spec.Template.Labels, nil
	}
	if ref.Kind != "Deployment" {
		return nil, []Finding{{Note, rolloutName(u.ro), fmt.Sprintf("its pods are those of %s %s, whose labels are not looked at", ref.Kind, ref.Name), ""}}
	}
	o, err := controller.Get(ctx, deployments, u.ro.Namespace, ref.Name)
	deployment := struct {
		Spec struct {
			Template struct {
				Metadata struct {
					Labels map[string]string `json:"labels"`
				} `json:"metadata"`
			} `json:"template"`
		} `json:"spec"`
	}{}
	if err == nil {
		err = json.Unmarshal(o.JSON, &deployment)
	}
	if err != nil {
		return nil, []Finding{unread(rolloutName(u.ro), "Deployment "+ref.Name, err)}
	}
	return deployment.Spec.Template.Metadata.Labels, nil
}

// judgeDestinations says of the Rollout's entries, as they are at any moment, whether their ports exist and their subsets can
// match pods. Labels are those of the pods; nil: they are not known.
func judgeDestinations(u use, moments []preview.Moment, services map[string]intent.Service, labels map[string]string) []Finding {
	var findings []Finding
	seen := map[string]bool{}
	for _, m := range moments {
		for _, o := range m.Objects {
			routes, err := engine.Routes(o.API, o.Object)
			if err != nil || !u.selects(o) {
				continue // which the plugin has judged
			}
			for _, r := range routes {
				for _, e := range r.Entries {
					d := e.Destination
					isStable, isCanary := u.in.Stable.Matches(d), u.in.Canary.Matches(d)
					if seen[d.String()] || d.Kind != config.KindService || !isStable && !isCanary {
						continue
					}
					seen[d.String()] = true
					place := fmt.Sprintf("%s: %s lists %s", o, r.Place, d)
					findings = append(findings, u.judgePort(place, d, services)...)
					findings = append(findings, u.judgeSubset(place, d, u.labelsOf(labels, isStable))...)
				}
			}
		}
	}
	return findings
}

// labelsOf returns the labels of the pods of one version, those that the Rollout adds included.
func (u use) labelsOf(labels map[string]string, stable bool) map[string]string {
	if labels == nil {
		return nil
	}
	added := u.ro.Spec.Strategy.Canary.CanaryMetadata
	if stable {
		added = u.ro.Spec.Strategy.Canary.StableMetadata
	}
	all := maps.Clone(labels)
	if added != nil {
		maps.Copy(all, added.Labels)
	}
	return all
}

func (u use) judgePort(place string, d intent.Destination, services map[string]intent.Service) []Finding {
	service, read := services[d.Name]
	if _, found := service.Find(d.Port); !read || found || d.Cluster != "" && d.Cluster != u.in.Cluster {
		return nil
	}
	return []Finding{{Fail, rolloutName(u.ro), fmt.Sprintf("%s, and the Service has no such port (it has %s)", place, service), "add the port, or list another"}}
}

func (u use) judgeSubset(place string, d intent.Destination, labels map[string]string) []Finding {
	if labels == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(d.Subset)) {
		if value, found := labels[key]; key == v1alpha1.DefaultRolloutUniqueLabelKey || found && value == d.Subset[key] {
			continue
		}
		return []Finding{{Fail, rolloutName(u.ro), fmt.Sprintf("%s, and its pods have %s=%s", place, key, cmp.Or(labels[key], "(nothing)")),
			"give the pods that label by the template, stableMetadata or canaryMetadata, or correct the subset"}}
	}
	return nil
}

// judgeObjects says whether the objects are accepted that Rollouts select, and the policies by which the plugin mirrors traffic.
func judgeObjects(uses []use, all source) []Finding {
	var findings []Finding
	for _, o := range all.objects {
		concerned := slices.ContainsFunc(uses, func(u use) bool { return u.fault == nil && u.selects(o) })
		if concerned {
			findings = append(findings, judgeAcceptance(o.API, o.API.Kind(), o.Object))
		}
	}
	for _, policy := range all.policies {
		if _, ours := policy.Labels[engine.OwnerLabel]; ours {
			findings = append(findings, judgeAcceptance(gloo.RouteTables{}, gloo.RouteTables{}.Policies().Kind, policy))
		}
	}
	return findings
}

// authority is who accepts the objects of a routing API, and what runs it.
func authority(api engine.API) (who, runs string) {
	if api == (gloo.RouteTables{}) {
		return "Gloo", "Gloo's management server"
	}
	return "the gateway", "the gateway's controller"
}

func judgeAcceptance(api engine.API, kind string, o engine.Object) Finding {
	object := kind + " " + o.Namespace + "/" + o.Name
	who, runs := authority(api)
	a, err := api.Acceptance(o.JSON)
	switch {
	case err != nil:
		return Finding{Fail, object, err.Error(), ""}
	case a.State == engine.Rejected:
		return Finding{Fail, object, fmt.Sprintf("%s has not accepted it: %s; %s", who, a.Message, a.Meanwhile), "mend what " + who + " says"}
	case a.State == engine.Unreported:
		return Finding{Warn, object, who + " has never said anything of it", fmt.Sprintf("see whether %s runs, and watches its namespace", runs)}
	case a.State == engine.Pending || a.Generation < o.Generation:
		return Finding{Warn, object, fmt.Sprintf("%s is not done with generation %d of it", who, o.Generation), "ask again; if it stays so, look at " + runs}
	case a.State == engine.AcceptedWithWarning:
		return Finding{Warn, object, who + " has accepted it with a warning: " + a.Message, ""}
	default:
		return Finding{OK, object, who + " has accepted it", ""}
	}
}
