package cmd

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/render"
)

// RenderCmd draws a cluster's tree.
type RenderCmd struct {
	ClusterFlag  `embed:""`
	SnapshotFlag `embed:""`
	Tree         string `placeholder:"DIR" help:"The declared state to start from: the cluster's directory in a checkout. Default: what is in --out."`
	Declared     bool   `help:"Draw what topology.yaml in --tree declares, and ask nobody: after an edit of the Cluster file."`
	Out          string `required:"" placeholder:"DIR" help:"Write the files below this directory; - prints them as one txtar archive."`
}

// Help is shown by --help.
func (RenderCmd) Help() string {
	return example("poolwright render -f cluster.yaml --snapshot seen.yaml --out clusters/example-pg")
}

// Run draws everything, and only then writes.
func (c RenderCmd) Run(ctx context.Context, std *Stdio) error {
	draw := c.observed
	if c.Declared {
		draw = c.declared
	}
	tree, err := draw(ctx)
	if err != nil {
		return err
	}
	if c.Out == "-" {
		return writeArchive(std.Out, tree)
	}
	change, err := c.change(tree)
	if err != nil {
		return err
	}
	if err := writeDir(c.Out, change); err != nil {
		return err
	}
	return writeRendered(std.Out, change)
}

// from is the directory with the declared state, "" for none.
func (c RenderCmd) from() string {
	if c.Tree == "" && c.Out != "-" {
		return c.Out
	}
	return c.Tree
}

// observed draws what a look at the cluster comes to.
func (c RenderCmd) observed(ctx context.Context) (render.Tree, error) {
	o, err := outlook(ctx, c.File, c.SnapshotFlag, func(context.Context, declaration) (gitsync.Base, error) { return c.base() })
	if err != nil {
		return nil, err
	}
	return owned(o.after()), o.verdict(false)
}

// declared draws the membership that the tree declares.
func (c RenderCmd) declared(context.Context) (render.Tree, error) {
	d, err := declare(c.File)
	if err != nil {
		return nil, err
	}
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	state, err := render.ReadBack(d.Metadata.Name, base.Files)
	if err != nil {
		return nil, fmt.Errorf("reading %s back: %w", c.from(), err)
	}
	if state.Epoch == 0 {
		return nil, exitf(ExitUsage, commandLine("render", "-f", c.File, "--out", c.Out), "reading %s back: nothing is declared there yet", c.from())
	}
	return render.Draw(d.Cluster, state, render.GivenIn(base.Files))
}

// base is what is declared so far. Only --out may not be there yet.
func (c RenderCmd) base() (gitsync.Base, error) {
	switch {
	case c.Tree != "":
		return readDir(c.Tree)
	case c.Out != "-":
		return readDirIfAny(c.Out)
	}
	return gitsync.Base{Files: gitsync.Files{}}, nil
}

// owned are the files of a tree that poolwright writes.
func owned(files gitsync.Files) render.Tree {
	tree := render.Tree{}
	for name, data := range files {
		if render.Owned(name, data) {
			tree[name] = data
		}
	}
	return tree
}

// change is what brings --out to tree. An epoch never goes back.
func (c RenderCmd) change(tree render.Tree) (gitsync.Change, error) {
	have, err := readDirIfAny(c.Out)
	if err != nil {
		return gitsync.Change{}, err
	}
	change, err := changeOf(c.Out, have, tree)
	if err != nil {
		return change, err
	}
	was, now, err := c.epochs(have, tree)
	if err == nil && now < was {
		err = exitf(ExitRefused, commandLine("render", "-f", c.File, "--declared", "--out", c.Out),
			"rendering into %s: its epoch is %d and would go back to %d", c.Out, was, now)
	}
	return change, err
}

// epochs are those of --out and of a tree; 0 where there is no topology.yaml.
func (c RenderCmd) epochs(have gitsync.Base, tree render.Tree) (was, now uint64, err error) {
	d, err := declare(c.File)
	if err != nil {
		return 0, 0, err
	}
	before, err := render.ReadBack(d.Metadata.Name, have.Files)
	if err != nil {
		return 0, 0, fmt.Errorf("reading %s back: %w", c.Out, err)
	}
	after, err := render.ReadBack(d.Metadata.Name, tree)
	return before.Epoch, after.Epoch, err
}

// changeOf is what brings dir to tree. It refuses to write where a person's
// file or a link is.
func changeOf(dir string, have gitsync.Base, tree render.Tree) (gitsync.Change, error) {
	if foreign := inTheWay(have.Files, tree); len(foreign) > 0 {
		return gitsync.Change{}, exitf(ExitRefused, "mv "+filepath.Join(dir, foreign[0])+" "+filepath.Join(dir, foreign[0])+".mine",
			"rendering into %s: %s is not poolwright's and stands in the way", dir, strings.Join(foreign, ", "))
	}
	put, gone := render.Changes(have.Files, tree, false)
	for _, odd := range have.Odd {
		for name := range put {
			if name == odd || strings.HasPrefix(name, odd+"/") {
				return gitsync.Change{}, exitf(ExitRefused, "", "rendering into %s: %s is a link or no file and stands in the way", dir, odd)
			}
		}
	}
	return gitsync.Change{Put: put, Delete: gone}, nil
}

// writeArchive prints a tree.
func writeArchive(w io.Writer, tree render.Tree) error {
	var archive txtar.Archive
	for _, name := range sortedKeys(tree) {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: tree[name]})
	}
	_, err := w.Write(txtar.Format(&archive))
	return err
}

// writeRendered says what was written.
func writeRendered(w io.Writer, change gitsync.Change) error {
	for _, name := range sortedKeys(change.Put) {
		fmt.Fprintf(w, "wrote %s\n", name)
	}
	for _, name := range change.Delete {
		fmt.Fprintf(w, "deleted %s\n", name)
	}
	_, err := fmt.Fprintf(w, "%d written, %d deleted\n", len(change.Put), len(change.Delete))
	return err
}
