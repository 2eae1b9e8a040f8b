package gitsync

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"pgregory.net/rapid"
)

// TestSpliceEqualsRebuild: a tree that was spliced step by step is the tree of its files written at once, and what
// git makes of them.
func TestSpliceEqualsRebuild(t *testing.T) {
	t.Parallel()
	names := rapid.SampledFrom([]string{"a", "a.b", "a-b", "a/b", "a/c", "a/b.c", "b/a/a", "b/a.x", "b/a-x", "b/a/b/c", "z"})
	rapid.Check(t, func(rt *rapid.T) {
		v := newView()
		d := v.draft(Options{})
		files, root := map[string]string{}, hash{}
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			c := Change{Put: Files{}}
			for _, p := range rapid.SliceOfN(names, 0, 4).Draw(rt, "put") {
				c.Put[p] = []byte(rapid.SampledFrom([]string{"", "1", "2"}).Draw(rt, "content"))
			}
			for _, p := range rapid.SliceOfN(names, 0, 3).Draw(rt, "delete") {
				if _, both := c.Put[p]; !both {
					c.Delete = append(c.Delete, p)
				}
			}
			e, err := planEdits(c)
			if err != nil {
				continue // a path that is a file and a directory at once
			}
			next, err := splicer{d.tree, d.add}.splice(root, e, "")
			if err != nil {
				continue // a file where a directory is, or the other way about
			}
			for p, text := range c.Put {
				files[p] = string(text)
			}
			for _, p := range c.Delete {
				delete(files, p)
			}
			root = next
		}
		if want := plant(newView(), files); root != want {
			rt.Fatalf("spliced %s, rebuilt %s, from %v", root, want, files)
		}
		for raw := range maps.Values(v.trees) {
			es, err := parseTree(raw)
			key := func(e entry) string { return e.name + map[string]string{modeTree: "/"}[e.mode] }
			if err != nil || !slices.IsSortedFunc(es, func(a, b entry) int { return strings.Compare(key(a), key(b)) }) {
				rt.Fatalf("%v: not in order: %v", err, es)
			}
		}
	})
}

// TestPackIsGits: git itself takes our packs, and we read them back.
func TestPackIsGits(t *testing.T) {
	t.Parallel()
	var objs []object
	for _, n := range []int{0, 1, 15, 16, 17, 2047, 2048, 70_000} {
		data := bytes.Repeat([]byte("x"), n)
		objs = append(objs, object{plumbing.BlobObject, plumbing.ComputeHash(plumbing.BlobObject, data), data})
	}
	raw := encodePack(objs)
	file := filepath.Join(t.TempDir(), "x.pack")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "index-pack", "--strict", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p, err := readPack(bytes.NewReader(raw), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for _, o := range objs {
		if data, err := p.load(o.hash); err != nil || !bytes.Equal(data, o.data) {
			t.Errorf("%s: %v, %d bytes", o.hash, err, len(data))
		}
	}
	if _, err := readPack(bytes.NewReader(raw), int64(len(raw)-1)); !errors.Is(err, errStale) {
		t.Errorf("a pack over the limit: %v", err)
	}
}

// TestPackOnDisk: a pack that does not fit in memory is read from an unlinked file.
func TestPackOnDisk(t *testing.T) {
	t.Parallel()
	noise := make([]byte, spoolInMemory+1000)
	for i, x := 0, uint64(1); i < len(noise); i++ {
		x = x*6364136223846793005 + 1442695040888963407
		noise[i] = byte(x >> 56)
	}
	h := plumbing.ComputeHash(plumbing.BlobObject, noise)
	raw := encodePack([]object{{plumbing.BlobObject, h, noise}})
	if len(raw) < spoolInMemory {
		t.Fatal("the pack is too small for this test")
	}
	p, err := readPack(bytes.NewReader(raw), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if data, err := p.load(h); err != nil || !bytes.Equal(data, noise) {
		t.Errorf("%v, %d bytes", err, len(data))
	}
	if _, err := readPack(bytes.NewReader(raw), spoolInMemory+10); !errors.Is(err, errStale) {
		t.Errorf("over the limit: %v", err)
	}
}

// TestTreeThatRepeatsItself: a few trees that name each other twice stand for a directory of 2^40 files.
func TestTreeThatRepeatsItself(t *testing.T) {
	t.Parallel()
	v := newView()
	d := v.draft(Options{})
	b := d.add(plumbing.BlobObject, []byte("x"))
	h := d.add(plumbing.TreeObject, encodeTree([]entry{{modeFile, "f", b}}))
	for range 40 {
		h = d.add(plumbing.TreeObject, encodeTree([]entry{{modeTree, "a", h}, {modeTree, "b", h}}))
	}
	if _, _, err := v.files(h, ""); !errors.Is(err, ErrPath) {
		t.Errorf("the error is %v", err)
	}
}

// TestSweepKeepsWhatIsReached and nothing else.
func TestSweepKeepsWhatIsReached(t *testing.T) {
	t.Parallel()
	v := newView()
	o := Options{Author: Identity{"A", "a@b"}, Committer: Identity{"A", "a@b"}, LogDepth: 3}
	d := v.draft(o)
	for n := range 10 {
		c := Change{Put: Files{"a/x": fmt.Append(nil, n), "b/y": []byte("same")}, Message: fmt.Sprint(n), When: time.Unix(int64(n+1), 0)}
		if err := d.commit(t.Context(), "", c); err != nil {
			t.Fatal(err)
		}
	}
	s, err := v.sweep(d.tip, o.LogDepth)
	if err != nil || len(s.commits) != 3 || len(s.trees) != 3 || len(s.blobs) != 2 {
		t.Errorf("%v: %d commits, %d trees, %d blobs are left", err, len(s.commits), len(s.trees), len(s.blobs))
	}
	log := history(s.commits, d.tip, 50)
	if len(log) != 3 || log[0].Subject != "9" || log[2].Subject != "7" {
		t.Errorf("the log is %+v", log)
	}
}
