package gitsync

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
)

// store holds objects by name: the trees of the branch head, the blobs somebody asked for, the
// newest commits.
type store struct {
	trees, blobs map[hash][]byte
	commits      map[hash]commit
	// absent gets a tree that is not here. nil when all trees of the head are; then one that is missing is errStale.
	absent func(hash) ([]byte, error)
}

func newStore() store {
	return store{trees: map[hash][]byte{}, blobs: map[hash][]byte{}, commits: map[hash]commit{}}
}

func (s store) tree(h hash) ([]byte, error) {
	raw, ok := s.trees[h]
	switch {
	case ok:
		return raw, nil
	case s.absent != nil:
		return s.absent(h)
	}
	return notHere(h)
}

func notHere(h hash) ([]byte, error) { return nil, fmt.Errorf("tree %s: %w", h, errStale) }

// put keeps an object.
func (s store) put(kind plumbing.ObjectType, h hash, data []byte) error {
	switch kind {
	case plumbing.TreeObject:
		s.trees[h] = data
	case plumbing.BlobObject:
		s.blobs[h] = data
	case plumbing.CommitObject:
		c, err := parseCommit(h, data)
		if err != nil {
			return fmt.Errorf("commit %s: %w", h, err)
		}
		s.commits[h] = c
	}
	return nil
}

// lookup finds the entry at a path below a tree. ok is false when there is none; a component
// that is no directory ends the search.
func (s store) lookup(root hash, path []string) (e entry, ok bool, err error) {
	e = entry{mode: modeTree, hash: root}
	for _, name := range path {
		if !isTreeMode(e.mode) || e.hash.IsZero() {
			return entry{}, false, nil
		}
		raw, err := s.tree(e.hash)
		if err != nil {
			return entry{}, false, err
		}
		es, err := parseTree(raw)
		if err != nil {
			return entry{}, false, err
		}
		i := find(es, name)
		if i < 0 {
			return entry{}, false, nil
		}
		e = es[i]
	}
	return e, !e.hash.IsZero(), nil
}

// maxFiles and maxSearch bound the entries looked at below one directory and for one pattern, against trees that repeat
// themselves.
const (
	maxFiles  = 100_000
	maxSearch = 2_000_000
)

var errTooMany = errors.New("too many files")

// walkFiles calls f for every entry below a tree that is no directory, with its path below it.
func (s store) walkFiles(tree hash, f func(path string, e entry)) error {
	w := walk{store: s, glob: anything.components(), left: maxFiles, found: f}
	return w.tree(tree, "", w.start())
}

// walkGlob calls f for every entry of a commit that is no directory and whose path matches.
func (s store) walkGlob(root hash, g glob, f func(path string, e entry)) error {
	w := walk{store: s, glob: g.components(), left: maxSearch, found: f}
	return w.tree(root, "", w.start())
}

// walk is one way through trees along a pattern.
type walk struct {
	store
	glob  []string
	left  int // entries that may still be looked at
	found func(path string, e entry)
}

// tree goes on below a directory, where the pattern has come to the places at.
func (w *walk) tree(h hash, dir string, at []int) error {
	if h.IsZero() {
		return nil
	}
	raw, err := w.store.tree(h)
	if err != nil {
		return err
	}
	es, err := parseTree(raw)
	if err != nil {
		return fmt.Errorf("reading tree %s: %w", h, err)
	}
	for _, e := range es {
		if w.left--; w.left < 0 || len(dir) > maxPath {
			return errTooMany
		}
		next := w.step(at, e.name)
		switch {
		case isTreeMode(e.mode) && badName(e.name) == "":
			if w.goesOn(next) {
				err = w.tree(e.hash, join(dir, e.name), next)
			}
		case w.matches(next):
			w.found(join(dir, e.name), e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reach visits every tree below tree that is here once, and calls blob for each file or link.
func (s store) reach(tree hash, visit, blob func(hash)) error {
	seen, todo := map[hash]bool{}, []hash{tree}
	for len(todo) > 0 {
		h := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if h.IsZero() || seen[h] {
			continue
		}
		seen[h] = true
		raw, ok := s.trees[h]
		switch {
		case !ok && s.absent != nil: // nobody asked for it
			continue
		case !ok:
			_, err := notHere(h)
			return err
		}
		visit(h)
		err := eachEntry(raw, func(mode, _ []byte, e hash) error {
			if isTreeMode(string(mode)) {
				todo = append(todo, e)
			} else {
				blob(e)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("reading tree %s: %w", h, err)
		}
	}
	return nil
}

// sweep is the store without what head no longer leads to, keeping the newest depth commits.
func (s store) sweep(head hash, depth int) (store, error) {
	out := newStore()
	out.absent = s.absent
	for _, c := range history(s.commits, head, depth) {
		h := hashOf(c.Hash)
		out.commits[h] = s.commits[h]
	}
	keep := func(h hash) { out.trees[h] = s.trees[h] }
	err := s.reach(s.commits[head].tree, keep, func(h hash) {
		if b, ok := s.blobs[h]; ok {
			out.blobs[h] = b
		}
	})
	return out, err
}
