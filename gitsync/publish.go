package gitsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Publish draws, commits and pushes the edits: the urgent ones first, else in their order, each change a
// commit of its own, one push. When the branch has moved it is read and everything drawn anew, as often as
// Options.Tries says. The error is about the remote as a whole; that of one edit is in its receipt. Through GitHub's
// API, where a commit takes seconds, the urgent edits are a push of their own and the others go in portions of
// ten; when one portion has landed and the next does not, that is in the receipts of the rest.
func (r *Repo) Publish(ctx context.Context, list []Edit) ([]Receipt, error) {
	p, err := newPublishing(r, list), error(nil)
	for n, part := range p.portions() {
		*p = publishing{repo: r, edits: p.edits, order: part, receipts: p.receipts, landed: p.landed}
		if err == nil || errors.Is(err, ErrRefused) { // what one portion is refused for may not be in the next
			err = p.run(ctx)
		}
		if err == nil {
			continue
		}
		if n == 0 {
			return nil, r.publishFault(ctx, err)
		}
		p.fail(r.publishFault(ctx, err))
	}
	return p.receipts, nil
}

func (r *Repo) publishFault(ctx context.Context, err error) error {
	return fmt.Errorf("publishing to %s: %w", r.at, unreachable(ctx, err))
}

// publishing is one call of Publish.
type publishing struct {
	repo     *Repo
	edits    []Edit
	order    []int // the edits of this push, urgent first; without those whose directory is refused
	receipts []Receipt
	landed   [][]string // commits per edit that stand on the branch since an earlier try
	// refused is the last try that the remote turned down, unclear those of which nobody knows.
	refused *attempt
	unclear []*attempt
	last    error // of the last push
	moved   bool  // somebody else was seen to move the branch
}

func newPublishing(r *Repo, list []Edit) *publishing {
	p := &publishing{repo: r, edits: slices.Clone(list), receipts: make([]Receipt, len(list)), landed: make([][]string, len(list))}
	for i := range p.edits {
		e := &p.edits[i]
		if e.Dir, p.receipts[i].Err = cleanDir(e.Dir); p.receipts[i].Err == nil {
			p.order = append(p.order, i)
		}
	}
	slices.SortStableFunc(p.order, func(a, b int) int { return rank(p.edits[a]) - rank(p.edits[b]) })
	return p
}

func rank(e Edit) int {
	if e.Urgent {
		return 0
	}
	return 1
}

// portions is the order cut into pushes.
func (p *publishing) portions() [][]int {
	n := p.repo.portion
	hurry := slices.IndexFunc(p.order, func(i int) bool { return !p.edits[i].Urgent })
	if n == 0 || len(p.order) == 0 || hurry < 0 {
		return [][]int{p.order}
	}
	var parts [][]int
	if hurry > 0 {
		parts = append(parts, p.order[:hurry])
	}
	return slices.AppendSeq(parts, slices.Chunk(p.order[hurry:], n))
}

// fail notes for the edits of this push that it was not made.
func (p *publishing) fail(err error) {
	for _, i := range p.order {
		p.receipts[i].Err = cmp.Or(p.receipts[i].Err, err)
	}
}

func (p *publishing) urgent() bool {
	return slices.ContainsFunc(p.order, func(i int) bool { return p.edits[i].Urgent })
}

// attempt is one push.
type attempt struct {
	parent, tip hash
	commits     [][]string // per edit
	err         error
	no          *refusal // err, when it is one
}

func (p *publishing) run(ctx context.Context) error {
	o := p.repo.opts
	var took time.Duration
	for try := range o.Tries {
		if try > 0 {
			if err := o.Sleep(ctx, pause(try, took)); err != nil {
				return errors.Join(err, p.last)
			}
		}
		start := time.Now()
		done, err := p.try(ctx)
		took = time.Since(start)
		if done || err != nil {
			return err
		}
	}
	if !p.moved { // nobody is in the way: it is the remote that cannot
		return &fault{kind: ErrUnreachable, text: fmt.Sprintf("%d tries", o.Tries), cause: p.last}
	}
	return &fault{kind: ErrMoved, text: fmt.Sprintf("%d tries", o.Tries), cause: p.last}
}

const (
	minPause = 20 * time.Millisecond
	maxPause = 3 * time.Second
)

