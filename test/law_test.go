package test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/poolwright/poolwright/"

// law says which packages of ours a package may import. A trailing "/..." means
// the package and all below it. Test files are free.
var law = map[string][]string{
	"clusters":     {},
	"discovery":    {},
	"discovery/*":  {"discovery/..."},
	"plan":         {"discovery"},
	"templates":    {},
	"render":       {"clusters", "discovery", "plan", "templates"},
	"render/*":     {"clusters", "discovery", "plan", "render"},
	"gitsync":      {"gitsync/hub", "gitsync/roots"},
	"gitsync/*":    {"gitsync/..."},
	"gitsync/hub":  {"gitsync/roots"},
	"gitsync/sign": {},
	"live":         {"plan", "render"},
	"live/*":       {"discovery/cause", "live/...", "render"},
	"test":         {"cmd"},
	"test/*":       {"test/..."},
	"test/driver":  {"cmd", "gitsync/gitserver", "test/pgcluster"},
	// The binary and its wiring may know everything, and nothing may know them.
	"cmd":            {"clusters", "discovery/...", "gitsync/...", "live/...", "plan", "render/...", "templates"},
	"cmd/*":          {"cmd/...", "clusters", "discovery/...", "gitsync/...", "live/...", "plan", "render/...", "templates"},
	"clusters/*":     {"clusters"},
	"cmd/poolwright": {"cmd"},
}

// pure packages may not reach these, even indirectly.
var (
	pure      = []string{"clusters", "discovery", "plan", "templates", "render", "render/pulltext", "gitsync/review"}
	forbidden = []string{
		"net", "net/http", "os/exec", "log", "log/slog", "database/sql",
		"github.com/jackc/pgx/", "github.com/aws/", "github.com/go-git/", "k8s.io/client-go/", "sigs.k8s.io/kustomize/",
	}
	// plan also has no clock to read, no context, no randomness.
	impure = []string{"context", "math/rand", "math/rand/v2", "crypto/rand", "os"}
)

// pkg is what `go list` says about a package.
type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func TestImportLaw(t *testing.T) {
	for _, breach := range breaches(listed(t, "")) {
		t.Error(breach)
	}
}

// TestImportLawSeesPlantedBreaches plants files which do not exist in the tree,
// through the go command's overlay, and expects the law to name each.
func TestImportLawSeesPlantedBreaches(t *testing.T) {
	for name, plant := range map[string]struct{ file, imports, want string }{
		"plan imports a package of ours":       {"plan/breach.go", module + "gitsync", "plan imports gitsync"},
		"plan reaches net":                     {"plan/breach.go", "net", "plan reaches net"},
		"plan reads the environment":           {"plan/breach.go", "os", "plan imports os"},
		"plan takes a context":                 {"plan/breach.go", "context", "plan imports context"},
		"render reaches os/exec indirectly":    {"render/breach.go", "sigs.k8s.io/kustomize/api/krusty", "render reaches os/exec"},
		"discovery logs":                       {"discovery/breach.go", "log/slog", "discovery reaches log/slog"},
		"gitsync knows PostgreSQL's topology":  {"gitsync/breach.go", module + "discovery", "gitsync imports discovery"},
		"a driver decides":                     {"discovery/aurora/breach.go", module + "plan", "discovery/aurora imports plan"},
		"the wiring is imported from below":    {"test/pgcluster/breach.go", module + "cmd", "test/pgcluster imports cmd"},
		"a package that the law does not know": {"surprise/breach.go", "fmt", "surprise is not in the law"},
	} {
		t.Run(name, func(t *testing.T) {
			got := breaches(listed(t, overlay(t, plant.file, plant.imports)))
			if !slices.Contains(got, plant.want) {
				t.Errorf("got breaches %q, want %q among them", got, plant.want)
			}
		})
	}
}

// breaches are all breaches of the law, sorted.
func breaches(all []pkg) (found []string) {
	for _, p := range all {
		name := strings.TrimPrefix(p.ImportPath, module)
		allowed, ok := lawOf(name)
		if !ok {
			found = append(found, name+" is not in the law")
			continue
		}
		for _, i := range p.Imports {
			if ours, ok := strings.CutPrefix(i, module); ok && !matchesAny(ours, allowed) {
				found = append(found, fmt.Sprintf("%s imports %s", name, ours))
			}
			if name == "plan" && slices.Contains(impure, i) {
				found = append(found, "plan imports "+i)
			}
		}
		if slices.Contains(pure, name) {
			found = append(found, reached(name, p.Deps)...)
		}
	}
	slices.Sort(found)
	return found
}

func reached(name string, deps []string) (found []string) {
	for _, d := range deps {
		for _, f := range forbidden {
			if d == f || strings.HasSuffix(f, "/") && strings.HasPrefix(d, f) {
				found = append(found, fmt.Sprintf("%s reaches %s", name, d))
			}
		}
	}
	return found
}

// lawOf is the entry for a package: its own, else that of its parent's "/*".
func lawOf(name string) ([]string, bool) {
	if allowed, ok := law[name]; ok {
		return allowed, true
	}
	for dir := name; dir != "."; dir = filepath.Dir(dir) {
		if allowed, ok := law[filepath.Dir(dir)+"/*"]; ok {
			return allowed, true
		}
	}
	return nil, false
}

func matchesAny(name string, allowed []string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		below, ok := strings.CutSuffix(a, "/...")
		return name == a || ok && (name == below || strings.HasPrefix(name, below+"/"))
	})
}

// listed asks the go command for our packages. It reads every source file
// first: that makes them part of the test cache's key.
func listed(t *testing.T, overlay string) (all []pkg) {
	t.Helper()
	readSources(t)
	args := []string{"list", "-deps=false", "-json=ImportPath,Imports,Deps"}
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, "./...")...)
	cmd.Dir = ".."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing packages: %v", err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func readSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		_, err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// overlay is an overlay file for the go command which adds one source file.
func overlay(t *testing.T, file, imports string) string {
	t.Helper()
	dir := t.TempDir()
	name := strings.ReplaceAll(filepath.Base(filepath.Dir(file)), "-", "")
	source := filepath.Join(dir, "breach.go")
	write(t, source, fmt.Sprintf("package %s\n\nimport _ %q\n", name, imports))
	abs, err := filepath.Abs(filepath.Join("..", file))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string]map[string]string{"Replace": {abs: source}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	write(t, path, string(data))
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
