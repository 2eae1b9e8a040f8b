package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/gitsync"
)

// ClusterFlag names the Cluster file.
type ClusterFlag struct {
	File string `name:"file" short:"f" required:"" placeholder:"FILE" help:"The Cluster file."`
}

// TreeFlag names a checkout.
type TreeFlag struct {
	Tree string `placeholder:"DIR" help:"The cluster's directory in a checkout, instead of spec.publish.repository."`
}

// declare reads a Cluster file once.
func declare(file string) (declaration, error) { return (&declarationFile{path: file}).read() }

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
	hint := ""
	if errors.Is(err, gitsync.ErrUnreachable) {
		hint = "add --tree DIR to compare with a checkout"
	}
	return base, exitf(ExitUnreachable, hint, "reading %s: %w", d.Dir(), err)
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
	return printable(text)
}
