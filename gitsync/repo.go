package gitsync

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// Repo is one branch of one repository. Its methods may be called at once; they take turns, a
// publish with an urgent edit before the others.
type Repo struct {
	opts    Options
	at      location
	carrier carrier
	turn    turn
	view    *view
}

var _ Publisher = (*Repo)(nil)

// Close ends kept connections. The Repo opens new ones when it is used again.
func (r *Repo) Close() error {
	if err := r.turn.take(context.Background(), true); err != nil {
		return err
	}
	defer r.turn.give()
	return r.carrier.close()
}

// Read returns dir at the branch's head, after asking the remote. It needs read access only. A
// directory that does not exist has no files. Errors are of the kinds in this package.
func (r *Repo) Read(ctx context.Context, dir string) (Base, error) {
	dir, err := cleanDir(dir)
	if err != nil {
		return Base{}, err
	}
	if err := r.turn.take(ctx, false); err != nil {
		return Base{}, unreachable(ctx, err)
	}
	defer r.turn.give()
	base, err := r.read(ctx, dir)
	for range maxRace {
		if !errors.Is(err, errStale) {
			break
		}
		base, err = r.read(ctx, dir)
	}
	if err != nil {
		return Base{}, fmt.Errorf("reading %s: %w", r.at, unreachable(ctx, err))
	}
	return base, nil
}

// maxRace is how often a read starts again because the branch moved while it looked.
const maxRace = 3

func (r *Repo) read(ctx context.Context, dir string) (Base, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	tip, err := r.readTip(ctx)
	if err != nil {
		return Base{}, err
	}
	if err := r.refresh(ctx, tip, []string{dir}); err != nil {
		return Base{}, err
	}
	return r.view.draft(r.opts).base(dir)
}

// readTip asks upload-pack where the branch is.
func (r *Repo) readTip(ctx context.Context) (hash, error) {
	s, err := r.carrier.open(ctx, uploadPack)
	if err != nil {
		return hash{}, err
	}
	defer s.close()
	adv, err := s.refs()
	if err != nil {
		return hash{}, err
	}
	r.view.learn(adv.Capabilities)
	return tipOf(adv, r.opts.Branch)
}

// pushSession opens receive-pack, which also says where the branch is.
func (r *Repo) pushSession(ctx context.Context) (session, *packp.AdvRefs, hash, error) {
	s, err := r.carrier.open(ctx, receivePack)
	if err != nil {
		return nil, nil, hash{}, err
	}
	adv, err := s.refs()
	if err != nil {
		s.close()
		return nil, nil, hash{}, err
	}
	tip, err := tipOf(adv, r.opts.Branch)
	if err != nil {
		s.close()
		return nil, nil, hash{}, err
	}
	return s, adv, tip, nil
}
