package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/internal/preview"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/plugin"
)

// previewed returns what a preview says of the Rollout of an example, applied on top of the first one.
func previewed(t *testing.T, folder, rollout string) []preview.Moment {
	t.Helper()
	files := &preview.Files{}
	for _, pattern := range []string{"examples/*.yaml", filepath.Join("examples", folder, "*.yaml")} {
		paths, err := filepath.Glob(filepath.Join(bed.Root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := files.Read(path, strings.NewReader(string(text))); err != nil {
				t.Fatal(err)
			}
		}
	}
	cluster := preview.NewCluster(files)
	router := plugin.NewRouter(plugin.Options{Log: hclog.NewNullLogger(), Connect: func() (plugin.Connection, error) {
		return plugin.Connection{Cluster: cluster}, nil
	}})
	for _, ro := range files.Rollouts {
		if ro.Name != rollout {
			continue
		}
		moments, err := preview.Play(t.Context(), router, cluster, ro)
		if err != nil {
			t.Fatal(err)
		}
		return moments
	}
	t.Fatalf("examples/%s has no Rollout %s", folder, rollout)
	return nil
}

// isAsPreviewed checks that a table in the cluster is what a preview says of a step, counted from 1, or, for 0, of the end.
// A preview calls the hashes of the two versions stable and canary.
func (d *story) isAsPreviewed(moments []preview.Moment, step int, table client.ObjectKey) {
	d.t.Helper()
	status := d.WaitFor(d.name).Status
	hashes := strings.NewReplacer(`-hash":"stable"`, `-hash":"`+status.StableRS+`"`, `-hash":"canary"`, `-hash":"`+status.CurrentPodHash+`"`)
	for i, m := range moments {
		if m.Step != step || step == 0 && i != len(moments)-1 {
			continue
		}
		for _, o := range m.Tables {
			if o.Namespace != table.Namespace || o.Name != table.Name {
				continue
			}
			want := map[string]any{}
			if err := json.Unmarshal([]byte(hashes.Replace(string(o.JSON))), &want); err != nil {
				d.t.Fatal(err)
			}
			if err := equal("step "+m.Name+" as previewed", plain(d.table(table).Object["spec"]), want["spec"]); err != nil {
				d.t.Error(err)
			}
			return
		}
	}
	d.t.Errorf("the preview has no table %s at step %d", table, step)
}
