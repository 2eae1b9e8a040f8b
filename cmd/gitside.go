package cmd

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/plan"
)

const (
	// readEvery is how old the last look at Git may be.
	readEvery = 15 * time.Second
	// lastPush is how long an operation under way may take once we are asked to stop.
	lastPush = 20 * time.Second
)

// gitSide is what a Reconciler knows of Git, and what it has under way there:
// at most one push and one read. Results about another place than the declared
// one, and reads that a push has overtaken, are dropped.
type gitSide struct {
	place    place
	base     *gitsync.Base // as last read or written; nil when not known
	baseAt   time.Time
	reach    reach         // the evidence's before base was read or written
	failed   bool          // the last push, and nothing was read since
	unsure   bool          // it may have landed all the same
	stale    bool          // Git is said to have gone on since the last read began
	reverts  []plan.Revert // of what we did last, also when their commits have left the end of the log
	pushes   int           // finished so far
	pushing  bool
	reading  bool
	retry    *backoff.ExponentialBackOff
	notUntil time.Time // no operation before, after a failure
	done     chan gitDone
}

// place is a directory of a branch of a repository.
type place struct{ repository, branch, dir string }

func (d declaration) place() place {
	p := d.Cluster.Spec.Publish
	return place{p.Repository, p.Branch, d.Dir()}
}

// pull is the branch of the cluster's pull request, in the place of a directory; empty without a forge. A cluster that has
// a forge closes what is open on its branch, also when it makes no pull request any more.
func (d declaration) pull() place {
	p := d.Cluster.Spec.Publish
	if p.Forge == nil {
		return place{}
	}
	return place{repository: strings.ToLower(p.Forge.API + p.Forge.Repository), dir: p.PullRequest.Branch}
}

// gitDone is the end of a Git operation.
type gitDone struct {
	place     place
	isPush    bool
	pushes    int // how many had finished when a read began
	reach     reach
	base      *gitsync.Base
	receipt   gitsync.Receipt
	proposals []proposal
	err       error
}

func (g *gitSide) open() {
	g.done = make(chan gitDone, 2)
	g.retry = backoff.NewExponentialBackOff()
	g.retry.InitialInterval, g.retry.MaxInterval = 200*time.Millisecond, 30*time.Second
}

// turnTo forgets everything when the declaration names another place.
func (g *gitSide) turnTo(p place) {
	if g.place != p {
		g.place, g.base, g.reverts, g.notUntil = p, nil, nil, time.Time{}
	}
}

// seen takes note of how far the live side is: what was read after an override that has gone since was not read after the next one.
func (g *gitSide) seen(now reach) { g.reach.override = min(g.reach.override, now.override) }

// readSince is the epoch of the override that Git was last read after, 0 where that proves nothing.
func (g *gitSide) readSince() uint64 {
	if g.pushing || g.unsure {
		return 0
	}
	return g.reach.override
}

func (g *gitSide) mayPublish(now time.Time) bool { return !g.pushing && !now.Before(g.notUntil) }

// read starts reading the cluster's directory, if that is not under way.
func (r *Reconciler) read(ctx context.Context, d declaration) {
	if r.git.reading || r.git.pushing || r.Now().Before(r.git.notUntil) {
		return
	}
	r.git.reading, r.git.stale = true, false
	pushes, reach := r.git.pushes, r.latest.reach()
	go func() {
		ctx, cancel := context.WithTimeout(ctx, publishTimeout)
		defer cancel()
		base, err := r.Git.Read(ctx, d)
		r.git.done <- gitDone{place: d.place(), pushes: pushes, reach: reach, base: &base, err: err}
	}()
}

// publish starts a push, if that may be. It proposes anew on whatever head
// there is, with the newest evidence: p is only the reason to come here.
func (r *Reconciler) publish(ctx context.Context, d declaration, p plan.Plan) {
	if !r.mayPublish() {
		return
	}
	r.git.pushing = true
	reach := r.latest.reach()
	go func() {
		r.git.done <- r.push(context.WithoutCancel(ctx), d, p.Class == plan.FailoverChange, reach)
	}()
}

var errElsewhere = errors.New("drawing: the Cluster file names another place meanwhile")

