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
	change, err := changeOf(c.Out, tree)
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
	o, err := outlook(ctx, c.File, c.SnapshotFlag, func(context.Context, declaration) (gitsync.Base, error) { return baseIn(c.from()) })
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
	base, err := baseIn(c.from())
	if err != nil {
		return nil, err
	}
	state, err := render.ReadBack(base.Files)
	if err != nil {
		return nil, fmt.Errorf("reading %s back: %w", c.from(), err)
	}
	if state.Epoch == 0 {
		return nil, exitf(ExitUsage, "poolwright render -f "+c.File+" --out "+c.Out, "reading %s back: nothing is declared there yet", c.from())
	}
	return render.Draw(d.Cluster, state, render.GivenIn(base.Files))
}

// baseIn is the base of a directory, or the empty one without any.
func baseIn(dir string) (gitsync.Base, error) {
	if dir == "" {
		return gitsync.Base{Files: gitsync.Files{}}, nil
	}
	return readDir(dir)
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

// changeOf is what brings dir to tree. It refuses to write where a person's
// file or a link is.
func changeOf(dir string, tree render.Tree) (gitsync.Change, error) {
	have, err := readDir(dir)
	if err != nil {
		return gitsync.Change{}, err
	}
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
