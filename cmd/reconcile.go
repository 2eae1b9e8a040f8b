package cmd

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/plan"
)

// eyes look at a cluster as it is declared.
type eyes interface {
	// Observe asks once. What could not be asked is in the answers.
	Observe(ctx context.Context, d declaration, inWindow bool) (discovery.Observation, error)
	// Lost receives when the idle connection to the writer breaks.
	Lost() <-chan struct{}
}

// repository is where a declared cluster's directory is kept.
type repository interface {
	Read(ctx context.Context, d declaration) (gitsync.Base, error)
	Submit(ctx context.Context, d declaration, edit gitsync.Edit) gitsync.Receipt
}

// A Reconciler keeps one cluster's directory in Git equal to what its databases
// say. Each round is the straight line: declare, observe, decide, and, when
// something differs, draw and publish. Git is never waited for: one operation
// is under way at a time, and rounds go on meanwhile.
type Reconciler struct {
	Name    string                      // until the Cluster file has told it
	Declare func() (declaration, error) // reads the Cluster file; called each round
	Eyes    eyes
	Git     repository
	Now     func() time.Time
	Say     func(Event)

	window window
	memory plan.Memory
	base   *gitsync.Base // what Git was when last read or written; nil before
	baseAt time.Time
	saw    plan.Observation // what sawOn declares
	sawOn  *gitsync.Base
	quiet  settled
	retry  *backoff.ExponentialBackOff
	notTil time.Time // no Git operation before, after a failure
	busy   bool
	done   chan gitDone
	told   told

	mu     sync.Mutex // guards latest: Draw reads it while rounds go on
	latest look
}

// look is the newest evidence with the declaration it was made under.
type look struct {
	declaration
	evidence
}

// settled is a state of the world in which nothing differed: no need to draw again.
type settled struct {
	spec string
	base *gitsync.Base
}

// gitDone is the end of a Git operation.
type gitDone struct {
	base      *gitsync.Base
	receipt   gitsync.Receipt
	proposals []proposal
	err       error
}

const (
	// standstill is how long a cluster waits which cannot be declared, observed or read back.
	standstill = time.Second
	// readEvery is how old the last look at Git may be.
	readEvery = 15 * time.Second
	// lastPush is how long an operation under way may take once we are asked to stop.
	lastPush = 20 * time.Second
)

// Run makes rounds until ctx ends, then waits for a push that is under way.
func (r *Reconciler) Run(ctx context.Context) {
	r.done = make(chan gitDone, 1)
	r.retry = backoff.NewExponentialBackOff()
	r.retry.InitialInterval, r.retry.MaxInterval = 200*time.Millisecond, 30*time.Second
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			r.drain()
			return
		case <-r.Eyes.Lost():
			r.lost()
		case d := <-r.done:
			if !r.finished(d) {
				continue
			}
		case <-timer.C:
		}
		timer.Reset(r.round(ctx))
	}
}

// round is one pass along the line. It returns how long to wait for the next.
func (r *Reconciler) round(ctx context.Context) time.Duration {
	began := r.Now()
	d, err := r.Declare()
	if err == nil {
		err = r.line(ctx, d)
	}
	if ctx.Err() != nil {
		return 0
	}
	if r.tell(&r.told.standing, err, Standing, Moving); err != nil {
		return standstill
	}
	return max(0, r.interval(d)-r.Now().Sub(began))
}

// line is declared → observed → decided → drawn and published.
func (r *Reconciler) line(ctx context.Context, d declaration) error {
	seen, err := r.Eyes.Observe(ctx, d, r.window.isOpen(r.Now()))
	if err != nil || ctx.Err() != nil {
		return err
	}
	r.judge(d, discovery.Merge(seen))
	return r.decide(ctx, d)
}

// judge turns what was seen into evidence, and minds the window.
func (r *Reconciler) judge(d declaration, t discovery.Topology) {
	now := r.Now()
	r.window.see(t, now, d.Cluster.Spec.Failover)
	r.tellTopology(t)
	r.tellWindow()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latest = look{d, evidence{Topology: t, Memory: r.memory, Window: r.window.isOpen(now), Now: now}}
}

// decide proposes on the base we know, and starts what follows from it.
func (r *Reconciler) decide(ctx context.Context, d declaration) error {
	if r.base == nil {
		r.start(ctx, func(ctx context.Context) gitDone { return r.read(ctx, d) })
		return nil
	}
	proposals, err := r.propose(d)
	if err != nil {
		return err
	}
	first := proposals[0]
	r.tellPlan(first.Plan)
	switch {
	case !first.empty():
		r.start(ctx, func(ctx context.Context) gitDone { return r.publish(ctx, d, first.Plan) })
	case r.Now().Sub(r.baseAt) >= readEvery:
		r.start(ctx, func(ctx context.Context) gitDone { return r.read(ctx, d) })
	}
	return nil
}

