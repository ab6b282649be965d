package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/hashicorp/go-hclog"
	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/restore"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/memory"
)

// shop is what testdata/restore.yaml tells of: tables that two Rollouts are in the middle of a release on.
type shop struct {
	tables, controller *memory.Cluster
	// applied are the tables as their owners applied them, by name.
	applied map[string][]byte
}

func openShop(t *testing.T) *shop {
	t.Helper()
	port := intent.Service{Ports: []intent.ServicePort{{Number: 8080}}}
	s := &shop{controller: &memory.Cluster{}, applied: map[string][]byte{}, tables: &memory.Cluster{
		Services: map[string]intent.Service{"web": port, "web-canary": port, "api": port, "api-canary": port},
	}}
	text, err := os.ReadFile("testdata/restore.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []*v1alpha1.Rollout
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		raw, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(document, "kind: RouteTable") {
			s.tables.Put(raw)
			o := s.tables.Objects[len(s.tables.Objects)-1]
			s.applied[o.Name] = o.JSON
			continue
		}
		ro := &v1alpha1.Rollout{}
		if err := json.Unmarshal(raw, ro); err != nil {
			t.Fatal(err)
		}
		s.controller.Put(raw)
		all = append(all, ro)
	}
	router := plugin.NewRouter(plugin.Options{Log: hclog.NewNullLogger(), Connect: func() (plugin.Connection, error) {
		return plugin.Connection{Cluster: s.tables}, nil
	}})
	for i, weight := range []int32{20, 50} {
		if err := router.SetWeight(all[i], weight, nil); err.HasError() {
			t.Fatal(err)
		}
	}
	s.tables.Writes = 0
	return s
}

// rollout changes Rollout web as the controller's cluster has it: each text to the one after it. None deletes it.
func (s *shop) rollout(changes ...string) {
	raw := s.controller.Objects[0].JSON
	s.controller.Objects = s.controller.Objects[1:]
	if len(changes) > 0 {
		s.controller.Put([]byte(strings.NewReplacer(changes...).Replace(string(raw))))
	}
}

func (s *shop) run(t *testing.T, r restoration) (answer, rest string, err error) {
	t.Helper()
	out, errOut := bytes.Buffer{}, bytes.Buffer{}
	r.apis = plugin.APIs()
	r.plugin = restore.Plugin{Names: plugin.Names, Targets: plugin.Options{}.Targets, Bounds: r.plugin.Bounds}
	r.tables, r.controller, r.out, r.errOut, r.namespace = s.tables, s.controller, &out, &errOut, "apps"
	if r.name == "" {
		r.name = "web"
	}
	err = r.run(t.Context())
	return out.String(), errOut.String(), err
}

func answering(text string) *strings.Reader { return strings.NewReader(text) }

const done = "RouteTable gloo-mesh/front: at rest\nRouteTable gloo-mesh/inner: at rest\n2 of 2 objects put at rest\n"

