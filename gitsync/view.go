package gitsync

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

// view is what is known of the remote: the commit its branch points to, all trees of that commit, the
// blobs of the directories somebody asked for, the newest commits.
type view struct {
	store
	head hash // zero: the branch does not exist
	// dirs are the directories somebody asked for.
	dirs map[string]bool
	// caps is what upload-pack can do, known since the first contact; nil before.
	caps *capability.List
	// plain: the remote cannot leave blobs out, or not hand them out one by one. Then packs come whole
	// and the blobs of dirs are picked from them.
	plain bool
	// coldSize is the size of the pack of the last cold start; it bounds the later ones.
	coldSize int64
	// swept is how many trees were left by the last sweep.
	swept int
}

func newView() *view { return &view{store: newStore(), dirs: map[string]bool{}} }

// forget drops what was cached, not what was learned about the remote.
func (v *view) forget() {
	v.store, v.head, v.swept = newStore(), hash{}, 0
}

// learn notes what upload-pack can do. An empty repository says nothing about that.
func (v *view) learn(caps *capability.List) {
	if caps.IsEmpty() {
		return
	}
	v.caps = caps
	for _, c := range []capability.Capability{capability.Filter, capability.AllowTipSHA1InWant, capability.AllowReachableSHA1InWant} {
		v.plain = v.plain || !caps.Supports(c)
	}
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

// missing lists the blobs of dirs that are not here: their files, and .gitattributes on the way to them.
func (v *view) missing(root hash, dirs []string) ([]hash, error) {
	need := map[hash]bool{}
	note := func(e entry) {
		if _, have := v.blobs[e.hash]; isFileMode(e.mode) && !have {
			need[e.hash] = true
		}
	}
	for _, dir := range dirs {
		if err := v.eachAttributes(root, dir, func(_ string, e entry) { note(e) }); err != nil {
			return nil, err
		}
		tree, err := v.dirTree(root, dir)
		if err != nil {
			return nil, err
		}
		err = v.walkFiles(tree, func(_ string, e entry) error { note(e); return nil })
		switch {
		case errors.Is(err, errTooMany): // told when the directory is read
		case err != nil:
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
	files, odd := Files{}, []string{}
	err = v.walkFiles(tree, func(path string, e entry) error {
		if !isFileMode(e.mode) || !writable(path) {
			odd = append(odd, path)
			return nil
		}
		data, ok := v.blobs[e.hash]
		if !ok {
			return errStale
		}
		files[path] = slices.Clone(data)
		return nil
	})
	return files, odd, dirFault(dir, err)
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
