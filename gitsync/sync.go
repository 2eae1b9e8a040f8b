package gitsync

import (
	"context"
	"errors"
	"fmt"
)

const (
	// maxCold bounds a cold start, maxWarm the least that a warm fetch may take, both in pack bytes. Beyond, a warm fetch
	// may take four times the cold start; more is dearer than another cold start.
	maxCold = 4 << 30
	maxWarm = 4 << 20
	// plainDepth bounds the commits of a cold start that comes with all its files.
	plainDepth = 50
)

// refresh fetches what differs, or all when the cache does not lead to tip.
func (r *gitRemote) refresh(ctx context.Context, tip hash, w wish) error {
	for _, d := range w.dirs {
		r.dirs[d] = true
	}
	for _, g := range w.globs {
		r.globs[g] = true
	}
	err := r.follow(ctx, tip, w)
	if errors.Is(err, errStale) {
		r.view.forget()
		err = r.follow(ctx, tip, w)
	}
	return err
}

func (r *gitRemote) follow(ctx context.Context, tip hash, w wish) error {
	var err error
	switch v := r.view; {
	case tip.IsZero():
		v.forget()
		return nil
	case tip == v.head:
	case v.head.IsZero():
		err = r.cold(ctx, tip)
	default:
		err = r.warm(ctx, tip)
	}
	if err != nil {
		return err
	}
	return r.blobs(ctx, w)
}

// ask is one fetch in a session of its own.
func (r *gitRemote) ask(ctx context.Context, w wanted) (*received, error) {
	s, err := r.carrier.open(ctx, uploadPack)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if r.caps == nil {
		adv, err := s.refs()
		if err != nil {
			return nil, err
		}
		r.learn(adv.Capabilities)
	}
	if r.caps == nil {
		return nil, errStale // it is empty now
	}
	return fetch(s, r.caps, w)
}

// know makes sure that what upload-pack can do is known.
func (r *gitRemote) know(ctx context.Context) error {
	if r.caps != nil {
		return nil
	}
	s, err := r.carrier.open(ctx, uploadPack)
	if err != nil {
		return err
	}
	defer s.close()
	adv, err := s.refs()
	if err != nil {
		return err
	}
	r.learn(adv.Capabilities)
	return nil
}

// cold starts anew, with all or nothing.
func (r *gitRemote) cold(ctx context.Context, tip hash) error {
	err := r.coldStart(ctx, tip)
	if err != nil {
		r.view.forget()
	}
	return err
}

// coldStart loads the trees of tip and the messages of the newest commits.
func (r *gitRemote) coldStart(ctx context.Context, tip hash) error {
	if err := r.know(ctx); err != nil {
		return err
	}
	w := wanted{hashes: []hash{tip}, depth: 1, filter: "blob:none", limit: maxCold}
	if r.plain {
		w.depth, w.filter = min(r.opts.LogDepth, plainDepth), ""
	}
	if err := r.load(ctx, tip, w); err != nil {
		return err
	}
	if !r.plain {
		if err := r.messages(ctx, tip); err != nil {
			return err
		}
	}
	s, err := r.view.sweep(tip, r.opts.LogDepth)
	if err != nil {
		return err
	}
	r.view.store, r.view.swept = s, len(s.trees)
	return nil
}

// load fetches a commit and makes it the head. That a server sent too little shows as errStale where a tree is looked for.
func (r *gitRemote) load(ctx context.Context, tip hash, w wanted) error {
	p, err := r.ask(ctx, w)
	if err != nil {
		return err
	}
	defer p.close()
	v := r.view
	if err := v.take(p); err != nil {
		v.forget()
		return err
	}
	if _, ok := v.commits[tip]; !ok {
		return errStale
	}
	if w.have.IsZero() {
		r.coldSize = p.size
	}
	v.head = tip
	return r.pick(p)
}

// pick takes from a pack that came whole the blobs that somebody asked for.
func (r *gitRemote) pick(p *received) error {
	v := r.view
	if !r.plain {
		return nil
	}
	need, err := v.missing(v.root(), r.asked())
	if err != nil {
		return err
	}
	want := map[hash]bool{}
	for _, h := range need {
		want[h] = true
	}
	for _, o := range p.objs {
		if want[o.hash] {
			data, err := p.load(o.hash)
			if err != nil {
				return err
			}
			v.blobs[o.hash] = data
		}
	}
	return nil
}

// messages fetches the newest commits without their trees. Some servers allow blob:none only; then the
// trees come along and are swept.
func (r *gitRemote) messages(ctx context.Context, tip hash) error {
	var err error
	for _, filter := range []string{"tree:0", "blob:none"} {
		var p *received
		p, err = r.ask(ctx, wanted{hashes: []hash{tip}, depth: r.opts.LogDepth, filter: filter, limit: maxCold})
		if err != nil {
			continue
		}
		defer p.close()
		return r.view.take(p)
	}
	return err
}

// warm loads what changed between the head and tip. After a rewrite of the branch it is the new history, all of it or, when
// that is more than the limit, nothing.
func (r *gitRemote) warm(ctx context.Context, tip hash) error {
	w := wanted{hashes: []hash{tip}, have: r.view.head, filter: "blob:none", limit: max(maxWarm, 4*r.coldSize)}
	if r.plain {
		w.filter = ""
	}
	if err := r.load(ctx, tip, w); err != nil {
		return err
	}
	return r.view.tidy(r.opts.LogDepth)
}

// descends tells whether old is tip or before it, as far as commits are known.
func (s store) descends(tip, old hash) bool {
	_, ok := childCounts(s.commits, tip)[old]
	return ok || tip == old
}

// blobs fetches the files of a wish that are not here, all in one request.
func (r *gitRemote) blobs(ctx context.Context, w wish) error {
	v := r.view
	need, err := v.missing(v.root(), w)
	if err != nil || len(need) == 0 {
		return err
	}
	if r.plain {
		return r.whole(ctx)
	}
	p, err := r.ask(ctx, wanted{hashes: need, limit: maxCold})
	if errors.Is(err, errStale) { // it hands out commits only, whatever it advertises
		r.plain = true
		return r.whole(ctx)
	}
	if err != nil {
		return err
	}
	defer p.close()
	for _, h := range need {
		data, err := p.load(h)
		if err != nil {
			return fmt.Errorf("fetching the files of the directory: %w", err)
		}
		v.blobs[h] = data
	}
	return nil
}

// whole fetches the head with all its blobs, for a remote that cannot do less, and keeps those asked for.
func (r *gitRemote) whole(ctx context.Context) error {
	p, err := r.ask(ctx, wanted{hashes: []hash{r.view.head}, depth: 1, limit: maxCold})
	if err != nil {
		return err
	}
	defer p.close()
	return r.pick(p)
}