// A Rollout that was deleted in the middle of a release: what is shown is what is done, and the other Rollout stays where it
// is. With UPDATE set, what is shown is written to its file; look at it before it is committed.
func TestRestoreShowsAndDoes(t *testing.T) {
	s := openShop(t)
	s.rollout()
	shown, said, err := s.run(t, restoration{dry: true})
	if err != nil || said != "" || s.tables.Writes > 0 {
		t.Fatalf("%v after %d writes: %s", err, s.tables.Writes, said)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("testdata/restore.diff", []byte(shown), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile("testdata/restore.diff"); err != nil || shown != string(want) {
		t.Errorf("%v\ngot\n%s\nwant\n%s", err, shown, want)
	}
	again, said, err := s.run(t, restoration{yes: true})
	if err != nil || again != shown || said != done || len(s.tables.Policies) > 0 {
		t.Errorf("%v, %d policies are left\n%s\n%s", err, len(s.tables.Policies), said, again)
	}
	if inner := s.tables.Objects[1].JSON; !sameSpec(t, inner, s.applied["inner"]) {
		t.Errorf("inner is\n%s", inner)
	}
	front := string(s.tables.Objects[0].JSON)
	for _, want := range []string{`{"port":{"number":8080},"ref":{"name":"web","namespace":"apps"}}]`, `"name":"api-canary"`, `\"apps/api\"`} {
		if !strings.Contains(front, want) {
			t.Errorf("front has no %s\n%s", want, front)
		}
	}
	if strings.Contains(front, "web-canary") || strings.Contains(front, `\"apps/web\"`) {
		t.Errorf("something is left in front\n%s", front)
	}
	shown, said, err = s.run(t, restoration{})
	if want := "Nothing to do: no table or route holds anything of Rollout apps/web, only of apps/api.\n"; err != nil || shown != "" || said != want {
		t.Errorf("%v, %s, want %s\n%s", err, said, want, shown)
	}
}

// sameSpec reports whether two objects have the same annotations and spec.
func sameSpec(t *testing.T, a, b []byte) bool {
	t.Helper()
	read := func(raw []byte) []byte {
		o := struct {
			Metadata struct{ Annotations map[string]string }
			Spec     json.RawMessage
		}{}
		if err := json.Unmarshal(raw, &o); err != nil {
			t.Fatal(err)
		}
		spec, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return spec
	}
	return jsonpatch.Equal(read(a), read(b))
}

func TestRestoreAsks(t *testing.T) {
	for _, tt := range []struct {
		name    string
		r       restoration
		said    string
		err     string
		applied bool
	}{
		{"yes", restoration{answers: answering("y\n")}, "Apply? [y/N] " + done, "", true},
		{"yes, in full, and no end of the line", restoration{answers: answering(" YES ")}, "Apply? [y/N] \n" + done, "", true},
		{"no", restoration{answers: answering("n\n")}, "Apply? [y/N] ", "nothing was changed", false},
		{"just return", restoration{answers: answering("\n")}, "Apply? [y/N] ", "nothing was changed", false},
		{"yes, later", restoration{answers: answering("what?\ny\n")}, "Apply? [y/N] ", "nothing was changed", false},
		{"the end of the input", restoration{answers: answering("")}, "Apply? [y/N] \n", "nothing was changed", false},
		{"nobody is there", restoration{}, "", "nothing was changed: there is no terminal to ask at; give --yes to apply the differences", false},
		{"without being asked", restoration{yes: true, answers: answering("n\n")}, done, "", true},
		{"only to look", restoration{dry: true, answers: answering("y\n")}, "", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := openShop(t)
			s.rollout()
			shown, said, err := s.run(t, tt.r)
			checkRefusal(t, err, tt.err)
			if said != tt.said || shown == "" || (s.tables.Writes > 0) != tt.applied {
				t.Errorf("%d writes after %q, want %q\n%s", s.tables.Writes, said, tt.said, shown)
			}
		})
	}
}

// checkRefusal checks an error by which the process exits with 1, or that there is none.
func checkRefusal(t *testing.T, err error, want string) {
	t.Helper()
	code, text := ExitYes, ""
	if want != "" {
		code = ExitNo
	}
	if err != nil {
		text = err.Error()
	}
	if text != want || ExitCode(err) != code {
		t.Errorf("exit code %d with %q, want %d with %q", ExitCode(err), text, code, want)
	}
}

// A Rollout that exists is left to its controller while that moves weight.
func TestRestoreOfRolloutThatExists(t *testing.T) {
	const refusal = "Rollout apps/web is sending 20 parts of 100 of its traffic to the canary, and its controller would soon move the weight back"
	const cure = "; abort it (kubectl argo rollouts abort web -n apps) or let it finish, or give --force if there is no controller any more"
	const noWeights, abort = `"weights":{`, `"currentStepIndex":3`
	for _, tt := range []struct {
		name      string
		changes   []string
		r         restoration
		said, err string
		applied   bool
	}{
		{"in the middle of a release", []string{"a", "a"}, restoration{yes: true}, "", refusal + cure, false},
		{"to look at", []string{"a", "a"}, restoration{dry: true}, refusal + ".\n", "", false},
		{"all the same", []string{"a", "a"}, restoration{yes: true, force: true}, refusal + ".\n" + done, "", true},
		{"before its first weight", []string{noWeights, `"before":{`}, restoration{yes: true}, "",
			strings.Replace(refusal, "sending 20 parts of 100 of its traffic to the canary", "releasing a new version", 1) + cure, false},
		{"in an experiment", []string{`"weight":20`, `"weight":0`, noWeights, noWeights + `"additional":[{"weight":5}],`}, restoration{yes: true}, "",
			strings.Replace(refusal, "sending 20 parts of 100 of its traffic to the canary", "sending traffic to an experiment", 1) + cure, false},
		{"on its way back", []string{abort, `"abort":true`}, restoration{yes: true}, "", refusal + cure, false},
		{"aborted", []string{abort, `"abort":true`, `"weight":20`, `"weight":0`}, restoration{yes: true}, done, "", true},
		{"promoted", []string{`"stableRS":"old"`, `"stableRS":"new"`, `"weight":20`, `"weight":0`}, restoration{yes: true}, done, "", true},
		{"of another strategy", []string{`"canary":{"canaryService"`, `"blueGreen":{"activeService"`}, restoration{yes: true},
			"Rollout apps/web: the Rollout has no spec.strategy.canary.trafficRouting; so only what tables remember of it is looked at.\n" + done, "", true},
		{"with a block of another name", []string{"solo-io/glooplatform", "a/b", abort, `"abort":true`, `"weight":20`, `"weight":0`}, restoration{yes: true},
			"Rollout apps/web: the Rollout has no block solo-io/glooplatform or solo-io/glooplatformAPI in spec.strategy.canary.trafficRouting.plugins, only a/b; rename it, or set the plugin's flag --name; so only what tables remember of it is looked at.\n" + done, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := openShop(t)
			s.rollout(tt.changes...)
			_, said, err := s.run(t, tt.r)
			checkRefusal(t, err, tt.err)
			if said != tt.said || (s.tables.Writes > 0) != tt.applied {
				t.Errorf("%d writes after %q, want %q", s.tables.Writes, said, tt.said)
			}
		})
	}
}

