package gitsync

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/poolwright/poolwright/gitsync/hub"
)

// tree reads one tree.
func (r *hubRemote) tree(ctx context.Context, h hash) ([]byte, error) {
	entries, err := r.client.Tree(ctx, h.String())
	if err != nil {
		return nil, err
	}
	if err := r.view.plant(h, entries); err != nil {
		return nil, err
	}
	return r.view.trees[h], nil
}

// plant puts a tree into the store as Git has it, checked against its name. What GitHub shows of a tree leaves out how
// an old tool spelled a mode, and names that are not UTF-8. A tree that it does not show whole is never written.
func (v *view) plant(h hash, entries []hub.Entry) error {
	for _, mode := range []string{modeTree, "0" + modeTree} {
		es := make([]entry, len(entries))
		for i, e := range entries {
			es[i] = entry{e.Mode, e.Path[strings.LastIndex(e.Path, "/")+1:], hashOf(e.SHA)}
			if isTreeMode(e.Mode) {
				es[i].mode = mode
			}
		}
		if raw := encodeTree(es); plumbing.ComputeHash(plumbing.TreeObject, raw) == h {
			v.trees[h] = raw
			return nil
		}
	}
	return faultf(ErrUnsupported, fmt.Sprintf("tree %s has names or modes that GitHub's API does not show as they are: publish through Git", h))
}

// subtree reads a tree with all below it in one call. From one that is too large for that nothing is taken.
func (r *hubRemote) subtree(ctx context.Context, h hash) error {
	entries, whole, err := r.client.Subtree(ctx, h.String())
	if err != nil || !whole {
		return err
	}
	names, kids := map[string]hash{"": h}, map[string][]hub.Entry{}
	for _, e := range entries {
		dir := e.Path[:max(strings.LastIndex(e.Path, "/"), 0)]
		kids[dir] = append(kids[dir], e)
		if isTreeMode(e.Mode) {
			names[e.Path] = hashOf(e.SHA)
		}
	}
	for dir, name := range names {
		if err := r.view.plant(name, kids[dir]); err != nil {
			return err
		}
	}
	return nil
}

// manyTrees is from how many directories on, that are not here, one call for all of them is the cheaper way.
const manyTrees = 4

// prepare reads in few calls the trees that a wish needs many of. What is left out comes one by one.
func (r *hubRemote) prepare(ctx context.Context, w wish) error {
	for _, dir := range w.dirs {
		if err := r.prepareDir(ctx, dir); err != nil {
			return err
		}
	}
	for _, g := range w.globs {
		if err := r.prepareGlob(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

func (r *hubRemote) prepareDir(ctx context.Context, dir string) error {
	h, err := r.view.dirTree(r.view.root(), dir)
	if _, here := r.view.trees[h]; err != nil || here || h.IsZero() {
		return err
	}
	return r.subtree(ctx, h)
}

func (r *hubRemote) prepareGlob(ctx context.Context, g glob) error {
	dir, rest := g.fixed()
	h, err := r.view.dirTree(r.view.root(), dir)
	if err != nil || h.IsZero() || len(rest) == 1 && rest[0] != anyDepth {
		return err
	}
	raw, err := r.view.tree(h)
	if err != nil {
		return err
	}
	away := 0
	err = eachEntry(raw, func(mode, _ []byte, e hash) error {
		if _, here := r.view.trees[e]; !here && isTreeMode(string(mode)) {
			away++
		}
		return nil
	})
	if err != nil || away < manyTrees {
		return err
	}
	return r.subtree(ctx, h)
}

// blobsAtOnce is how many blobs are read at the same time: a call each.
const blobsAtOnce = 8

// blobs reads files. Those that arrived are kept when another one fails.
func (r *hubRemote) blobs(ctx context.Context, need []hash) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var first error
	for part := range slices.Chunk(need, 1+len(need)/blobsAtOnce) {
		wg.Go(func() {
			for _, h := range part {
				data, err := r.client.Blob(ctx, h.String())
				mu.Lock()
				if err == nil {
					r.view.blobs[h] = data
				}
				first = cmp.Or(first, err)
				mu.Unlock()
				if err != nil {
					cancel()
					return
				}
			}
		})
	}
	wg.Wait()
	return first
}
