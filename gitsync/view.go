package gitsync

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// view is what is known of the remote: the commit its branch points to, the trees of that commit, the
// blobs that somebody asked for, the newest commits.
type view struct {
	store
	head hash // zero: the branch does not exist
	// swept is how many trees were left by the last sweep.
	swept int
}

func newView() *view { return &view{store: newStore()} }

// forget drops what was cached.
func (v *view) forget() {
	absent := v.absent
	*v = view{store: newStore()}
	v.absent = absent
}

// root is the tree of the head, zero when there is no head.
func (v *view) root() hash { return v.commits[v.head].tree }

// take stores the trees and commits of a pack.
func (v *view) take(p *received) error {
	for _, o := range p.objs {
		if o.kind == plumbing.BlobObject {
			continue
		}
		data, err := p.load(o.hash)
		if err != nil {
			return err
		}
		if err := v.put(o.kind, o.hash, data); err != nil {
			return err
		}
	}
	return nil
}

// missing lists the blobs of a wish that are not here.
func (v *view) missing(root hash, w wish) ([]hash, error) {
	need := map[hash]bool{}
	note := func(_ string, e entry) {
		if _, have := v.blobs[e.hash]; isFileMode(e.mode) && !have {
			need[e.hash] = true
		}
	}
	for _, dir := range w.dirs {
		if err := v.eachAttributes(root, dir, note); err != nil {
			return nil, err
		}
		tree, err := v.dirTree(root, dir)
		if err != nil {
			return nil, err
		}
		if err := v.walkFiles(tree, note); err != nil && !errors.Is(err, errTooMany) { // that is told when it is read
			return nil, err
		}
	}
	for _, g := range w.globs {
		if err := v.walkGlob(root, g, note); err != nil && !errors.Is(err, errTooMany) {
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Keys(need), func(a, b hash) int { return slices.Compare(a[:], b[:]) }), nil
}

// dirTree is the tree of a directory, zero when it does not exist or is no directory.
func (v *view) dirTree(root hash, dir string) (hash, error) {
	e, ok, err := v.lookup(root, components(dir))
	if err != nil || !ok || !isTreeMode(e.mode) {
		return hash{}, err
	}
	return e.hash, nil
}

// files reads a directory. Its blobs were fetched before.
func (v *view) files(root hash, dir string) (Files, []string, error) {
	tree, err := v.dirTree(root, dir)
	if err != nil {
		return nil, nil, err
	}
	files, odd, absent := Files{}, []string{}, error(nil)
	err = v.walkFiles(tree, func(path string, e entry) {
		data, ok := v.blobs[e.hash]
		switch {
		case !isFileMode(e.mode) || !writable(path):
			odd = append(odd, path)
		case ok:
			files[path] = slices.Clone(data)
		default:
			absent = errStale
		}
	})
	return files, odd, dirFault(dir, cmp.Or(err, absent))
}

// matching reads the files that match a pattern. Their blobs were fetched before.
func (v *view) matching(root hash, g glob) (Files, error) {
	files, absent := Files{}, error(nil)
	err := v.walkGlob(root, g, func(path string, e entry) {
		data, ok := v.blobs[e.hash]
		switch {
		case !isFileMode(e.mode) || !writable(path):
		case ok:
			files[path] = slices.Clone(data)
		default:
			absent = errStale
		}
	})
	return files, dirFault(string(g), cmp.Or(err, absent))
}

// tidy sweeps when the cache has doubled since the last time.
func (v *view) tidy(depth int) error {
	if len(v.trees) <= 2*v.swept+1000 && len(v.commits) <= 4*depth {
		return nil
	}
	s, err := v.sweep(v.head, depth)
	if err != nil {
		return err
	}
	v.store, v.swept = s, len(s.trees)
	return nil
}

func dirFault(dir string, err error) error {
	if errors.Is(err, errTooMany) {
		return pathFault(dir, "holds too many files")
	}
	return err
}

func components(dir string) []string {
	if dir == "" {
		return nil
	}
	return strings.Split(dir, "/")
}