func (r *Reconciler) push(ctx context.Context, d declaration, urgent bool, reach reach) gitDone {
	out := gitDone{place: d.place(), isPush: true, reach: reach}
	out.receipt = r.Git.Submit(ctx, d, gitsync.Edit{Dir: d.Dir(), Urgent: urgent, Draw: func(base gitsync.Base) ([]gitsync.Change, error) {
		r.mu.Lock()
		newest := r.latest
		r.mu.Unlock()
		if newest.place() != out.place {
			return nil, errElsewhere
		}
		proposals, err := propose(newest.declaration, base, newest.evidence)
		if err != nil {
			return nil, err
		}
		changes := changesOf(proposals)
		for _, p := range proposals {
			base = advanced(newest.declaration, base, p)
		}
		out.base = &base
		// A push whose answer was lost is drawn again, on itself: what was said is in the drawing before.
		if len(changes) > 0 || out.proposals == nil {
			out.proposals = proposals
		}
		return changes, nil
	}})
	out.err = out.receipt.Err
	return out
}

func changesOf(proposals []proposal) (changes []gitsync.Change) {
	for _, p := range proposals {
		if !p.empty() {
			changes = append(changes, p.Change)
		}
	}
	return changes
}

// finished takes note of the end of a Git operation, and says whether that is
// a reason to look again at once.
func (r *Reconciler) finished(d gitDone) bool {
	g := &r.git
	overtaken := !d.isPush && d.pushes != g.pushes
	if d.isPush {
		g.pushing, g.failed = false, d.err != nil
		g.pushes++
		g.unsure = d.err != nil && (g.unsure || mayHaveLanded(d.err))
	} else {
		g.reading = false
	}
	if d.place != g.place || overtaken {
		return true
	}
	if r.tell(&r.told.git, d.err, GitFailed, GitBack); d.err != nil {
		g.notUntil = r.Now().Add(g.retry.NextBackOff())
		return false
	}
	g.retry.Reset()
	if !d.isPush && !g.pushing { // a read may have begun before the push that is under way
		g.failed, g.unsure = false, false
	}
	moved := g.reach != d.reach
	g.baseAt, g.reach = r.Now(), d.reach
	landed := len(d.receipt.Commits) > 0
	if !landed && g.base != nil && g.base.Head == d.base.Head {
		return moved
	}
	if g.base = d.base; landed {
		r.landed(d)
	}
	return true
}

// mayHaveLanded reports whether an error of a push leaves open what has become of it: the remote has not said no.
func mayHaveLanded(err error) bool {
	for _, said := range []error{gitsync.ErrRefused, gitsync.ErrAuth, gitsync.ErrNotFound, gitsync.ErrMoved, gitsync.ErrUnsupported, gitsync.ErrPath} {
		if errors.Is(err, said) {
			return false
		}
	}
	return true
}

// landed says that commits of ours stand.
func (r *Reconciler) landed(d gitDone) {
	r.git.base.Head = d.receipt.Head
	r.say(Event{
		Kind: Committed, Commits: d.receipt.Commits, Messages: messagesOf(d.proposals), Plan: d.proposals[0].Plan,
		Detail: subjects(d.proposals),
	})
}

func messagesOf(proposals []proposal) (messages []string) {
	for _, c := range changesOf(proposals) {
		messages = append(messages, c.Message)
	}
	return messages
}

// subjects are the first lines of the messages.
func subjects(proposals []proposal) string {
	messages := messagesOf(proposals)
	for i, m := range messages {
		messages[i], _, _ = strings.Cut(m, "\n")
	}
	return strings.Join(messages, "; ")
}

// drain waits for a push under way, so that a stop does not cut it in half.
func (r *Reconciler) drain() {
	late := time.NewTimer(lastPush)
	defer late.Stop()
	for r.git.pushing {
		select {
		case d := <-r.git.done:
			r.finished(d)
		case <-late.C:
			r.say(Event{Kind: GitFailed, Err: errAbandoned})
			return
		}
	}
}

var errAbandoned = errors.New("stopping: a push is still under way and is left alone; the next start sees whether it landed")
