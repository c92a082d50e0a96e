package ciliumimage

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/imagebuild"
)

const source = "../../images/cilium"

// TestBuilderIsAnInput: code that is not embedded could change the images and
// not their key.
func TestBuilderIsAnInput(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if file == "doc.go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		embedded, err := fs.ReadFile(builder, file)
		onDisk, diskErr := os.ReadFile(file)
		if err != nil || diskErr != nil || string(embedded) != string(onDisk) {
			t.Errorf("%s: %v, %v, %d bytes are embedded", file, err, diskErr, len(embedded))
		}
	}
}

type module struct {
	Path, Version string
}

// goMod is what a go.mod says that matters here.
type goMod struct {
	Tool    []module
	Replace []struct{ Old, New module }
}

func readGoMod(t *testing.T, file string) goMod {
	t.Helper()
	out, err := exec.Command("go", "mod", "edit", "-json", file).Output()
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var mod goMod
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	return mod
}

// cilium is the directory of Cilium's sources. Tests download nothing.
func cilium(t *testing.T) string {
	t.Helper()
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", Module)
	list.Dir = source
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		t.Skipf("%s is not in the module cache: go mod download in images/cilium", Module)
	}
	return dir
}

// TestPrograms: what is compiled goes into an image, and nothing else is asked
// for. The go command names a binary by the last element of its package.
func TestPrograms(t *testing.T) {
	var compiled []string
	for _, tool := range readGoMod(t, filepath.Join(source, "go.mod")).Tool {
		if !strings.HasPrefix(tool.Path, Module+"/") {
			t.Errorf("%s is none of Cilium's programs", tool.Path)
		}
		compiled = append(compiled, path.Base(tool.Path))
	}
	packed := append(slices.Collect(maps.Keys(binaries)), "operator")
	slices.Sort(compiled)
	slices.Sort(packed)
	if !slices.Equal(compiled, packed) {
		t.Errorf("compiled are %q, packed %q", compiled, packed)
	}
	taken := map[string]string{}
	for binary, at := range binaries {
		if !path.IsAbs(at) || path.Clean(at) != at || taken[at] != "" {
			t.Errorf("%s is packed as %s, %q too", binary, at, taken[at])
		}
		taken[at] = binary
	}
}

// TestChartFindsPrograms: the paths that the agent's pods name are those of the
// published image.
func TestChartFindsPrograms(t *testing.T) {
	template, err := os.ReadFile(filepath.Join(cilium(t), "install/kubernetes/cilium/templates/cilium-agent/daemonset.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`/(?:usr/bin|opt/cni/bin)/cilium-[a-z-]+`).FindAllString(string(template), -1)
	if len(named) == 0 {
		t.Error("the chart names no program by its path")
	}
	for _, at := range named {
		if !slices.Contains(slices.Collect(maps.Values(binaries)), at) {
			t.Errorf("the chart runs %s, which is in no image", at)
		}
	}
}

func TestAgentFiles(t *testing.T) {
	entries, err := imagebuild.ReadList(filepath.Join(source, "agent-files.txt"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	links := map[string]string{}
	for _, entry := range entries {
		at, target, isLink := strings.Cut(entry, " -> ")
		switch _, err := path.Match(at, "/"); {
		case err != nil || !path.IsAbs(at) || path.Clean(at) != at || strings.Contains(at, " "):
			t.Errorf("%q is no path (%v)", entry, err)
		case files[at] || links[at] != "":
			t.Errorf("%s is there twice", at)
		case isLink && (target == "" || strings.ContainsAny(entry, "*?[")):
			t.Errorf("%q is no link", entry)
		case isLink:
			links[at] = target
		default:
			files[at] = true
		}
	}
	for at, target := range links {
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(at), target)
		}
		if !files[target] && links[target] == "" {
			t.Errorf("%s is a link to %s, which is not there", at, target)
		}
	}
	for _, at := range slices.Collect(maps.Values(binaries)) {
		if files[at] || links[at] != "" {
			t.Errorf("%s is of Debian and of Cilium", at)
		}
	}
	// The compiler is of one version everywhere.
	packages, err := imagebuild.ReadList(filepath.Join(source, "packages.txt"))
	if err != nil {
		t.Fatal(err)
	}
	clang := regexp.MustCompile(`(?:llvm|clang)[-/](\d+)`)
	want := clang.FindStringSubmatch(strings.Join(packages, "\n"))
	if want == nil {
		t.Fatalf("no compiler in %q", packages)
	}
	for _, found := range clang.FindAllStringSubmatch(strings.Join(entries, "\n"), -1) {
		if found[1] != want[1] {
			t.Errorf("agent-files.txt names %s, packages.txt %s", found[0], want[0])
		}
	}
}

// TestDeviations: a run copies the list, so it has to say which sources are not
// Cilium's choice.
func TestDeviations(t *testing.T) {
	theirs := readGoMod(t, filepath.Join(cilium(t), "go.mod")).Replace
	ours := readGoMod(t, filepath.Join(source, "go.mod")).Replace
	for _, replaced := range ours {
		if slices.Contains(theirs, replaced) {
			continue
		}
		i := slices.IndexFunc(Deviations, func(d string) bool { return strings.HasPrefix(d, replaced.Old.Path+" is ") })
		if i < 0 {
			t.Errorf("nothing says that %s is replaced", replaced.Old.Path)
		} else if !strings.Contains(Deviations[i], replaced.New.Version) {
			t.Errorf("%q does not name %s", Deviations[i], replaced.New.Version)
		}
	}
	// What a module replaces holds for itself only: here it has to stand again.
	for _, replaced := range theirs {
		if !slices.Contains(ours, replaced) {
			t.Errorf("Cilium replaces %s, and go.mod here does not", replaced.Old.Path)
		}
	}
	for i, text := range Deviations {
		if text == "" || slices.Index(Deviations, text) < i || strings.ContainsAny(text, "\r\n") {
			t.Errorf("%q is no line, or there twice", text)
		}
	}
	for _, text := range Deviations {
		name, _, _ := strings.Cut(text, " is ")
		if !strings.Contains(name, " ") && !slices.ContainsFunc(ours, func(r struct{ Old, New module }) bool { return r.Old.Path == name }) {
			t.Errorf("%q: go.mod does not replace it", text)
		}
	}
}
