package preview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/aymanbagabas/go-udiff"
	"sigs.k8s.io/yaml"
)

// PrintTable writes a report for a person.
func (r Report) PrintTable(w io.Writer) error {
	fmt.Fprintf(w, "Rollout %s, block %s\n", r.Rollout, r.Block)
	for _, object := range r.objects() {
		fmt.Fprintf(w, "\n%s\n", object)
		tab := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
		fmt.Fprintln(tab, "STEP\tROUTE\tDESTINATIONS")
		for _, step := range r.Steps {
			title := step.title()
			for _, route := range step.Routes {
				if route.Object == object {
					fmt.Fprintf(tab, "%s\t%s\t%s\n", title, route.Route, route)
					title = ""
				}
			}
		}
		if err := tab.Flush(); err != nil {
			return err
		}
	}
	for _, step := range r.Steps {
		if step.Error != "" {
			fmt.Fprintf(w, "\nRefused: %s: %s\n", step.title(), step.Error)
		}
	}
	printList(w, "Not moved:", r.NotMoved)
	printList(w, "Notes:", r.Notes)
	return nil
}

func printList(w io.Writer, title string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(w, "\n%s\n  %s\n", title, strings.Join(lines, "\n  "))
	}
}

// objects returns the names of the objects that the release moves, in the order of their first route.
func (r Report) objects() []string {
	var names []string
	seen := map[string]bool{}
	for _, step := range r.Steps {
		for _, route := range step.Routes {
			if !seen[route.Object] {
				seen[route.Object] = true
				names = append(names, route.Object)
			}
		}
	}
	return names
}

func (s Step) title() string {
	if s.Step == 0 {
		return s.Name
	}
	return fmt.Sprintf("%d %s", s.Step, s.Name)
}

// String returns who gets what, as in "web 90, web-canary 10".
func (r Route) String() string {
	var texts []string
	for _, s := range r.Destinations {
		texts = append(texts, fmt.Sprintf("%s %.4g", s.Destination, s.Percent))
	}
	text := strings.Join(texts, ", ")
	switch r.Mirrors {
	case "":
	case byFilter:
		text += "; mirrored by a filter"
	default:
		text += "; mirrored by MirrorPolicy " + r.Mirrors
	}
	return text
}

// PrintJSON writes a report for a program.
func (r Report) PrintJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// PrintYAML writes the objects and policies of every moment, each moment under a comment that names it.
func PrintYAML(w io.Writer, moments []Moment) error {
	for _, m := range moments {
		text, err := m.yaml()
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "# %s\n%s", m.title(), text)
	}
	return nil
}

// PrintDiff writes what changes from each moment to the next.
func PrintDiff(w io.Writer, moments []Moment) error {
	before, name := "", ""
	for i, m := range moments {
		now, err := m.yaml()
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprint(w, udiff.Unified(name, m.title(), before, now))
		}
		before, name = now, m.title()
	}
	return nil
}

func (m Moment) title() string { return Step{Step: m.Step, Name: m.Name}.title() }

// yaml returns the moment's objects and policies, each after a line of three dashes.
func (m Moment) yaml() (string, error) {
	b := &strings.Builder{}
	objects := slices.Clone(m.Policies)
	for i, o := range m.Objects {
		objects = slices.Insert(objects, i, o.Object)
	}
	for _, o := range objects {
		text, err := YAML(o.JSON)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(b, "---\n%s", text)
	}
	return b.String(), nil
}

// YAML returns an object, given as JSON, without what only the API server and the control plane write.
func YAML(object []byte) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber() // which may be too large for a float
	tree := map[string]any{}
	if err := decoder.Decode(&tree); err != nil {
		return "", err
	}
	if meta, isMap := tree["metadata"].(map[string]any); isMap {
		for _, field := range []string{"resourceVersion", "managedFields", "generation", "uid", "creationTimestamp"} {
			delete(meta, field)
		}
	}
	delete(tree, "status")
	raw, err := json.Marshal(tree)
	if err != nil {
		return "", err
	}
	text, err := yaml.JSONToYAML(raw)
	return string(text), err
}
