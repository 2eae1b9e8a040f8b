package githttp

import (
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// walk collects objects, each once, in the order in which it meets them.
type walk struct {
	store   storer.EncodedObjectStorer
	cut     []plumbing.Hash // these commits have no parents here
	noBlobs bool
	seen    map[plumbing.Hash]bool
	objects []plumbing.Hash
}

// missing is what the client wants and does not have.
func missing(store storer.EncodedObjectStorer, req request, edge boundary) ([]plumbing.Hash, error) {
	has := &walk{store: store, cut: req.shallows, seen: map[plumbing.Hash]bool{}}
	for _, h := range req.haves {
		if store.HasEncodedObject(h) != nil {
			continue
		}
		if err := has.history(h); err != nil {
			return nil, err
		}
	}
	want := &walk{store: store, cut: edge.shallow, noBlobs: req.noBlobs, seen: has.seen}
	if req.depth == 0 {
		want.cut = req.shallows
	}
	for _, h := range append(req.wants, edge.inside...) {
		if err := want.from(h); err != nil {
			return nil, err
		}
	}
	return want.objects, nil
}

// boundary is where a history of limited depth ends.
type boundary struct {
	shallow []plumbing.Hash // the last commits, whose parents are left away
	opened  []plumbing.Hash // commits where the client was shallow and is no longer
	inside  []plumbing.Hash // the parents of those
}

// boundaryOf goes down from the wants, depth commits.
func boundaryOf(store storer.EncodedObjectStorer, req request) (b boundary, err error) {
	seen := map[plumbing.Hash]bool{}
	level := req.wants
	for n := 1; n <= req.depth && len(level) > 0; n++ {
		var next []plumbing.Hash
		for _, h := range level {
			if seen[h] {
				continue
			}
			seen[h] = true
			commit, err := object.GetCommit(store, h)
			if err != nil {
				return b, err
			}
			next = append(next, b.place(commit, n == req.depth, req.shallows)...)
		}
		level = next
	}
	return b, nil
}

// place says on which side of the edge a commit is, and what comes below it.
func (b *boundary) place(commit *object.Commit, last bool, shallows []plumbing.Hash) []plumbing.Hash {
	switch {
	case last && len(commit.ParentHashes) > 0:
		b.shallow = append(b.shallow, commit.Hash)
		return nil
	case slices.Contains(shallows, commit.Hash):
		b.opened = append(b.opened, commit.Hash)
		b.inside = append(b.inside, commit.ParentHashes...)
	}
	return commit.ParentHashes
}

// from walks from any object that a client may name: a partial clone asks for
// single blobs and trees.
func (w *walk) from(h plumbing.Hash) error {
	obj, err := w.store.EncodedObject(plumbing.AnyObject, h)
	if err != nil {
		return err
	}
	switch obj.Type() {
	case plumbing.CommitObject:
		return w.history(h)
	case plumbing.TreeObject:
		return w.tree(h)
	case plumbing.TagObject:
		w.add(h)
		tag, err := object.GetTag(w.store, h)
		if err != nil {
			return err
		}
		return w.from(tag.Target)
	default:
		w.add(h)
		return nil
	}
}

// history walks a commit and its ancestors.
func (w *walk) history(start plumbing.Hash) error {
	todo := []plumbing.Hash{start}
	for len(todo) > 0 {
		h := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !w.add(h) {
			continue
		}
		commit, err := object.GetCommit(w.store, h)
		if err != nil {
			return err
		}
		if err := w.tree(commit.TreeHash); err != nil {
			return err
		}
		if !slices.Contains(w.cut, h) {
			todo = append(todo, commit.ParentHashes...)
		}
	}
	return nil
}

func (w *walk) tree(h plumbing.Hash) error {
	if !w.add(h) {
		return nil
	}
	tree, err := object.GetTree(w.store, h)
	if err != nil {
		return err
	}
	for _, e := range tree.Entries {
		switch {
		case e.Mode == filemode.Dir:
			if err := w.tree(e.Hash); err != nil {
				return err
			}
		case e.Mode != filemode.Submodule && !w.noBlobs:
			w.add(e.Hash)
		}
	}
	return nil
}

// add notes an object and says whether it is new.
func (w *walk) add(h plumbing.Hash) bool {
	if w.seen[h] {
		return false
	}
	w.seen[h] = true
	w.objects = append(w.objects, h)
	return true
}
