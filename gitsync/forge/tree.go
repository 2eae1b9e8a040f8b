package forge

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/gitsync/hub"
)

// listing is the files of a directory by their path below it, at any depth.
type listing map[string]leaf

// leaf is a file, a symlink or a submodule.
type leaf struct{ mode, sha string }

const plainFile = "100644"

// regular tells whether it is a file that may be written.
func (l leaf) regular() bool { return l.mode == plainFile || l.mode == "100755" }

// digest stands for the whole listing.
func (l listing) digest() string {
	h := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(l)) {
		fmt.Fprintf(h, "%s %s %s\x00", l[path].mode, l[path].sha, path)
	}
	return hex.EncodeToString(h.Sum(nil))[:40]
}

// blobSHA is the name that Git gives to content.
func blobSHA(data []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// paths are the paths of all listings, sorted.
func paths(all ...listing) []string {
	seen := map[string]bool{}
	for _, l := range all {
		for path := range l {
			seen[path] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// forest reads trees, each once. Commits and trees never change.
type forest struct {
	hub   *hub.Client
	trees map[string][]hub.Entry
	lists map[string]listing // by tree
	roots map[string]string  // by commit
}

func newForest(h *hub.Client) *forest {
	return &forest{hub: h, trees: map[string][]hub.Entry{}, lists: map[string]listing{}, roots: map[string]string{}}
}

// root is the tree of a commit.
func (f *forest) root(ctx context.Context, commit string) (string, error) {
	if tree, ok := f.roots[commit]; ok {
		return tree, nil
	}
	c, err := f.hub.Commit(ctx, commit)
	if err != nil {
		return "", fmt.Errorf("reading the commit %s: %w", commit, err)
	}
	f.roots[commit] = c.Tree
	return c.Tree, nil
}

// entries is one level of a tree; "" is the empty one.
func (f *forest) entries(ctx context.Context, tree string) ([]hub.Entry, error) {
	if tree == "" {
		return nil, nil
	}
	if known, ok := f.trees[tree]; ok {
		return known, nil
	}
	list, err := f.hub.Tree(ctx, tree)
	if err != nil {
		return nil, fmt.Errorf("reading the tree %s: %w", tree, err)
	}
	f.trees[tree] = list
	return list, nil
}

var errTruncated = errors.New("a directory has more files than GitHub lists")

// files lists a directory of a tree. One that is not there has none.
func (f *forest) files(ctx context.Context, root, dir string) (listing, error) {
	tree, err := f.descend(ctx, root, dir)
	if err != nil || tree == "" {
		return listing{}, err
	}
	if known, ok := f.lists[tree]; ok {
		return known, nil
	}
	list, whole, err := f.hub.Subtree(ctx, tree)
	if err == nil && !whole {
		err = errTruncated
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", dir, err)
	}
	out := listing{}
	for _, e := range list {
		if e.Kind != "tree" {
			out[e.Path] = leaf{e.Mode, e.SHA}
		}
	}
	f.lists[tree] = out
	return out, nil
}

// descend is the tree of a directory, "" when there is none.
func (f *forest) descend(ctx context.Context, tree, dir string) (string, error) {
	if dir == "" {
		return tree, nil
	}
	at := ""
	for name := range strings.SplitSeq(dir, "/") {
		list, err := f.entries(ctx, tree)
		if err != nil {
			return "", err
		}
		at = below(at, name)
		switch e, ok := find(list, name); {
		case !ok:
			return "", nil
		case e.Kind != "tree":
			return "", fmt.Errorf("%q is not a directory (mode %s)", at, e.Mode)
		default:
			tree = e.SHA
		}
	}
	return tree, nil
}

func find(list []hub.Entry, name string) (hub.Entry, bool) {
	i := slices.IndexFunc(list, func(e hub.Entry) bool { return e.Path == name })
	if i < 0 {
		return hub.Entry{}, false
	}
	return list[i], true
}

// below joins two paths, of which the first may be "".
func below(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
