package gitsync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/gitsync/hub"
)

// hubConversation pushes in single calls: of each commit its tree and itself, and in the end the branch.
type hubConversation struct{ *hubRemote }

func (hubConversation) close() {}

var errEmptyRepository = faultf(ErrUnsupported,
	"the repository is empty, and GitHub's API takes no commit before there is one: make a first commit (a README will do), or publish through Git")

// push stores the commits and moves the branch. GitHub moves it forward only, and the first commit's parent is the head
// that was drawn on: that is the comparison.
func (c hubConversation) push(ctx context.Context, d *draft) error {
	if d.head.IsZero() {
		return errEmptyRepository
	}
	parent := d.head
	for _, s := range d.steps {
		if err := c.putTree(ctx, d, s); err != nil {
			return hubFault(err)
		}
		made, err := c.putCommit(ctx, d, s, parent)
		if err != nil {
			return hubFault(err)
		}
		parent = hashOf(made.Hash)
		d.commits[parent], d.names[s.commit] = made, parent
	}
	err := c.client.MoveBranch(ctx, c.opts.Branch, parent.String())
	switch {
	case err == nil:
		c.before = d.head
		return nil
	case errors.Is(err, hub.ErrMoved):
		return &refusal{reason: err.Error(), is: ErrMoved}
	case errors.Is(err, hub.ErrRefused):
		return &refusal{reason: err.Error(), is: ErrRefused}
	}
	return hubFault(err)
}

// putTree stores the tree after a step, as what differs from the tree before it.
func (c hubConversation) putTree(ctx context.Context, d *draft, s step) error {
	entries, err := d.differing(s)
	if err != nil {
		return err
	}
	sha, err := c.client.PutTree(ctx, s.base.String(), entries)
	if err == nil && hashOf(sha) != s.root {
		err = faultf(ErrUnsupported, fmt.Sprintf("GitHub made tree %s where Git makes %s of the same files: publish through Git", sha, s.root))
	}
	return err
}

// differing is a step's change without what is so already.
func (d *draft) differing(s step) ([]hub.Entry, error) {
	var out []hub.Entry
	for _, path := range slices.Sorted(maps.Keys(s.change.Put)) {
		full := join(s.change.Dir, path)
		was, _, err := d.lookup(s.base, components(full))
		if err != nil {
			return nil, err
		}
		is, _, err := d.lookup(s.root, components(full))
		if err != nil {
			return nil, err
		}
		if was != is {
			out = append(out, hub.Entry{Path: full, Mode: is.mode, Kind: "blob", Content: s.change.Put[path]})
		}
	}
	gone := slices.Sorted(slices.Values(s.change.Delete))
	for _, path := range slices.Compact(gone) {
		full := join(s.change.Dir, path)
		was, ok, err := d.lookup(s.base, components(full))
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, hub.Entry{Path: full, Mode: was.mode, Kind: "blob", Gone: true})
		}
	}
	return out, nil
}

// putCommit stores a step's commit and returns it as GitHub has it.
func (c hubConversation) putCommit(ctx context.Context, d *draft, s step, parent hash) (commit, error) {
	n := hub.NewCommit{Tree: s.root.String(), Parents: []string{parent.String()}, Message: s.message}
	if !c.opts.HubAuthor {
		n.Author = &hub.Who{Name: c.opts.Author.Name, Email: c.opts.Author.Email, At: s.change.When}
		n.Committer = &hub.Who{Name: c.opts.Committer.Name, Email: c.opts.Committer.Email, At: s.change.When}
	}
	sha, err := c.client.PutCommit(ctx, n)
	if err != nil {
		return commit{}, err
	}
	if !c.opts.HubAuthor && !c.opts.HubVerified {
		made := d.commits[s.commit]
		made.Hash, made.parents = sha, []hash{parent}
		return made, nil
	}
	got, err := c.client.Commit(ctx, sha)
	if errors.Is(err, hub.ErrNotFound) { // it was made a moment ago and has not reached every server
		err = &fault{kind: ErrUnreachable, cause: err}
	}
	if err != nil {
		return commit{}, err
	}
	if c.opts.HubVerified && !got.Verified {
		return commit{}, faultf(ErrRefused, fmt.Sprintf("GitHub does not verify commit %s (%s)", sha, printable(got.VerifiedReason)))
	}
	return commitOf(got), nil
}
