package gitsync

import (
	"context"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

// gitRemote is a remote that is spoken to in Git's own protocol.
type gitRemote struct {
	opts    Options
	carrier carrier
	view    *view
	// dirs and globs are what somebody asked for.
	dirs  map[string]bool
	globs map[glob]bool
	// caps is what upload-pack can do, known since the first contact; nil before.
	caps *capability.List
	// plain: the remote cannot leave blobs out, or not hand them out one by one. Then packs come whole
	// and the blobs that are wished for are picked from them.
	plain bool
	// coldSize is the size of the pack of the last cold start; it bounds the later ones.
	coldSize int64
}

func newGitRemote(c carrier, o Options, v *view) *gitRemote {
	return &gitRemote{opts: o, carrier: c, view: v, dirs: map[string]bool{}, globs: map[glob]bool{}}
}

func (r *gitRemote) close() error { return r.carrier.close() }

// contact asks upload-pack where the branch is, or receive-pack, which is also the conversation the push belongs to.
func (r *gitRemote) contact(ctx context.Context, toPush bool) (hash, conversation, error) {
	service := uploadPack
	if toPush {
		service = receivePack
	}
	s, err := r.carrier.open(ctx, service)
	if err != nil {
		return hash{}, nil, err
	}
	adv, err := s.refs()
	if err != nil {
		s.close()
		return hash{}, nil, err
	}
	if !toPush {
		r.learn(adv.Capabilities)
	}
	tip, err := tipOf(adv, r.opts.Branch)
	if err != nil {
		s.close()
		return hash{}, nil, err
	}
	return tip, gitConversation{s, adv.Capabilities, "refs/heads/" + r.opts.Branch}, nil
}

// gitConversation is an open session with receive-pack, or upload-pack, which nobody pushes to.
type gitConversation struct {
	session
	caps *capability.List
	ref  string
}

func (c gitConversation) push(_ context.Context, d *draft) error { // the session ends with its own context
	return push(c.session, c.caps, c.ref, d.head, d.tip, encodePack(d.objs))
}

// learn notes what upload-pack can do. An empty repository says nothing about that.
func (r *gitRemote) learn(caps *capability.List) {
	if caps.IsEmpty() {
		return
	}
	r.caps = caps
	for _, c := range []capability.Capability{capability.Filter, capability.AllowTipSHA1InWant, capability.AllowReachableSHA1InWant} {
		r.plain = r.plain || !caps.Supports(c)
	}
}

// asked is all that was ever wished for.
func (r *gitRemote) asked() wish {
	return wish{slices.Collect(maps.Keys(r.dirs)), slices.Collect(maps.Keys(r.globs))}
}
