package gitsync

import (
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
}

func (v *view) draft(opts Options) *draft {
	return &draft{view: v, opts: opts, tip: v.head, made: map[hash]bool{}}
}

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
func (d *draft) draw(e Edit) (made []string, err error) {
	tip, n := d.tip, len(d.objs)
	defer func() {
		if err != nil {
			for _, o := range d.objs[n:] {
				delete(d.made, o.hash)
			}
			d.tip, d.objs, made = tip, d.objs[:n], nil
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
		if err := d.commit(e.Dir, c); err != nil {
			return nil, err
		}
		if d.tip != before {
			made = append(made, d.tip.String())
		}
	}
	return made, nil
}

// commit adds one change, or nothing when the tree stays the same.
func (d *draft) commit(dir string, c Change) error {
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
	return d.record(root, c)
}

func (d *draft) record(root hash, c Change) error {
	message, err := normalise(c.Message)
	if err != nil {
		return err
	}
	if c.When.IsZero() {
		return errMessage
	}
	d.tip = d.add(plumbing.CommitObject, encodeCommit(root, d.tip, d.opts.Author, d.opts.Committer, c.When, message))
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
