package build_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
	"github.com/poolwright/poolwright/render/build"
)

// bed is a committed cluster directory and what it was drawn from.
type bed struct {
	name    string
	cluster clusters.Cluster
	state   plan.State
	files   map[string][]byte
	built   []byte // of files; nil when they were changed
}

// beds are the golden trees of the package render.
func beds(t testing.TB) []bed {
	t.Helper()
	list, err := readBeds()
	if err != nil || len(list) == 0 {
		t.Fatalf("no golden trees: %v", err)
	}
	return list
}

// readBeds reads, and builds, once for all tests: nobody changes a bed's own maps.
var readBeds = sync.OnceValues(func() ([]bed, error) {
	names, err := filepath.Glob("../testdata/*.txtar")
	if err != nil {
		return nil, err
	}
	var list []bed
	for _, n := range names {
		b, err := readBed(n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		list = append(list, b)
	}
	return list, nil
})

func readBed(file string) (bed, error) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		return bed{}, err
	}
	b := bed{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), files: map[string][]byte{}}
	for _, f := range archive.Files {
		name := strings.TrimPrefix(strings.TrimPrefix(f.Name, "in/"), "out/")
		b.files[name] = f.Data // out/topology.yaml comes after in/topology.yaml
	}
	if b.cluster, err = clusters.Load("cluster.yaml", b.files["cluster.yaml"]); err != nil {
		return bed{}, err
	}
	if b.state, err = render.ReadBack(b.cluster.Metadata.Name, b.files); err != nil {
		return bed{}, err
	}
	b.built, err = new(build.Builder).Build(b.files)
	return b, err
}

// golden is one of them, free to be changed.
func golden(t testing.TB, name string) bed {
	t.Helper()
	for _, b := range beds(t) {
		if b.name == name {
			return b
		}
	}
	t.Fatalf("no golden tree %s", name)
	return bed{}
}

// edit replaces text in one file; the text must be there.
func (b bed) edit(t testing.TB, file, old, changed string) bed {
	t.Helper()
	b.files, b.built = maps.Clone(b.files), nil
	if !bytes.Contains(b.files[file], []byte(old)) {
		t.Fatalf("%s has no %q", file, old)
	}
	b.files[file] = bytes.Replace(b.files[file], []byte(old), []byte(changed), 1)
	return b
}

// with adds files of a person's.
func (b bed) with(files map[string]string) bed {
	b.files, b.built = maps.Clone(b.files), nil
	for name, text := range files {
		b.files[name] = []byte(text)
	}
	return b
}

// custom is b with a component, committed as poolwright would: the root lists it.
func (b bed) custom(t testing.TB, files map[string]string) bed {
	t.Helper()
	b = b.with(files)
	tree, err := render.Draw(b.cluster, b.state, render.GivenIn(b.files))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(b.files, tree)
	return b
}

func (b bed) check(t testing.TB) []build.Finding {
	t.Helper()
	return new(build.Builder).Check(b.cluster, b.files)
}

func (b bed) build(t testing.TB) []byte {
	t.Helper()
	if b.built != nil {
		return b.built
	}
	out, err := new(build.Builder).Build(b.files)
	if err != nil {
		t.Fatalf("%s: %v", b.name, err)
	}
	return out
}

// wantFinding wants one finding at a place that says something.
func wantFinding(t testing.TB, found []build.Finding, severity build.Severity, at, says string) {
	t.Helper()
	for _, f := range found {
		if f.Severity == severity && cmp.Or(f.File, f.Object) == at && strings.Contains(f.Message+" "+f.Hint, says) {
			return
		}
	}
	t.Errorf("no %s at %s that says %q in:\n%s", severity, at, says, lines(found))
}

func lines(found []build.Finding) string {
	var out strings.Builder
	for _, f := range found {
		out.WriteString(f.String() + "\n    hint: " + f.Hint + "\n")
	}
	return out.String()
}

type object = map[string]any

// objects are manifests by "Kind name".
func objects(t testing.TB, manifests []byte) map[string]object {
	t.Helper()
	all := map[string]object{}
	dec := yaml.NewDecoder(bytes.NewReader(manifests))
	for {
		var o object
		if err := dec.Decode(&o); err != nil {
			return all
		}
		name := o["kind"].(string) + " " + at(o, "metadata", "name").(string)
		if _, twice := all[name]; twice {
			t.Fatalf("%s is there twice", name)
		}
		all[name] = o
	}
}

func at(o object, keys ...string) any {
	var v any = o
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

func ofKind(all map[string]object, kind string) []string {
	names := slices.Sorted(maps.Keys(all))
	return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, kind+" ") })
}

// onDisk writes a directory and gives its path.
func (b bed) onDisk(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "some where")
	for name, data := range b.files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func readDir(t testing.TB, dir string, into map[string][]byte) {
	t.Helper()
	err := filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		into[filepath.ToSlash(name)], err = os.ReadFile(file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
