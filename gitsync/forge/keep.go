package forge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/poolwright/poolwright/gitsync/hub"
	"github.com/poolwright/poolwright/gitsync/review"
)

const (
	mostLooks = 3  // when the branch keeps moving
	mostSteps = 12 // more than any story takes
	// mergeEvery is how often a merge that GitHub refused is tried again.
	mergeEvery = 30 * time.Second
)

var (
	// errWaits ends a run without an error: the rest is up to somebody else.
	errWaits    = errors.New("waiting")
	errRestless = errors.New("no rest was found")
)

func (r *run) keep(ctx context.Context) error {
	if err := r.pay(ctx); err != nil {
		return err
	}
	if err := r.look(ctx); err != nil {
		return err
	}
	looks := 1
	for range mostSteps {
		step, state := review.Next(r.seen())
		r.stand(state)
		if step == review.Rest {
			return r.watch(ctx)
		}
		err := r.take(ctx, step)
		if errors.Is(err, errWaits) {
			r.stand(state)
			return r.watch(ctx)
		}
		if stale(step, err) && looks < mostLooks {
			looks++
			err = r.look(ctx)
		}
		if err != nil {
			return err
		}
	}
	return errRestless
}

// stale tells whether a step failed because something is not as it was seen.
func stale(step review.Step, err error) bool {
	writes := step == review.Draw || step == review.Open
	return errors.Is(err, hub.ErrMoved) || writes && errors.Is(err, hub.ErrExists) || step == review.Draw && errors.Is(err, hub.ErrNotFound)
}

func (r *run) take(ctx context.Context, step review.Step) error {
	switch step {
	case review.Draw:
		return r.draw(ctx)
	case review.Open:
		return r.open(ctx)
	case review.Ask:
		return r.ask(ctx)
	case review.Describe:
		return r.describe(ctx)
	case review.Tell:
		return r.tell(ctx)
	case review.CloseEqual, review.CloseDeclined:
		return r.close(ctx, r.closeText(step))
	case review.Delete:
		return r.remove(ctx)
	case review.Merge:
		return r.merge(ctx)
	case review.Rest:
	}
	return fmt.Errorf("no such step: %v", step)
}

// draw adds the commit that makes the branch as wished, or begins the branch with it.
func (r *run) draw(ctx context.Context) error {
	d := r.lines.draw
	tree, err := d.tree, error(nil)
	if len(d.entries) > 0 { // GitHub refuses a tree without changes
		tree, err = r.hub.PutTree(ctx, d.tree, d.entries)
	}
	if err != nil {
		return fmt.Errorf("writing the tree: %w", err)
	}
	message := stamp{r.Key, d.digest}.write(r.commitMessage())
	commit, err := r.hub.PutCommit(ctx, hub.NewCommit{Tree: tree, Parents: d.parents, Message: message})
	if err != nil {
		return fmt.Errorf("writing the commit: %w", err)
	}
	move := r.hub.MoveBranch
	if r.head == "" {
		move = r.hub.CreateBranch
	}
	if err := move(ctx, r.Branch, commit); err != nil {
		return fmt.Errorf("moving %s to %s: %w", r.Branch, commit, err)
	}
	fresh := r.head == "" || len(d.parents) == 1 && d.parents[0] == r.Head
	r.head = commit
	r.lines.ours = commit
	r.lines.branch = review.Branch{There: true, AsWished: true, OwnHead: true, OnlyOurs: fresh || r.lines.branch.OnlyOurs}
	return nil
}

// commitMessage is the wish's, or says that nothing is wished any more.
func (r *run) commitMessage() string {
	if r.empty() {
		return fmt.Sprintf("%s: back to %s", r.Cluster, r.base)
	}
	return r.Message
}

func (r *run) open(ctx context.Context) error {
	m := mark{cluster: r.Cluster, key: r.Key, follows: r.after, asked: r.nothingToAsk()}
	p, err := r.hub.OpenPull(ctx, hub.NewPull{Branch: r.Branch, Base: r.base, Title: r.Title, Body: r.body(m), Draft: r.Draft})
	switch {
	case errors.Is(err, hub.ErrExists) && r.exists:
		return fmt.Errorf("a pull request of %s is there, but GitHub does not list it yet: %w", r.Branch, hub.ErrUnreachable)
	case err != nil:
		r.exists = errors.Is(err, hub.ErrExists)
		return fmt.Errorf("opening the pull request: %w", err)
	}
	r.see(p)
	r.memory.number, r.memory.note = p.Number, ""
	return nil
}

func (r *run) describe(ctx context.Context) error {
	title, body := r.Title, r.text()
	p, err := r.hub.EditPull(ctx, r.pull.Number, hub.PullEdit{Title: &title, Body: &body})
	if err != nil {
		return fmt.Errorf("describing #%d: %w", r.pull.Number, err)
	}
	if !sameText(p.Title, title) || !sameText(p.Body, body) { // or it would be written for ever
		r.note("GitHub keeps another description than was written")
		r.see(p)
		return errWaits
	}
	r.see(p)
	return nil
}