// propose advances the memory and draws what differs. Nothing is drawn while
// held or while Git is busy, nor when declaration and base are those for which
// nothing differed before.
func (r *Reconciler) propose(d declaration) ([]proposal, error) {
	if err := r.readBack(d); err != nil {
		return nil, err
	}
	e, saw := r.latest.evidence, r.saw
	saw.Topology, saw.Window = e.Topology, e.Window
	var decided plan.Plan
	decided, r.memory = plan.Decide(e.Memory, saw, rulesOf(d), e.Now)
	now := settled{d.Spec, r.base}
	if decided.Action == plan.Hold || decided.Action == plan.Keep && r.quiet == now || !r.mayStart() {
		return []proposal{{Plan: decided}}, nil
	}
	proposals, err := propose(d, *r.base, e)
	if err == nil && decided.Action == plan.Keep && proposals[0].empty() {
		r.quiet = now
	}
	return proposals, err
}

// readBack reads what the base declares, once for each base.
func (r *Reconciler) readBack(d declaration) error {
	if r.sawOn == r.base {
		return nil
	}
	saw, err := observationOn(d, *r.base, evidence{})
	if err == nil {
		r.saw, r.sawOn = saw, r.base
	}
	return err
}

// mayStart is false while a Git operation is under way, and for a while after a failure.
func (r *Reconciler) mayStart() bool { return !r.busy && !r.Now().Before(r.notTil) }

// start begins a Git operation if it may.
func (r *Reconciler) start(ctx context.Context, operation func(context.Context) gitDone) {
	if !r.mayStart() {
		return
	}
	r.busy = true
	go func() { r.done <- operation(context.WithoutCancel(ctx)) }()
}

func (r *Reconciler) read(ctx context.Context, d declaration) gitDone {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	base, err := r.Git.Read(ctx, d)
	return gitDone{base: &base, err: err}
}

// publish proposes anew on whatever head there is, with the newest evidence:
// what was decided before is only the reason to come here.
func (r *Reconciler) publish(ctx context.Context, d declaration, p plan.Plan) gitDone {
	var out gitDone
	edit := gitsync.Edit{Dir: d.Dir(), Urgent: p.Class == plan.FailoverChange, Draw: func(base gitsync.Base) ([]gitsync.Change, error) {
		r.mu.Lock()
		newest := r.latest
		r.mu.Unlock()
		proposals, err := propose(newest.declaration, base, newest.evidence)
		if err != nil {
			return nil, err
		}
		changes := changesOf(proposals)
		for _, c := range changes {
			base.Files = applied(base.Files, c)
		}
		out.base, out.proposals = &base, proposals
		return changes, nil
	}}
	out.receipt = r.Git.Submit(ctx, d, edit)
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
	r.busy = false
	r.tell(&r.told.git, d.err, GitFailed, GitBack)
	if d.err != nil {
		r.notTil = r.Now().Add(r.retry.NextBackOff())
		return false
	}
	r.retry.Reset()
	r.baseAt = r.Now()
	if r.base != nil && r.base.Head == d.base.Head && len(d.receipt.Commits) == 0 {
		return false
	}
	r.base = d.base
	if len(d.receipt.Commits) > 0 {
		r.base.Head = d.receipt.Head
		r.say(Event{
			Kind: Committed, Commits: d.receipt.Commits, Messages: messagesOf(d.proposals), Plan: d.proposals[0].Plan,
			Detail: subjects(d.proposals),
		})
	}
	return true
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

// lost opens the window: the connection to the writer broke.
func (r *Reconciler) lost() {
	r.say(Event{Kind: WriterLost, Detail: r.window.writer})
	r.window.open(r.Now(), r.latest.Cluster.Spec.Failover)
	r.tellWindow()
}

// drain waits for a push under way, so that a stop does not cut it in half.
func (r *Reconciler) drain() {
	if !r.busy {
		return
	}
	select {
	case d := <-r.done:
		r.finished(d)
	case <-time.After(lastPush):
	}
}

func (r *Reconciler) interval(d declaration) time.Duration {
	if r.window.isOpen(r.Now()) {
		return time.Duration(d.Cluster.Spec.Failover.FastInterval)
	}
	return time.Duration(d.Cluster.Spec.Discovery.Interval)
}
