package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/config"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readAll reads all files that match a pattern, one after the other.
func readAll(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	all := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	return all
}

// block is a YAML block of a text, with the line before it.
type block struct{ before, yaml string }

var yamlBlock = regexp.MustCompile("(?m)^(.*)\n( *)```yaml\n((?s).*?)\n *```$")

// yamlBlocks returns the blocks of a text, with the indentation of lists taken away.
func yamlBlocks(text string) []block {
	var blocks []block
	for _, m := range yamlBlock.FindAllStringSubmatch(text, -1) {
		lines := strings.Split(m[3], "\n")
		for i, line := range lines {
			lines[i] = strings.TrimPrefix(line, m[2])
		}
		blocks = append(blocks, block{strings.TrimSpace(m[1]), strings.Join(lines, "\n")})
	}
	return blocks
}

// pages are the texts that people read.
func pages(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(files) < 7 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	all := []string{"README.md", "CONTRIBUTING.md"}
	for _, file := range files {
		all = append(all, "docs/"+filepath.Base(file))
	}
	return all
}

// What a text tells to copy stands in a file, which is tested: the README shows parts, the other pages all of it. What a page
// says that is seen in a cluster, a test sees. What else there is are blocks of the plugin and pieces for Argo CD.
func TestPagesShowFiles(t *testing.T) {
	shown := map[string]int{}
	stories := readAll(t, "test/e2e/example*_test.go")
	for _, page := range pages(t) {
		for _, b := range yamlBlocks(read(t, page)) {
			comment := strings.TrimSuffix(strings.TrimPrefix(b.before, "<!-- "), " -->")
			switch {
			case page == "docs/config.md":
				decodeBlock(t, b.yaml)
			case comment == "Argo CD":
				decodeApplication(t, b.yaml)
			case strings.HasPrefix(comment, "seen "):
				if !strings.Contains(stories, strconv.Quote(filepath.Base(page))) || !strings.Contains(stories, strconv.Quote(comment)) {
					t.Errorf("%s: no test sees what is %s", page, comment)
				}
			case page == "README.md":
				if shown[page]++; !strings.Contains("\n"+read(t, comment), "\n"+b.yaml+"\n") {
					t.Errorf("%s does not hold\n%s", comment, b.yaml)
				}
			default:
				if shown[comment]++; read(t, comment) != b.yaml+"\n" {
					t.Errorf("%s: %s is otherwise than\n%s", page, comment, b.yaml)
				}
			}
		}
	}
	if shown["README.md"] < 6 {
		t.Errorf("the README shows %d files, want 6 or more", shown["README.md"])
	}
	for _, folder := range exampleFolders(t) {
		for _, d := range documents(t, folder) {
			if file := folder + "/" + d.file; shown[file] != 1 && folder != "examples" {
				t.Errorf("%s is shown %d times, want once", file, shown[file])
			}
		}
	}
}

// decodeBlock decodes a block as the plugin does.
func decodeBlock(t *testing.T, text string) {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := config.Decode(raw); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
}

// application is an Application of Argo CD, as far as texts use it (its reference, Diffing Customization and Sync Options).
type application struct {
	Spec struct {
		IgnoreDifferences []struct {
			Group             string   `json:"group"`
			Kind              string   `json:"kind"`
			JQPathExpressions []string `json:"jqPathExpressions"`
		} `json:"ignoreDifferences"`
		SyncPolicy struct {
			SyncOptions []string `json:"syncOptions"`
		} `json:"syncPolicy"`
	} `json:"spec"`
}

// decodeApplication decodes part of an Application, which has to tell of all that the plugin adds.
func decodeApplication(t *testing.T, text string) application {
	t.Helper()
	var decoded application
	if err := yaml.UnmarshalStrict([]byte(text), &decoded); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
	mine := engine.OwnerLabel
	if strings.Contains(text, "kind: HTTPRoute") {
		mine = "rollouts.argoproj.io/gatewayapi-canary"
	}
	for _, name := range []string{engine.Annotation, mine} {
		if !strings.Contains(text, strconv.Quote(name)) {
			t.Errorf("nothing is said of %s in\n%s", name, text)
		}
	}
	return decoded
}

// fields returns the paths of all fields of the block, but not of what those that are known elsewhere consist of.
func fields(t reflect.Type, path string) []string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return []string{path}
	}
	var all []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		all = append(all, fields(f.Type, strings.TrimPrefix(path+"."+name, "."))...)
	}
	return all
}

func TestAllFieldsAreDocumented(t *testing.T) {
	all := fields(reflect.TypeFor[config.Config](), "")
	if !slices.Contains(all, "canary.port.number") || !slices.Contains(all, "routeTableSelector.matchExpressions") {
		t.Fatalf("fields = %v", all)
	}
	readme, long := read(t, "README.md"), read(t, "docs/config.md")
	for _, path := range all {
		if !strings.Contains(long, "`"+path+"`") {
			t.Errorf("docs/config.md does not tell of %s", path)
		}
		short := strings.TrimSuffix(strings.TrimSuffix(path, ".port.number"), ".port.name")
		if short != path {
			short += ".port"
		}
		if !strings.Contains(readme, "`"+short+"`") {
			t.Errorf("the README does not tell of %s", short)
		}
	}
}