// ask asks for what a person may take away again. What is refused is said, and not asked for again.
func (r *run) ask(ctx context.Context) error {
	n := r.pull.Number
	for _, a := range []struct {
		what string
		none bool
		ask  func() error
	}{
		{"labels", len(r.Labels) == 0, func() error { return r.hub.Label(ctx, n, r.Labels) }},
		{"assignees", len(r.Assignees) == 0, func() error { return r.hub.Assign(ctx, n, r.Assignees) }},
		{"reviewers", len(r.Reviewers)+len(r.Teams) == 0, func() error { return r.hub.AskReview(ctx, n, r.Reviewers, r.Teams) }},
		{"auto-merge", r.Merge != Auto || r.pull.AutoMerge, func() error { return r.autoMerge(ctx) }},
	} {
		if a.none {
			continue
		}
		switch err := a.ask(); {
		case errors.Is(err, hub.ErrRefused) || errors.Is(err, hub.ErrNotFound):
			r.note(fmt.Sprintf("%s: %v", a.what, err))
		case err != nil:
			return fmt.Errorf("asking for %s of #%d: %w", a.what, n, err)
		}
	}
	r.asked = true
	return nil
}

// autoMerge lets GitHub merge. It does not take that for a pull request that meets all requirements already (in its words a
// clean one): that one is merged.
func (r *run) autoMerge(ctx context.Context) error {
	err := r.hub.AutoMerge(ctx, *r.pull, r.Method)
	if !errors.Is(err, hub.ErrRefused) || !strings.Contains(err.Error(), "clean status") {
		return err
	}
	sha, err := r.hub.MergePull(ctx, r.pull.Number, r.pull.Head, r.Method, r.Title)
	if err == nil {
		r.landed(sha)
	}
	return err
}

func (r *run) merge(ctx context.Context) error {
	if r.now().Before(r.memory.merging) {
		r.detail = "GitHub does not merge it yet"
		return errWaits
	}
	sha, err := r.hub.MergePull(ctx, r.pull.Number, r.pull.Head, r.Method, r.Title)
	switch {
	case errors.Is(err, hub.ErrRefused):
		r.memory.merging = r.now().Add(mergeEvery)
		r.detail = err.Error()
		return errWaits
	case err != nil:
		return fmt.Errorf("merging #%d: %w", r.pull.Number, err)
	}
	r.landed(sha)
	return nil
}

// landed: it is merged, and the wish was drawn on what was before.
func (r *run) landed(sha string) {
	r.pull.Open, r.pull.Merged, r.pull.MergeCommit, r.pull.ClosedAt = false, true, sha, r.now()
	r.read = false
}

// tell says why we stop, once for each pull request.
func (r *run) tell(ctx context.Context) error {
	text := r.stopText(r.lines.edited)
	if r.pull.Base != r.base {
		text = r.retargetText(r.base)
	}
	list, err := r.hub.Comments(ctx, r.pull.Number)
	if err != nil {
		return fmt.Errorf("reading the comments of #%d: %w", r.pull.Number, err)
	}
	for _, c := range list {
		r.told = r.told || strings.Contains(c.Body, stopMark)
	}
	if r.told {
		return nil
	}
	if err := r.hub.Comment(ctx, r.pull.Number, text); err != nil {
		return fmt.Errorf("commenting on #%d: %w", r.pull.Number, err)
	}
	r.told = true
	return nil
}

// close closes the pull request and says in the same request that it was us. The comment comes after it: it is not to
// stand under one that was merged meanwhile.
func (r *run) close(ctx context.Context, reason string) error {
	m := r.mark
	m.cluster, m.closed = r.Cluster, true
	body := strings.TrimSpace(marks.ReplaceAllString(r.pull.Body, "")) + "\n\n**Closed:** " + reason + "\n\n" + m.String()
	p, err := r.hub.EditPull(ctx, r.pull.Number, hub.PullEdit{Body: &body, Close: true})
	if err != nil {
		return fmt.Errorf("closing #%d: %w", r.pull.Number, err)
	}
	r.see(p)
	if p.Merged {
		return nil
	}
	r.memory.owed = &comment{p.Number, reason}
	return r.pay(ctx)
}

// pay makes a comment that is owed, now or at the next call.
func (r *run) pay(ctx context.Context) error {
	owed := r.memory.owed
	if owed == nil {
		return nil
	}
	err := r.hub.Comment(ctx, owed.number, owed.text)
	if errors.Is(err, hub.ErrLimited) || errors.Is(err, hub.ErrUnreachable) {
		return fmt.Errorf("commenting on #%d: %w", owed.number, err)
	}
	if err != nil { // a locked conversation; the description says it as well
		r.detail = err.Error()
	}
	r.memory.owed = nil
	return nil
}

func (r *run) remove(ctx context.Context) error {
	switch err := r.hub.DeleteBranch(ctx, r.Branch); {
	case errors.Is(err, hub.ErrRefused):
		r.memory.barred = r.head
		return nil
	case err != nil && !errors.Is(err, hub.ErrNotFound):
		return fmt.Errorf("deleting %s: %w", r.Branch, err)
	}
	r.head, r.lines.branch = "", review.Branch{}
	return nil
}

// note keeps a line for people for as long as the pull request is the newest.
func (r *run) note(text string) { r.memory.note = text }
