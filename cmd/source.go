package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/gitsync"
)

// ClusterFlag names the Cluster file.
type ClusterFlag struct {
	File string `name:"file" short:"f" required:"" placeholder:"FILE" help:"The Cluster file."`
}

// SnapshotFlag names recorded evidence.
type SnapshotFlag struct {
	Snapshot string `placeholder:"FILE" help:"Judge this snapshot instead of asking the databases."`
}

// TreeFlag names a checkout.
type TreeFlag struct {
	Tree string `placeholder:"DIR" help:"The cluster's directory in a checkout, instead of spec.publish.repository."`
}

// observe looks at the cluster once, or reads what was seen.
func (f SnapshotFlag) observe(ctx context.Context, d declaration) (discovery.Observation, error) {
	if f.Snapshot == "" {
		return observeOnce(ctx, d)
	}
	data, err := os.ReadFile(f.Snapshot)
	if err != nil {
		return discovery.Observation{}, fmt.Errorf("reading the snapshot: %w", err)
	}
	seen, err := discovery.ReadSnapshot(data)
	if err != nil {
		return seen, fmt.Errorf("reading the snapshot %s: %w", f.Snapshot, err)
	}
	if seen.Cluster != d.Metadata.Name {
		return seen, exitf(ExitUsage, "", "reading the snapshot %s: it is of cluster %q, not of %q", f.Snapshot, seen.Cluster, d.Metadata.Name)
	}
	return seen, nil
}

// declare reads a Cluster file once.
func declare(file string) (declaration, error) { return (&declarationFile{path: file}).read() }

// command is what to type to see the evidence.
func (f SnapshotFlag) command(file string) string {
	if f.Snapshot == "" {
		return "poolwright discover -f " + file
	}
	return "poolwright discover -f " + file + " --snapshot " + f.Snapshot
}

// base is what Git has for the cluster: a checkout, the remote, or nothing.
func (f TreeFlag) base(ctx context.Context, d declaration) (gitsync.Base, error) {
	switch {
	case f.Tree != "":
		return readDir(f.Tree)
	case d.Cluster.Spec.Publish.Repository != "":
		return readRepository(ctx, d)
	}
	return gitsync.Base{Files: gitsync.Files{}}, nil
}

// readRepository reads the remote; what is not the declaration's fault is unreachable.
func readRepository(ctx context.Context, d declaration) (gitsync.Base, error) {
	base, err := readRemote(ctx, d)
	if _, known := errors.AsType[*ExitError](err); err == nil || known {
		return base, err
	}
	return base, exitf(ExitUnreachable, "add --tree DIR to compare with a checkout", "reading %s: %w", d.Dir(), err)
}

// untrusted is the error about a topology in doubt; nil when there is none.
func untrusted(t discovery.Topology, hint string) error {
	if t.Trusted() {
		return nil
	}
	lines := make([]string, len(t.Doubts))
	for i, doubt := range t.Doubts {
		lines[i] = doubtText(t.Cluster, doubt)
	}
	return exitf(ExitUntrusted, hint, "judging the topology: %s", strings.Join(lines, "; "))
}

// doubtText is one doubt for people: code, who it is about, and the detail.
func doubtText(cluster string, d discovery.Doubt) string {
	about := d.Instance
	if about == "" {
		about = cluster
	}
	text := fmt.Sprintf("%s: %s", about, d.Code)
	if d.Detail != "" {
		text += " (" + d.Detail + ")"
	}
	return text
}
