package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/gitsync/hub"
	"github.com/poolwright/poolwright/gitsync/review"
)

// settle is how long after a merge the base is waited for.
const settle = 10 * time.Minute

// run is one call of Keep.
type run struct {
	*Keeper
	Wish
	memory *memory

	head  string     // of the branch, "" when there is none
	pulls []hub.Pull // of the branch, newest first
	pull  *hub.Pull  // the open one, else the newest; nil when there is none
	mark  mark       // of pull
	read  bool       // the base has its merge
	no    int        // the pull request that declined what is wished, 0
	after int        // the newest that people closed since the last merge, 0
	lines lines

	asked, told, exists bool
	detail              string
	standing            Standing
}

// look reads everything that a step rests on.
func (r *run) look(ctx context.Context) (err error) {
	r.head, err = r.hub.Head(ctx, r.Branch)
	if err != nil && !errors.Is(err, hub.ErrNotFound) {
		return fmt.Errorf("reading the branch %s: %w", r.Branch, err)
	}
	if err := r.find(ctx); err != nil {
		return err
	}
	if err := r.merged(ctx); err != nil {
		return err
	}
	if err := r.declined(ctx); err != nil {
		return err
	}
	r.lines = lines{}
	if r.empty() && !r.tidying() {
		return nil
	}
	return r.explore(ctx)
}

// tidying tells whether the branch matters although nothing is wished: of an open pull request, or one that we closed.
func (r *run) tidying() bool {
	return r.head != "" && (r.phase() == review.OpenPull || r.phase() == review.ClosedPull && r.mark.closed && r.pull.Head == r.head)
}

// find finds the pull request.
func (r *run) find(ctx context.Context) error {
	list, err := r.hub.Pulls(ctx, r.Branch)
	if err != nil {
		return fmt.Errorf("listing the pull requests of %s: %w", r.Branch, err)
	}
	r.pulls = slices.DeleteFunc(list, func(p hub.Pull) bool { return !p.Open && p.Base != r.base })
	slices.SortFunc(r.pulls, func(a, b hub.Pull) int { return cmp.Compare(b.Number, a.Number) })
	r.pull, r.mark = nil, mark{}
	number := r.number()
	if number == 0 {
		return nil
	}
	p, err := r.hub.Pull(ctx, number)
	if err != nil {
		r.memory.number = 0
		return fmt.Errorf("reading the pull request #%d: %w", number, err)
	}
	r.pulls = slices.DeleteFunc(r.pulls, func(other hub.Pull) bool { return other.Number == number })
	r.pulls = append([]hub.Pull{p}, r.pulls...)
	r.see(p)
	return nil
}

// see makes p the pull request that is looked at.
func (r *run) see(p hub.Pull) { r.pull, r.mark = &p, readMark(p.Body) }

// number is that of the open pull request, one that leads to the base before any other, else that of the newest. The
// one that we opened last may not be in the list yet.
func (r *run) number() int {
	best := slices.IndexFunc(r.pulls, func(p hub.Pull) bool { return p.Open && p.Base == r.base })
	if best < 0 {
		best = slices.IndexFunc(r.pulls, func(p hub.Pull) bool { return p.Open })
	}
	switch {
	case len(r.pulls) == 0:
		return r.memory.number
	case r.memory.number > r.pulls[0].Number:
		return r.memory.number
	}
	return r.pulls[max(best, 0)].Number
}

func (r *run) phase() review.Phase {
	switch {
	case r.pull == nil || !r.pull.Open && r.pull.Base != r.base:
		return review.NoPull
	case r.pull.Open:
		return review.OpenPull
	case r.pull.Merged:
		return review.MergedPull
	}
	return review.ClosedPull
}

// merged says whether the base that the wish was drawn on has the merge.
func (r *run) merged(ctx context.Context) error {
	r.read = false
	if r.phase() != review.MergedPull {
		return nil
	}
	if r.read = r.now().Sub(r.pull.ClosedAt) > settle; r.read || r.pull.MergeCommit == "" {
		return nil
	}
	c, err := r.hub.Compare(ctx, r.Head, r.pull.MergeCommit)
	if err != nil && !errors.Is(err, hub.ErrNotFound) {
		return fmt.Errorf("looking for the merge of #%d: %w", r.pull.Number, err)
	}
	r.read = err == nil && c.Ahead == 0
	return nil
}

// declined looks for a person's no to what is wished among the pull requests since the last merge.
func (r *run) declined(ctx context.Context) error {
	r.no, r.after = 0, 0
	for i, p := range r.pulls {
		m := readMark(p.Body)
		switch {
		case p.Open || m.closed || p.Base != r.base:
			continue
		case p.Merged:
			return nil
		}
		keys, err := r.keys(ctx, p, m, i == 0)
		if err != nil {
			return err
		}
		r.after = max(r.after, p.Number)
		if r.no == 0 && r.Key != "" && slices.Contains(keys, r.Key) {
			r.no = p.Number
		}
	}
	return nil
}

// keys are the contents that a closed pull request showed: what its description says, and its newest commit, which may
// be newer than the description.
func (r *run) keys(ctx context.Context, p hub.Pull, m mark, newest bool) ([]string, error) {
	if m.key == r.Key || r.empty() || !newest && m.key != "" {
		return []string{m.key}, nil
	}
	c, err := r.hub.Commit(ctx, p.Head)
	if err != nil && !errors.Is(err, hub.ErrNotFound) {
		return nil, fmt.Errorf("reading the head of #%d: %w", p.Number, err)
	}
	return []string{m.key, readStamp(c.Message).key}, nil
}

// seen is what the next step rests on.
func (r *run) seen() review.Seen {
	s := review.Seen{Wanted: r.lines.wanted, Declined: r.no > 0, Direct: r.direct(), Branch: r.lines.branch}
	s.Branch.There = r.head != ""
	s.Branch.Barred = r.head != "" && r.memory.barred == r.head
	s.Pull = review.Pull{Phase: r.phase(), ByUs: r.mark.closed, Read: r.read, Asked: r.mark.asked || r.asked || r.nothingToAsk(), Told: r.told}
	if r.pull != nil {
		s.Pull.Retargeted = r.pull.Base != r.base
		s.Pull.Described = sameText(r.pull.Title, r.Title) && sameText(r.pull.Body, r.text())
		s.Branch.Current = r.pull.Head == r.head
	}
	return s
}

// direct: a draft is merged by nobody.
func (w Wish) direct() bool { return w.Merge == Direct && !w.Draft }

func (w Wish) nothingToAsk() bool {
	return len(w.Labels)+len(w.Reviewers)+len(w.Teams)+len(w.Assignees) == 0 && w.Merge != Auto
}

// text is the description that the open pull request is to have.
func (r *run) text() string {
	return r.body(mark{cluster: r.Cluster, key: r.Key, follows: r.mark.follows, asked: true})
}

// sameText compares as GitHub's editor leaves a text: with other line ends, and without white space around.
func sameText(a, b string) bool {
	plain := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return plain(a) == plain(b)
}
