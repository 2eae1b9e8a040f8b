package gitsync

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// draft is a series of commits on the head that are not pushed yet. Its objects are put into the view's
// store at once: what is not pushed is swept later.
type draft struct {
	*view
	opts Options
	tip  hash
	objs []object
	made map[hash]bool // the objects
	// steps are the commits, oldest first.
	steps []step
	// names are what a remote that makes the commits itself calls them.
	names map[hash]hash
	// unsigned is why no commit can be signed now; then none of the draft is pushed.
	unsigned error
}

// step is one commit of a draft.
type step struct {
	commit hash
	// base and root are the trees before and after.
	base, root hash
	change     Change
	message    string // as it is stored
}

func (v *view) draft(opts Options) *draft {
	return &draft{view: v, opts: opts, tip: v.head, made: map[hash]bool{}, names: map[hash]hash{}}
}

// named is the name of a commit on the remote.
func (d *draft) named(h hash) hash { return cmp.Or(d.names[h], h) }

// base is what a directory looks like after the commits drafted so far.
func (d *draft) base(dir string) (Base, error) {
	files, odd, err := d.files(d.root(), dir)
	if err != nil {
		return Base{}, err
	}
	b := Base{Files: files, Odd: odd, Log: history(d.commits, d.tip, d.opts.LogDepth)}
	if !d.tip.IsZero() {
		b.Head = d.tip.String()
	}
	return b, nil
}

func (d *draft) root() hash { return d.commits[d.tip].tree }

// draw lets an edit make its commits. When one is refused none of the edit's stay.
func (d *draft) draw(ctx context.Context, e Edit) (made []string, err error) {
	tip, n, steps := d.tip, len(d.objs), len(d.steps)
	defer func() {
		if err != nil {
			for _, o := range d.objs[n:] {
				delete(d.made, o.hash)
			}
			d.tip, d.objs, d.steps, made = tip, d.objs[:n], d.steps[:steps], nil
		}
	}()
	base, err := d.base(e.Dir)
	if err != nil {
		return nil, err
	}
	changes, err := e.Draw(base)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		before := d.tip
		if err := d.commit(ctx, e.Dir, c); err != nil {
			return nil, err
		}
		if d.tip != before {
			made = append(made, d.tip.String())
		}
	}
	return made, nil
}

// commit adds one change, or nothing when the tree stays the same.
func (d *draft) commit(ctx context.Context, dir string, c Change) error {
	var err error
	if c.Dir, err = cleanDir(c.Dir); err != nil {
		return err
	}
	if !within(dir, c.Dir) {
		return pathFault(c.Dir, fmt.Sprintf("is outside the edit's directory %q", dir))
	}
	plan, err := planEdits(c)
	if err != nil {
		return err
	}
	root, err := splicer{d.tree, d.add}.splice(d.root(), plan, "")
	if err != nil {
		return err
	}
	if root.IsZero() && !d.tip.IsZero() {
		root = d.add(plumbing.TreeObject, nil)
	}
	if root == d.root() {
		return nil
	}
	if err := d.checkAttributes(root, c); err != nil {
		return err
	}
	return d.record(ctx, root, c)
}

func (d *draft) record(ctx context.Context, root hash, c Change) error {
	message, err := normalise(c.Message)
	if err != nil {
		return err
	}
	if c.When.IsZero() {
		return errMessage
	}
	base, raw := d.root(), encodeCommit(root, d.tip, d.opts.Author, d.opts.Committer, c.When, message)
	if d.opts.Sign != nil {
		if raw, d.unsigned = signed(ctx, d.opts.Sign, raw); d.unsigned != nil {
			return d.unsigned
		}
	}
	d.tip = d.add(plumbing.CommitObject, raw)
	d.steps = append(d.steps, step{d.tip, base, root, c, message})
	return nil
}

// add makes an object part of the draft, once.
func (d *draft) add(kind plumbing.ObjectType, data []byte) hash {
	h := plumbing.ComputeHash(kind, data)
	if d.made[h] {
		return h
	}
	d.made[h] = true
	data = slices.Clone(data)
	d.objs = append(d.objs, object{kind, h, data})
	_ = d.put(kind, h, data) // fails for a malformed commit only, and this one is ours
	return h
}
