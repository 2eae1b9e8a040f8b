package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/gitsync/hub"
	"github.com/poolwright/poolwright/gitsync/review"
)

// stand writes down how the wish stands.
func (r *run) stand(state State) {
	s := Standing{State: state, Head: r.head, Detail: r.say(state)}
	p := r.pull
	if state == review.Declined {
		p = nil
		for i := range r.pulls {
			if r.pulls[i].Number == r.no {
				p = &r.pulls[i]
			}
		}
	}
	if p != nil && state != review.None {
		s.Number, s.URL, s.Since = p.Number, p.URL, p.ClosedAt
		if p.Open {
			s.Since = p.CreatedAt
		}
	}
	r.standing = s
}

// say is the line for people.
func (r *run) say(state State) string {
	switch {
	case state == review.Declined:
		return fmt.Sprintf("#%d, which proposed exactly this, was closed without a merge", r.no)
	case state == review.Stopped && r.pull.Base != r.base:
		return fmt.Sprintf("#%d leads to %s now", r.pull.Number, r.pull.Base)
	case state == review.Stopped && r.Urgent != "":
		return "edited by people: " + strings.Join(r.lines.edited, ", ") + "; meanwhile: " + r.Urgent
	case state == review.Stopped:
		return "edited by people: " + strings.Join(r.lines.edited, ", ")
	case state == review.Proposed && r.head == "" && r.phase() == review.OpenPull:
		return fmt.Sprintf("#%d is open, but its branch is gone: somebody is closing or merging it", r.pull.Number)
	}
	return cmp.Or(r.detail, r.memory.note)
}

// watch looks at what happens to our newest commit in an open pull request: its signature, and the required checks.
func (r *run) watch(ctx context.Context) error {
	if r.phase() != review.OpenPull || r.head == "" {
		return nil
	}
	newest, err := r.hub.Commit(ctx, r.head)
	if err != nil {
		return fmt.Errorf("reading the branch's head: %w", err)
	}
	ours := newest
	if r.lines.ours != "" && r.lines.ours != r.head {
		if ours, err = r.hub.Commit(ctx, r.lines.ours); err != nil {
			return fmt.Errorf("reading our newest commit: %w", err)
		}
	}
	r.standing.Verified, r.standing.VerifiedReason = ours.Verified, ours.VerifiedReason
	err = r.watchChecks(ctx, newest)
	if errors.Is(err, hub.ErrAuth) || errors.Is(err, hub.ErrNotFound) {
		r.standing.Detail = cmp.Or(r.standing.Detail, fmt.Sprintf("the checks cannot be seen: %v", err))
		return nil
	}
	return err
}

func (r *run) watchChecks(ctx context.Context, newest hub.Commit) error {
	access, err := r.hub.Access(ctx, r.base)
	if err != nil {
		return fmt.Errorf("reading what %s requires: %w", r.base, err)
	}
	checks, err := r.hub.Checks(ctx, r.head)
	if err != nil {
		return fmt.Errorf("reading the checks: %w", err)
	}
	seen := ChecksSeen{Required: slices.Sorted(slices.Values(access.RequiredChecks))}
	seen.Missing = slices.DeleteFunc(slices.Clone(seen.Required), func(name string) bool { return checks.Contexts[name] != "" })
	if len(seen.Missing) > 0 {
		since := newest.Committer.At
		if r.pull.CreatedAt.After(since) {
			since = r.pull.CreatedAt
		}
		seen.Waiting = max(0, r.now().Sub(since))
	}
	r.standing.Checks = seen
	return nil
}
