package render_test

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

var update = flag.Bool("update", false, "rewrite the golden trees")

// golden is one scenario: a txtar with in/cluster.yaml, in/topology.yaml (a state, as Git holds
// it), maybe in/custom/..., and the tree under out/.
type golden struct {
	name    string
	cluster clusters.Cluster
	state   plan.State
	custom  render.Tree
	out     render.Tree
}

func goldens(t testing.TB) []golden {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden trees: %v", err)
	}
	var list []golden
	for _, f := range files {
		list = append(list, readGolden(t, f))
	}
	return list
}

func readGolden(t testing.TB, file string) golden {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g := golden{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), custom: render.Tree{}, out: render.Tree{}}
	in := map[string][]byte{}
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "out/"); ok {
			g.out[name] = f.Data
			continue
		}
		name, ok := strings.CutPrefix(f.Name, "in/")
		if !ok {
			t.Fatalf("%s: %s is neither in/ nor out/", file, f.Name)
		}
		in[name] = f.Data
		if strings.HasPrefix(name, "custom/") {
			g.custom[name] = f.Data
		}
	}
	if g.cluster, err = clusters.Load("cluster.yaml", in["cluster.yaml"]); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if g.state, err = render.ReadBack(g.cluster.Metadata.Name, render.Tree{render.TopologyFile: in["topology.yaml"]}); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return g
}

// draw is what poolwright makes of the scenario.
func (g golden) draw(t testing.TB) render.Tree {
	t.Helper()
	tree, err := render.Draw(g.cluster, g.state, render.GivenIn(g.custom))
	if err != nil {
		t.Fatalf("%s: %v", g.name, err)
	}
	return tree
}

func TestGolden(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			got := g.draw(t)
			if *update {
				writeGolden(t, g, got)
				return
			}
			if diff := cmp.Diff(texts(g.out), texts(got)); diff != "" {
				t.Errorf("the drawing differs; go test ./render -run TestGolden -update, and read the diff (-want +got):\n%s", diff)
			}
		})
	}
}

func writeGolden(t *testing.T, g golden, got render.Tree) {
	t.Helper()
	file := filepath.Join("testdata", g.name+".txtar")
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "out/") })
	for _, name := range slices.Sorted(maps.Keys(got)) {
		archive.Files = append(archive.Files, txtar.File{Name: "out/" + name, Data: got[name]})
	}
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

func texts(t render.Tree) map[string]string {
	out := map[string]string{}
	for name, data := range t {
		out[name] = string(bytes.TrimRight(data, "\n")) + "\n"
	}
	return out
}

func loadFile(t testing.TB, file string) clusters.Cluster {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := clusters.Load(file, data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func writeTree(t testing.TB, file string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
