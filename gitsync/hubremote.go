package gitsync

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/poolwright/poolwright/gitsync/hub"
)

// hubRemote is a remote behind GitHub's REST API: no clone, no pack. Trees come one by one, when somebody looks at them,
// so the view has those on the way to what was wished for and below it, and no others.
type hubRemote struct {
	client *hub.Client
	opts   Options
	view   *view
	// before is the head that we last moved the branch away from. A reader of GitHub's that lags still shows it.
	before hash
}

func newHubRemote(c *hub.Client, o Options, v *view) *hubRemote {
	v.absent = notHere
	return &hubRemote{client: c, opts: o, view: v}
}

// close leaves the client open: others use it.
func (r *hubRemote) close() error { return nil }

const (
	// maxLag is how often GitHub is asked again for a head that looks like before our own push, minLag the first pause.
	maxLag = 5
	minLag = 100 * time.Millisecond
)

func (r *hubRemote) contact(ctx context.Context, _ bool) (hash, conversation, error) {
	for n := 0; ; n++ {
		sha, err := r.client.Head(ctx, r.opts.Branch)
		if err != nil {
			return hash{}, nil, hubFault(err)
		}
		tip := hashOf(sha)
		if r.before.IsZero() || tip != r.before {
			return tip, hubConversation{r}, nil
		}
		if n == maxLag { // somebody took our commits back
			r.before = hash{}
			return tip, hubConversation{r}, nil
		}
		if err := r.opts.Sleep(ctx, minLag<<n); err != nil {
			return hash{}, nil, err
		}
	}
}

// refresh reads the commits since the head that is known, and the trees and blobs that are not here. What is here
// stays good: it goes by its content's name.
func (r *hubRemote) refresh(ctx context.Context, tip hash, w wish) error {
	v := r.view
	if tip.IsZero() {
		v.forget()
		return nil
	}
	v.absent = func(h hash) ([]byte, error) { return r.tree(ctx, h) }
	defer func() { v.absent = notHere }()
	err := r.follow(ctx, tip, w)
	if errors.Is(err, hub.ErrNotFound) { // the branch has moved away from it, or not every server of GitHub has it yet
		return errStale
	}
	return hubFault(err)
}

func (r *hubRemote) follow(ctx context.Context, tip hash, w wish) error {
	v := r.view
	if err := r.commits(ctx, tip); err != nil {
		return err
	}
	v.head = tip
	if err := r.prepare(ctx, w); err != nil {
		return err
	}
	need, err := v.missing(v.root(), w)
	if err != nil {
		return err
	}
	if err := r.blobs(ctx, need); err != nil {
		return err
	}
	return v.tidy(r.opts.LogDepth)
}

// someCommits is how many of the newest commits are read first. Mostly that reaches one that is known.
const someCommits = 30

// commits reads the log back to what is known, or LogDepth of it.
func (r *hubRemote) commits(ctx context.Context, tip hash) error {
	v := r.view
	if _, known := v.commits[tip]; known {
		return nil
	}
	n := min(someCommits, r.opts.LogDepth)
	log, err := r.client.Log(ctx, tip.String(), n)
	if err == nil && len(log) == n && !v.joins(log) {
		log, err = r.client.Log(ctx, tip.String(), r.opts.LogDepth)
	}
	if err != nil {
		return err
	}
	for _, c := range log {
		v.commits[hashOf(c.SHA)] = commitOf(c)
	}
	if _, ok := v.commits[tip]; !ok {
		return errStale
	}
	return nil
}

// joins tells whether a log leaves no gap to the commits that are known.
func (v *view) joins(log []hub.Commit) bool {
	known := map[hash]bool{}
	for _, c := range log {
		known[hashOf(c.SHA)] = true
	}
	for _, c := range log {
		if _, old := v.commits[hashOf(c.SHA)]; old {
			continue
		}
		for _, p := range c.Parents {
			if _, old := v.commits[hashOf(p)]; !old && !known[hashOf(p)] {
				return false
			}
		}
	}
	return true
}

func commitOf(h hub.Commit) commit {
	c := commit{tree: hashOf(h.Tree), Commit: Commit{
		Hash: h.SHA, Author: Identity{h.Author.Name, h.Author.Email}, When: h.Committer.At.UTC(),
	}}
	c.Subject, c.Body, c.Trailers = splitMessage(strings.ToValidUTF8(h.Message, "�"))
	for _, p := range h.Parents {
		c.parents = append(c.parents, hashOf(p))
	}
	return c
}

// hubKinds are the client's kinds of errors as those of this package.
var hubKinds = []struct{ theirs, ours error }{
	{hub.ErrRefused, ErrRefused},
	{hub.ErrAuth, ErrAuth},
	{hub.ErrNotFound, ErrNotFound},
	{hub.ErrUnreachable, ErrUnreachable},
	{hub.ErrLimited, ErrUnreachable},
	{hub.ErrMoved, ErrMoved},
	{hub.ErrExists, ErrMoved},
}

// hubFault types an error of the client.
func hubFault(err error) error {
	if err == nil || typed(err) || errors.Is(err, errStale) {
		return err
	}
	for _, k := range hubKinds {
		if errors.Is(err, k.theirs) {
			return &fault{kind: k.ours, cause: err}
		}
	}
	return err
}
