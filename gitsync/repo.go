package gitsync

import (
	"context"
	"errors"
	"fmt"
)

// Repo is one branch of one repository. Its methods may be called at once; they take turns, a
// publish with an urgent edit before the others.
type Repo struct {
	opts   Options
	at     location
	remote remote
	turn   turn
	view   *view
	// portion is how many edits go into one push, the urgent ones into one of their own; 0 for all into one.
	portion int
}

var _ Publisher = (*Repo)(nil)

// Close ends kept connections. The Repo opens new ones when it is used again.
func (r *Repo) Close() error {
	if err := r.turn.take(context.Background(), true); err != nil {
		return err
	}
	defer r.turn.give()
	return r.remote.close()
}

// Read returns dir at the branch's head, after asking the remote. It needs read access only. A
// directory that does not exist has no files. Errors are of the kinds in this package.
func (r *Repo) Read(ctx context.Context, dir string) (base Base, err error) {
	dir, err = cleanDir(dir)
	if err != nil {
		return Base{}, err
	}
	err = r.look(ctx, wish{dirs: []string{dir}}, func() error {
		base, err = r.view.draft(r.opts).base(dir)
		return err
	})
	return base, err
}

// Glob returns the files of the branch's head whose paths match the pattern, by their paths from the root, and the
// head, "" when the branch does not exist yet. The pattern is that of [path.Match] for each component, and ** stands
// for any number of directories. Symlinks and submodules match nothing. It asks the remote like [Repo.Read]. A
// pattern that is malformed, or looks at more than two million entries, is ErrPath.
func (r *Repo) Glob(ctx context.Context, pattern string) (files Files, head string, err error) {
	g, err := parseGlob(pattern)
	if err != nil {
		return nil, "", err
	}
	err = r.look(ctx, wish{globs: []glob{g}}, func() error {
		head = headText(r.view.head)
		files, err = r.view.matching(r.view.root(), g)
		return err
	})
	return files, head, err
}

// look brings the view to the branch's head, with what is wished for, and lets f read it.
func (r *Repo) look(ctx context.Context, w wish, f func() error) error {
	if err := r.turn.take(ctx, false); err != nil {
		return unreachable(ctx, err)
	}
	defer r.turn.give()
	err := r.lookOnce(ctx, w, f)
	for range maxRace {
		if !errors.Is(err, errStale) {
			break
		}
		err = r.lookOnce(ctx, w, f)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", r.at, unreachable(ctx, err))
	}
	return nil
}

// maxRace is how often a read starts again because the branch moved while it looked.
const maxRace = 3

func (r *Repo) lookOnce(ctx context.Context, w wish, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	tip, c, err := r.remote.contact(ctx, false)
	if err != nil {
		return err
	}
	c.close()
	if err := r.remote.refresh(ctx, tip, w); err != nil {
		return err
	}
	return f()
}
