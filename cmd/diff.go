package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/poolwright/poolwright/render"
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
	Cluster string   `json:"cluster"`
	Put     []string `json:"put,omitempty"`
	Delete  []string `json:"delete,omitempty"`
	// Summary says it key by key, the selectors first.
	Summary []string `json:"summary,omitempty"`
	// Patch is the unified diff, below the cluster directory.
	Patch string `json:"patch,omitempty"`
}

// Run draws, compares and tells.
func (c DiffCmd) Run(ctx context.Context, std *Stdio) error {
	o, err := outlook(ctx, c.File, c.SnapshotFlag, c.base)
	if err != nil {
		return err
	}
	v := o.diff()
	if err := c.write(std.Out, v, func(w io.Writer) error { return writeDiff(w, v) }); err != nil {
		return err
	}
	return o.verdict(c.ExitCode)
}

// diff is what all proposals together change.
func (o prospect) diff() diffView {
	after := o.after()
	v := diffView{Cluster: o.Metadata.Name, Patch: string(render.Unified(o.base.Files, after))}
	for line := range strings.Lines(render.Summary(o.base.Files, after)) {
		v.Summary = append(v.Summary, strings.TrimSuffix(line, "\n"))
	}
	for _, name := range sortedKeys(after) {
		if have, ok := o.base.Files[name]; !ok || !bytes.Equal(have, after[name]) {
			v.Put = append(v.Put, name)
		}
	}
	for _, name := range sortedKeys(o.base.Files) {
		if _, ok := after[name]; !ok {
			v.Delete = append(v.Delete, name)
		}
	}
	return v
}

// writeDiff writes the summary, then the unified diff; nothing when nothing differs.
func writeDiff(w io.Writer, v diffView) error {
	if v.Patch == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "%s\n\n%s", strings.Join(v.Summary, "\n"), v.Patch)
	return err
}
