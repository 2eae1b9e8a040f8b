package cmd

import (
	"context"
	"fmt"
	"io"
)

// DiffCmd shows what would be committed now.
type DiffCmd struct {
	ClusterFlag  `embed:""`
	SnapshotFlag `embed:""`
	TreeFlag     `embed:""`
	Output       `embed:""`
	ExitCode     bool `help:"Exit 1 when something differs."`
}

// Help is shown by --help.
func (DiffCmd) Help() string {
	return example("poolwright diff -f cluster.yaml --snapshot seen.yaml --tree clusters/example-pg --exit-code")
}

// diffView is the difference for machines.
type diffView struct {
	Cluster string     `json:"cluster"`
	Files   []FileDiff `json:"files"`
}

// Run draws, compares and tells.
func (c DiffCmd) Run(ctx context.Context, std *Stdio) error {
	o, err := outlook(ctx, c.File, c.SnapshotFlag, c.base)
	if err != nil {
		return err
	}
	v := diffView{Cluster: o.Metadata.Name, Files: diffFiles(o.base.Files, o.after())}
	if err := c.write(std.Out, v, func(w io.Writer) error { return writeDiff(w, v.Files) }); err != nil {
		return err
	}
	return o.verdict(c.ExitCode)
}

// writeDiff writes the summary, key by key, then the unified diff.
func writeDiff(w io.Writer, files []FileDiff) error {
	if len(files) == 0 {
		return nil
	}
	if err := writeSummary(w, files); err != nil {
		return err
	}
	for _, f := range files {
		if _, err := fmt.Fprintf(w, "\n%s", f.Text); err != nil {
			return err
		}
	}
	return nil
}
