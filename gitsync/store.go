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
}

func newStore() store {
	return store{map[hash][]byte{}, map[hash][]byte{}, map[hash]commit{}}
}

func (s store) tree(h hash) ([]byte, error) {
	if raw, ok := s.trees[h]; ok {
		return raw, nil
	}
	return nil, fmt.Errorf("tree %s: %w", h, errStale)
}

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

// maxFiles bounds the entries below one directory that is read, against trees that repeat themselves.
const maxFiles = 100_000

var errTooMany = errors.New("too many files")

// walkFiles calls f for every entry below a tree that is no directory, with its path below it.
func (s store) walkFiles(tree hash, f func(path string, e entry) error) error {
	left := maxFiles
	return s.walk(tree, "", &left, f)
}

func (s store) walk(tree hash, dir string, left *int, f func(string, entry) error) error {
	if tree.IsZero() {
		return nil
	}
	raw, err := s.tree(tree)
	if err != nil {
		return err
	}
	es, err := parseTree(raw)
	if err != nil {
		return fmt.Errorf("reading tree %s: %w", tree, err)
	}
	for _, e := range es {
		if *left--; *left < 0 || len(dir) > maxPath {
			return errTooMany
		}
		if isTreeMode(e.mode) && badName(e.name) == "" {
			err = s.walk(e.hash, join(dir, e.name), left, f)
		} else {
			err = f(join(dir, e.name), e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reach visits every tree below tree once, and calls blob for each file or link.
func (s store) reach(tree hash, visit, blob func(hash)) error {
	seen, todo := map[hash]bool{}, []hash{tree}
	for len(todo) > 0 {
		h := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if h.IsZero() || seen[h] {
			continue
		}
		seen[h] = true
		raw, err := s.tree(h)
		if err != nil {
			return err
		}
		visit(h)
		err = eachEntry(raw, func(mode, _ []byte, e hash) error {
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
