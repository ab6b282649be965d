package docs

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"
)

// disk is a file system with this module's deploy/ and, as upstream/, the manifests of Argo Rollouts without the custom
// resource definitions, which take a second each time and are no matter here.
func disk(t *testing.T) filesys.FileSystem {
	t.Helper()
	into := filesys.MakeFsInMemory()
	for name, folder := range map[string]string{"/deploy": filepath.Join(root, "deploy"), "/upstream": upstream(t)} {
		err := fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil || entry.IsDir():
				return err
			case strings.HasSuffix(path, "-crd.yaml"):
				return nil
			case path == "crds/kustomization.yaml":
				return into.WriteFile(name+"/"+path, []byte("generatorOptions: {disableNameSuffixHash: true}\n"))
			}
			text, err := os.ReadFile(filepath.Join(folder, path))
			if err != nil {
				return err
			}
			return into.WriteFile(name+"/"+path, text)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return into
}

// upstream is the folder with Argo Rollouts' manifests.
func upstream(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-rollouts").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "manifests")
}

// built are the objects of a kustomization, by kind and name.
type built map[string]document

// build builds a folder as `kubectl apply -k` does.
func build(t *testing.T, files filesys.FileSystem, folder string) built {
	t.Helper()
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, folder)
	if err != nil {
		t.Fatalf("%s: %v", folder, err)
	}
	all := built{}
	for _, object := range objects.Resources() {
		text, err := object.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		all[key(object.CurId())] = document{folder, object.GetKind(), text}
	}
	return all
}

func key(id resid.ResId) string { return id.Kind + " " + id.Name }

// differences are the keys of objects that are not alike.
func (b built) differences(other built) []string {
	var keys []string
	for key, d := range b {
		if !bytes.Equal(d.text, other[key].text) {
			keys = append(keys, key)
		}
	}
	for key := range other {
		if _, found := b[key]; !found {
			keys = append(keys, key)
		}
	}
	return keys
}

// read decodes an object strictly.
func (b built) read(t *testing.T, key string, into any) {
	t.Helper()
	d, found := b[key]
	if !found {
		t.Fatalf("there is no %s", key)
	}
	if err := yaml.UnmarshalStrict(d.text, into); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
}