func TestAllFlagsAreDocumented(t *testing.T) {
	text := read(t, "docs/config.md")
	flags := regexp.MustCompile(`Var\(&[^"]*"([a-z-]+)"`).FindAllStringSubmatch(read(t, "main.go"), -1)
	if len(flags) == 0 {
		t.Error("main.go has no flags")
	}
	for _, flag := range flags {
		if !strings.Contains(text, "`--"+flag[1]+"`") {
			t.Errorf("docs/config.md does not tell of --%s", flag[1])
		}
	}
}

func TestMakeKnowsWhatPagesTellToMake(t *testing.T) {
	makefile := "\n" + read(t, "Makefile")
	told := 0
	for _, page := range pages(t) {
		for _, m := range regexp.MustCompile("`make ([a-z-]+)`|(?m)^make ([a-z-]+)").FindAllStringSubmatch(read(t, page), -1) {
			told++
			if target := m[1] + m[2]; !strings.Contains(makefile, "\n"+target+":") {
				t.Errorf("%s tells to make %s, which the Makefile does not know", page, target)
			}
		}
	}
	if told < 8 {
		t.Errorf("pages tell to make %d things, want 8 or more", told)
	}
}

// literals returns the texts in the plugin's code, with … for what is filled in.
func literals(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "pkg", "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	verb := regexp.MustCompile(`%[a-z]`)
	var all []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil {
					all = append(all, verb.ReplaceAllString(text, "…"))
				}
			}
			return true
		})
	}
	return all
}

// A message that the texts explain is one that the plugin has. Those of the controller, which test/startup sees, are of the
// last section.
func TestExplainedMessagesExist(t *testing.T) {
	ours, _, _ := strings.Cut(read(t, "docs/troubleshooting.md"), "## The plugin does not start")
	known := literals(t)
	messages := regexp.MustCompile("(?m)^### `(.*)`$").FindAllStringSubmatch(ours, -1)
	_, table, _ := strings.Cut(read(t, "README.md"), "| message | cure |")
	messages = append(messages, regexp.MustCompile("(?m)^\\| `(.*?)` \\|").FindAllStringSubmatch(table, -1)...)
	if len(messages) < 30 {
		t.Errorf("%d messages, want 30 or more", len(messages))
	}
	// an object's kind and what a routing API calls things are filled in by the code and written out in the texts
	words := strings.NewReplacer("routes", "…s", "destinationKind or stable.kind", "…", "ref.namespace", "…")
	for _, m := range messages {
		message := strings.Replace(m[1], "RouteTable … does", "… …/… does", 1)
		if !has(known, message) && !has(known, words.Replace(message)) {
			t.Errorf("no text in pkg/ has %q", message)
		}
	}
}

// has reports whether some text contains the message, or all its parts between … one after another.
func has(texts []string, message string) bool {
	var parts []string
	for part := range strings.SplitSeq(message, "…") {
		parts = append(parts, regexp.QuoteMeta(part))
	}
	pattern := regexp.MustCompile(strings.Join(parts, ".*….*"))
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, message) || pattern.MatchString(text) })
}

func TestLinksLeadSomewhere(t *testing.T) {
	seen := map[string]bool{}
	for _, file := range pages(t) {
		for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(read(t, file), -1) {
			if strings.HasPrefix(m[1], "https://") {
				continue
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			target := filepath.Join(filepath.Dir(file), path)
			if path == "" {
				target = file
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			seen[target] = true
			if anchor != "" && !slices.Contains(anchors(read(t, target)), anchor) {
				t.Errorf("%s: no heading for %s", file, m[1])
			}
		}
	}
	index := read(t, "docs/README.md")
	for _, page := range pages(t)[1:] {
		if !seen[page] {
			t.Errorf("nothing leads to %s", page)
		}
		if name := filepath.Base(page); name != "README.md" && !strings.Contains(index, name+")") {
			t.Errorf("docs/README.md does not list %s", page)
		}
	}
}

// anchors returns what links to the headings of a text are called, as GitHub makes them.
func anchors(text string) []string {
	var all []string
	for _, heading := range regexp.MustCompile("(?m)^#+ (.*)$").FindAllStringSubmatch(text, -1) {
		words := regexp.MustCompile("[^a-z0-9 _-]").ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, strings.ReplaceAll(words, " ", "-"))
	}
	return all
}

// What restore is said to show is part of what its own test sees.
func TestRestorePageShowsItsDiff(t *testing.T) {
	_, rest, _ := strings.Cut(read(t, "docs/restore.md"), "```diff\n")
	shown, _, found := strings.Cut(rest, "```")
	if !found || !strings.Contains(read(t, "internal/cli/testdata/restore.diff"), shown) {
		t.Errorf("docs/restore.md shows what internal/cli/testdata/restore.diff does not have:\n%s", shown)
	}
}
