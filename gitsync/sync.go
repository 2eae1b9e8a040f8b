package gitsync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

const (
	// maxCold bounds a cold start, maxWarm the least that a warm fetch may take, both in pack bytes. Beyond, a warm fetch
	// may take four times the cold start; more is dearer than another cold start.
	maxCold = 4 << 30
	maxWarm = 4 << 20
	// plainDepth bounds the commits of a cold start that comes with all its files.
	plainDepth = 50
)

// refresh brings the view to the commit tip of the branch, with the blobs of dirs.
func (r *Repo) refresh(ctx context.Context, tip hash, dirs []string) error {
	for _, d := range dirs {
		r.view.dirs[d] = true
	}
	err := r.follow(ctx, tip, dirs)
	if errors.Is(err, errStale) {
		r.view.forget()
		err = r.follow(ctx, tip, dirs)
	}
	return err
}

func (r *Repo) follow(ctx context.Context, tip hash, dirs []string) error {
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
	return r.blobs(ctx, dirs)
}

// ask is one fetch in a session of its own.
func (r *Repo) ask(ctx context.Context, w wanted) (*received, error) {
	s, err := r.carrier.open(ctx, uploadPack)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if r.view.caps == nil {
		adv, err := s.refs()
		if err != nil {
			return nil, err
		}
		r.view.learn(adv.Capabilities)
	}
	if r.view.caps == nil {
		return nil, errStale // it is empty now
	}
	return fetch(s, r.view.caps, w)
}

// know makes sure that what upload-pack can do is known.
func (r *Repo) know(ctx context.Context) error {
	if r.view.caps != nil {
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
	r.view.learn(adv.Capabilities)
	return nil
}

// cold starts anew, with all or nothing.
func (r *Repo) cold(ctx context.Context, tip hash) error {
	err := r.coldStart(ctx, tip)
	if err != nil {
		r.view.forget()
	}
	return err
}

// coldStart loads the trees of tip and the messages of the newest commits.
func (r *Repo) coldStart(ctx context.Context, tip hash) error {
	if err := r.know(ctx); err != nil {
		return err
	}
	w := wanted{hashes: []hash{tip}, depth: 1, filter: "blob:none", limit: maxCold}
	if r.view.plain {
		w.depth, w.filter = min(r.opts.LogDepth, plainDepth), ""
	}
	if err := r.load(ctx, tip, w); err != nil {
		return err
	}
	if !r.view.plain {
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
func (r *Repo) load(ctx context.Context, tip hash, w wanted) error {
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
		v.coldSize = p.size
	}
	v.head = tip
	return r.pick(p)
}

// pick takes from a pack that came whole the blobs of the directories somebody asked for.
func (r *Repo) pick(p *received) error {
	v := r.view
	if !v.plain {
		return nil
	}
	need, err := v.missing(v.root(), slices.Collect(maps.Keys(v.dirs)))
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
func (r *Repo) messages(ctx context.Context, tip hash) error {
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
func (r *Repo) warm(ctx context.Context, tip hash) error {
	w := wanted{hashes: []hash{tip}, have: r.view.head, filter: "blob:none", limit: max(maxWarm, 4*r.view.coldSize)}
	if r.view.plain {
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

// blobs fetches the files of dirs that are not here, all in one request.
func (r *Repo) blobs(ctx context.Context, dirs []string) error {
	v := r.view
	need, err := v.missing(v.root(), dirs)
	if err != nil || len(need) == 0 {
		return err
	}
	if v.plain {
		return r.whole(ctx)
	}
	p, err := r.ask(ctx, wanted{hashes: need, limit: maxCold})
	if errors.Is(err, errStale) { // it hands out commits only, whatever it advertises
		v.plain = true
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
func (r *Repo) whole(ctx context.Context) error {
	p, err := r.ask(ctx, wanted{hashes: []hash{r.view.head}, depth: 1, limit: maxCold})
	if err != nil {
		return err
	}
	defer p.close()
	return r.pick(p)
}
