package gitsync

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// edits is the part of a change below one directory: what to write, what to remove, and the same
// for the directories in it.
type edits struct {
	put    map[string][]byte
	remove map[string]bool
	dirs   map[string]*edits
}

func newEdits() *edits {
	return &edits{put: map[string][]byte{}, remove: map[string]bool{}, dirs: map[string]*edits{}}
}

// planEdits sorts a change into directories, and refuses paths that are unsafe or contradict each other.
func planEdits(c Change) (*edits, error) {
	root := newEdits()
	for _, p := range slices.Sorted(maps.Keys(c.Put)) {
		e, name, err := root.at(c.Dir, p)
		if err != nil {
			return nil, err
		}
		e.put[name] = c.Put[p]
	}
	for _, p := range c.Delete {
		e, name, err := root.at(c.Dir, p)
		if err != nil {
			return nil, err
		}
		if _, both := e.put[name]; both {
			return nil, pathFault(join(c.Dir, p), "is both written and deleted")
		}
		e.remove[name] = true
	}
	return root, root.check("")
}

// at finds the directory node of dir/path, making it.
func (e *edits) at(dir, path string) (*edits, string, error) {
	if err := checkPath(path); err != nil {
		return nil, "", err
	}
	parts := strings.Split(join(dir, path), "/")
	for _, d := range parts[:len(parts)-1] {
		if e.dirs[d] == nil {
			e.dirs[d] = newEdits()
		}
		e = e.dirs[d]
	}
	return e, parts[len(parts)-1], nil
}

// check refuses a path that is written as a file and used as a directory in the same change.
func (e *edits) check(dir string) error {
	for _, d := range slices.Sorted(maps.Keys(e.dirs)) {
		if _, file := e.put[d]; file {
			return pathFault(join(dir, d), "is written as a file and as a directory")
		}
		if err := e.dirs[d].check(join(dir, d)); err != nil {
			return err
		}
	}
	return nil
}

// splicer rebuilds the trees on the path of a change, and only those.
type splicer struct {
	tree func(hash) ([]byte, error)
	add  func(kind plumbing.ObjectType, data []byte) hash
}

// splice applies e to the tree h (zero for one that does not exist yet) and returns the new tree,
// zero when nothing is left in it.
func (s splicer) splice(h hash, e *edits, dir string) (hash, error) {
	var es []entry
	if !h.IsZero() {
		raw, err := s.tree(h)
		if err != nil {
			return hash{}, err
		}
		if es, err = parseTree(raw); err != nil {
			return hash{}, fmt.Errorf("reading tree %s of %q: %w", h, dir, err)
		}
	}
	before := slices.Clone(es)
	es, err := s.files(es, e, dir)
	if err != nil {
		return hash{}, err
	}
	if es, err = s.subdirs(es, e, dir); err != nil {
		return hash{}, err
	}
	switch {
	case len(es) == 0:
		return hash{}, nil
	case slices.Equal(es, before):
		return h, nil
	}
	return s.add(plumbing.TreeObject, encodeTree(es)), nil
}

// files writes and removes the files directly in a directory. A file that exists keeps its mode.
func (s splicer) files(es []entry, e *edits, dir string) ([]entry, error) {
	for _, name := range slices.Sorted(maps.Keys(e.put)) {
		i := find(es, name)
		if err := mustBeFile(es, i, join(dir, name)); err != nil {
			return nil, err
		}
		h := plumbing.ComputeHash(plumbing.BlobObject, e.put[name])
		if i >= 0 && es[i].hash == h {
			continue
		}
		s.add(plumbing.BlobObject, e.put[name])
		if i >= 0 {
			es[i].hash = h
			continue
		}
		es = insert(es, entry{modeFile, name, h})
	}
	for _, name := range slices.Sorted(maps.Keys(e.remove)) {
		i := find(es, name)
		if err := mustBeFile(es, i, join(dir, name)); err != nil {
			return nil, err
		}
		if i >= 0 {
			es = slices.Delete(es, i, i+1)
		}
	}
	return es, nil
}

// subdirs goes on below. A directory that is empty afterwards vanishes, as Git has none.
func (s splicer) subdirs(es []entry, e *edits, dir string) ([]entry, error) {
	for _, name := range slices.Sorted(maps.Keys(e.dirs)) {
		i, old := find(es, name), hash{}
		if i >= 0 {
			if !isTreeMode(es[i].mode) {
				return nil, pathFault(join(dir, name), "is "+kindOf(es[i].mode)+", not a directory")
			}
			old = es[i].hash
		}
		h, err := s.splice(old, e.dirs[name], join(dir, name))
		switch {
		case err != nil:
			return nil, err
		case h.IsZero() && i >= 0:
			es = slices.Delete(es, i, i+1)
		case h.IsZero():
		case i >= 0:
			es[i].hash = h
		default:
			es = insert(es, entry{modeTree, name, h})
		}
	}
	return es, nil
}

// mustBeFile refuses to replace or remove anything but a regular file.
func mustBeFile(es []entry, i int, path string) error {
	if i < 0 || isFileMode(es[i].mode) {
		return nil
	}
	return pathFault(path, "is "+kindOf(es[i].mode)+", not a file")
}

func kindOf(mode string) string {
	switch {
	case isTreeMode(mode):
		return "a directory"
	case mode == "120000":
		return "a symlink"
	case mode == "160000":
		return "a submodule"
	case isFileMode(mode):
		return "a file"
	}
	return "an entry of mode " + mode
}