// pause is a random wait before another try. Its range starts at the time a try takes, which is how long writers are in
// each other's way, and doubles with the tries.
func pause(try int, took time.Duration) time.Duration {
	top := min(maxPause, max(minPause, took)<<min(try-1, 10))
	return rand.N(top)
}

// try is one round: where is the branch, what became of earlier pushes, draw, push. done means that there
// is nothing left to do.
func (p *publishing) try(ctx context.Context) (done bool, err error) {
	r := p.repo
	if err := r.turn.take(ctx, p.urgent()); err != nil {
		return false, err
	}
	defer r.turn.give()
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	tip, c, err := r.remote.contact(ctx, true)
	if err != nil {
		return false, err
	}
	defer c.close()
	if err := p.standsRefused(tip); err != nil {
		return false, err
	}
	if err := r.remote.refresh(ctx, tip, wish{dirs: p.dirs()}); err != nil {
		p.moved = p.moved || errors.Is(err, errStale)
		return false, unlessStale(err)
	}
	p.settle()
	d, a := p.draw(ctx)
	if d.unsigned != nil || d.tip == d.head {
		return true, d.unsigned
	}
	a.push(ctx, c, d)
	return p.judge(a)
}

// push carries a draft out. The commits of the attempt are then those that the remote knows.
func (a *attempt) push(ctx context.Context, c conversation, d *draft) {
	a.err = c.push(ctx, d)
	a.tip = d.named(d.tip)
	for _, made := range a.commits {
		for i, h := range made {
			made[i] = d.named(hashOf(h)).String()
		}
	}
}

// dirs are the directories of the edits.
func (p *publishing) dirs() []string {
	dirs := make([]string, 0, len(p.order))
	for _, i := range p.order {
		dirs = append(dirs, p.edits[i].Dir)
	}
	return dirs
}

// draw makes all edits on the present head.
func (p *publishing) draw(ctx context.Context) (*draft, *attempt) {
	d := p.repo.view.draft(p.repo.opts)
	a := &attempt{parent: d.tip, commits: make([][]string, len(p.edits))}
	for _, i := range p.order {
		a.commits[i], p.receipts[i].Err = d.draw(ctx, p.edits[i])
		p.receipts[i].Commits = p.landed[i]
		p.receipts[i].Head = headText(d.head)
	}
	return d, a
}

// judge says what a push has come to.
func (p *publishing) judge(a *attempt) (done bool, err error) {
	p.last = a.err
	switch {
	case a.err == nil:
		p.repo.view.head = a.tip
		p.land(a)
		for i := range p.receipts {
			p.receipts[i].Head = headText(a.tip)
		}
		if p.repo.view.tidy(p.repo.opts.LogDepth) != nil {
			p.repo.view.forget()
		}
		return true, nil
	case errors.As(a.err, &a.no):
		p.refused = a
		return false, nil
	case unclear(a.err):
		p.unclear = append(p.unclear, a)
		return false, nil
	}
	return false, a.err
}

func (p *publishing) land(a *attempt) {
	for i, made := range a.commits {
		p.landed[i] = append(p.landed[i], made...)
		p.receipts[i].Commits = p.landed[i]
	}
}

// settle finds pushes of unclear outcome that have landed after all.
func (p *publishing) settle() {
	v := p.repo.view
	p.unclear = slices.DeleteFunc(p.unclear, func(a *attempt) bool {
		if !v.descends(v.head, a.tip) {
			return false
		}
		p.land(a)
		return true
	})
}

// standsRefused is the error of a refused push when the branch has not moved since: then it was not about
// somebody else's commit, and the same push would be refused again.
func (p *publishing) standsRefused(tip hash) error {
	a := p.refused
	if a == nil {
		return nil
	}
	if tip != a.parent {
		p.moved, p.refused = true, nil
		return nil
	}
	switch kind := a.no.kind(); {
	case errors.Is(kind, ErrMoved):
		return nil
	case errors.Is(kind, errStale):
		p.repo.view.forget()
		p.refused = nil
		return nil
	default:
		return &fault{kind: kind, cause: a.err}
	}
}

func headText(h hash) string {
	if h.IsZero() {
		return ""
	}
	return h.String()
}