func TestRestoreThatIsNotDone(t *testing.T) {
	for _, tt := range []struct {
		name      string
		damage    func(*shop)
		r         restoration
		said, err string
		writes    int
	}{
		{"changed since it was shown", func(s *shop) {
			s.tables.Meddle = func() {
				s.tables.Put(s.tables.Objects[0].JSON)
				s.tables.Meddle = nil
			}
		}, restoration{yes: true}, "RouteTable gloo-mesh/inner: at rest\n1 of 2 objects put at rest\n",
			"RouteTable gloo-mesh/front: somebody has changed it meanwhile, so nothing was written to it; look at it again", 1},
		{"not permitted", func(s *shop) { s.tables.Forbidden = []string{"list"} }, restoration{yes: true}, "",
			"RouteTables: routetables.networking.gloo.solo.io is forbidden: in all namespaces; name a namespace in which they may be listed by --table-namespace", 0},
		{"permitted in a namespace", func(s *shop) { s.tables.Forbidden = []string{"list"} }, restoration{yes: true, tableSpace: "gloo-mesh"}, done, "", 3},
		{"in another namespace", func(*shop) {}, restoration{yes: true, tableSpace: "prod"}, "Nothing to do: no table or route holds anything of Rollout apps/web.\n", "", 0},
		{"of another name", func(*shop) {}, restoration{yes: true, name: "wbe"}, "Nothing to do: no table or route holds anything of Rollout apps/wbe, only of apps/api, apps/web.\n", "", 0},
		{"of another cluster", func(*shop) {}, restoration{yes: true, plugin: restore.Plugin{Bounds: intent.Bounds{Cluster: "east"}}},
			"Nothing to do: no table or route holds anything of Rollout east/apps/web, only of apps/api, apps/web.\n", "", 0},
		{"a Rollout that cannot be read", func(s *shop) { s.controller = unreadable() }, restoration{yes: true}, "",
			"Rollout apps/web: invalid character '}' after top-level value; it might be in the middle of a release: name its cluster by --controller-kubeconfig, or give --force if it is gone", 0},
		{"a Rollout that cannot be read, all the same", func(s *shop) { s.controller = unreadable() }, restoration{yes: true, force: true},
			"Rollout apps/web: invalid character '}' after top-level value; it is taken to be gone.\n" + done, "", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := openShop(t)
			s.rollout()
			tt.damage(s)
			_, said, err := s.run(t, tt.r)
			checkRefusal(t, err, tt.err)
			if said != tt.said || s.tables.Writes != tt.writes {
				t.Errorf("%d writes after %q, want %d after %q", s.tables.Writes, said, tt.writes, tt.said)
			}
		})
	}
}

// unreadable returns a cluster whose Rollout apps/web is no JSON.
func unreadable() *memory.Cluster {
	return &memory.Cluster{Objects: []engine.Object{{Namespace: "apps", Name: "web", JSON: []byte("{}}")}}}
}
