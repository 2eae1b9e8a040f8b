package render_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

func two() plan.State { return state(3, at("pg-1", 0, plan.In), at("pg-2", 1, plan.In)) }
func one() plan.State { return state(4, at("pg-1", 0, plan.In)) }

// directory is a committed cluster directory: a drawing and a person's files.
func directory(tree render.Tree, theirs map[string]string) map[string][]byte {
	all := maps.Clone(tree)
	all["cluster.yaml"] = []byte("kind: Cluster\n")
	for file, text := range theirs {
		all[file] = []byte(text)
	}
	return all
}

func TestOwned(t *testing.T) {
	tree := draw(t, load(t, ""), two())
	for file, data := range tree {
		if !render.Owned(file, data) {
			t.Errorf("%s is drawn but not owned", file)
		}
		edited := append(slices.Clone(data), "# edited\n"...)
		if !render.Owned(file, edited) {
			t.Errorf("%s is no longer owned after an edit below its header", file)
		}
		if crlf := strings.ReplaceAll(string(data), "\n", "\r\n"); !render.Owned(file, []byte(crlf)) {
			t.Errorf("%s is no longer owned with other line ends", file)
		}
	}
	head := string(tree[render.ServicesFile])
	for _, file := range []string{"cluster.yaml", "custom/kustomization.yaml", "custom/base/x.yaml", "README.md", "instances/x", "instances/a/b/c.yaml"} {
		if render.Owned(file, []byte(head)) {
			t.Errorf("%s is at no place of ours", file)
		}
	}
	if render.Owned(render.ServicesFile, []byte("kind: Service\n")) {
		t.Error("a file without the header is owned")
	}
}

func TestC04ChangesTouchOnlyWhatIsOwned(t *testing.T) {
	c := load(t, "")
	before := directory(draw(t, c, two()), map[string]string{
		"custom/kustomization.yaml": "kind: Component\n", "README.md": "ours\n", "base/notes.yaml": "x: y\n",
	})
	put, gone := render.Changes(before, draw(t, c, one()), false)
	if got, want := slices.Sorted(maps.Keys(put)), []string{"kustomization.yaml", "services.yaml", "topology.yaml"}; !slices.Equal(got, want) {
		t.Errorf("writes %v, not %v", got, want)
	}
	if want := []string{"instances/pg-2/kustomization.yaml", "instances/pg-2/pgbouncer.ini"}; !slices.Equal(gone, want) {
		t.Errorf("deletes %v, not %v", gone, want)
	}
}

func TestC03ChangesOfTheSameAreNone(t *testing.T) {
	c := load(t, "")
	put, gone := render.Changes(directory(draw(t, c, two()), nil), draw(t, c, two()), false)
	if len(put)+len(gone) > 0 {
		t.Errorf("writes %d, deletes %d", len(put), len(gone))
	}
}

func TestC04AForeignFileKeepsItsOverlay(t *testing.T) {
	c := load(t, "")
	before := directory(draw(t, c, two()), map[string]string{"instances/pg-2/patch.yaml": "a person's\n"})
	put, gone := render.Changes(before, draw(t, c, two()), false)
	if len(put)+len(gone) > 0 {
		t.Errorf("an update writes %d, deletes %d", len(put), len(gone))
	}
	if diff := cmp.Diff(map[string]bool{"pg-2": true}, render.Pinned(two(), before)); diff != "" {
		t.Errorf("pinned: %s", diff)
	}
	if _, gone = render.Changes(before, draw(t, c, one()), false); len(gone) > 0 {
		t.Errorf("deletes %v beside a person's file", gone)
	}
	if got, want := render.Foreign(before, draw(t, c, one())), []string{"instances/pg-2/patch.yaml"}; !slices.Equal(got, want) {
		t.Errorf("names %v, not %v", got, want)
	}
	if got := render.Foreign(before, draw(t, c, two())); len(got) > 0 {
		t.Errorf("names %v although nothing is deleted", got)
	}
}

func TestC04AFileOfAPersonIsNotOverwritten(t *testing.T) {
	c := load(t, "")
	before := map[string][]byte{"kustomization.yaml": []byte("resources: [mine.yaml]\n"), "mine.yaml": []byte("x: y\n")}
	want := draw(t, c, one())
	put, gone := render.Changes(before, want, false)
	if _, writes := put["kustomization.yaml"]; writes || len(gone) > 0 {
		t.Errorf("overwrites %v, deletes %v", writes, gone)
	}
	if got := render.Foreign(before, want); !slices.Equal(got, []string{"kustomization.yaml"}) {
		t.Errorf("names %v", got)
	}
}

func TestASwitchDeletesNothing(t *testing.T) {
	c := load(t, "")
	before := directory(draw(t, c, two()), nil)
	sw, err := render.DrawSwitch(c, one(), render.Given{})
	if err != nil {
		t.Fatal(err)
	}
	put, gone := render.Changes(before, sw, true)
	if len(put) != 2 || gone != nil {
		t.Errorf("writes %d, deletes %v", len(put), gone)
	}
}
