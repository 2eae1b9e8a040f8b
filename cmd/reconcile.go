package cmd

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render/build"
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
// something differs, draw and publish. Git is never waited for: rounds go on
// while it is read or written.
type Reconciler struct {
	Name    string                      // until the Cluster file has told it
	Declare func() (declaration, error) // reads the Cluster file; called each round
	Eyes    eyes
	Git     repository
	Live    ahead          // gitOnly{} when nil
	Reviews reviews        // nil: there is no forge
	Builder *build.Builder // builds what pull requests describe
	Hints   <-chan hint    // what others told this process; nil for nothing
	Now     func() time.Time
	Say     func(Event)

	window  window
	memory  plan.Memory
	git     gitSide
	pulls   reviewSide
	saw     plan.Observation // what sawOn declares
	sawOn   baseRead
	quiet   settled
	urgent  string      // the facts of the failover that was decided last
	people  hearing     // what is known of what people said in Kubernetes
	want    live.Want   // what the live side was told last
	began   time.Time   // the last round
	curious bool        // AWS is to be asked again
	fast    atomic.Bool // whether the window is open; the live side asks
	told    told

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

// baseRead is a base, as it reads after a person's resume.
type baseRead struct {
	base    *gitsync.Base
	resumed time.Time
}

// standstill is how long a cluster waits which cannot be declared, observed or read back.
const standstill = time.Second

// Run makes rounds until ctx ends, then waits for a push that is under way.
func (r *Reconciler) Run(ctx context.Context) {
	r.git.open()
	r.pulls.open()
	if r.Live == nil {
		r.Live = gitOnly{}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			r.drain()
			return
		case <-r.Eyes.Lost():
			timer.Reset(r.lost())
			continue
		case h := <-r.Hints:
			timer.Reset(r.hinted(h))
			continue
		case <-r.Live.Changed():
			timer.Reset(r.soon())
			continue
		case d := <-r.git.done:
			if !r.finished(d) {
				continue
			}
		case d := <-r.pulls.done:
			if !r.reviewed(d) {
				continue
			}
		case <-timer.C:
		}
		timer.Reset(r.round(ctx))
	}
}

// round is one pass along the line. It returns how long to wait for the next.
func (r *Reconciler) round(ctx context.Context) time.Duration {
	r.began = r.Now()
	d, err := r.Declare()
	if err == nil {
		r.Name = d.Metadata.Name
		err = r.line(ctx, d)
	} else {
		r.leadOn()
	}
	if ctx.Err() != nil {
		return 0
	}
	if r.tell(&r.told.standing, err, Standing, Moving); err != nil {
		return standstill
	}
	next := max(0, r.interval(d)-r.Now().Sub(r.began))
	if w := r.people.wait(r.Now()); w > 0 {
		return min(next, w)
	}
	return next
}

// line is declared → observed → decided → drawn and published.
func (r *Reconciler) line(ctx context.Context, d declaration) error {
	r.people.turnTo(r.Live.Follow(d), r.Now())
	r.tellRival(d)
	r.tellDebt()
	known := recordsOf(r.Live.Sight())
	seen, err := r.Eyes.Observe(ctx, d, r.window.isOpen(r.Now()) || r.curious)
	r.curious = false
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		r.leadOn()
		return err
	}
	r.judge(d, seen, known)
	r.tellUnheard()
	return r.decide(ctx, d)
}

// judge turns what was seen into evidence, and minds the window. known are the records that were seen before.
func (r *Reconciler) judge(d declaration, seen discovery.Observation, known []live.Record) {
	now, t := r.Now(), discovery.Merge(seen)
	r.window.see(t, now, d.Cluster.Spec.Failover)
	r.tellTopology(t)
	r.tellWindow()
	r.fast.Store(r.window.isOpen(now))
	r.mu.Lock()
	defer r.mu.Unlock()
	e := evidence{Seen: seen, Topology: t, Memory: r.memory, Window: r.window.isOpen(now), Now: now, Known: known}
	r.latest = look{d, r.heard(e)}
}

// decide proposes on the base we know, and starts what follows from it.
func (r *Reconciler) decide(ctx context.Context, d declaration) error {
	r.git.turnTo(d.place())
	r.git.seen(r.latest.reach())
	if r.git.base == nil {
		r.leadWithoutGit(d)
		r.read(ctx, d)
		return nil
	}
	proposals, err := r.propose(d)
	if err == nil {
		first := proposals[0]
		r.tellPlan(first.Plan)
		if !first.empty() && !r.readsFirst() {
			r.publish(ctx, d, first.Plan)
			return nil
		}
		err = r.review(ctx, d)
	}
	// Also after an error, for a person may have mended the tree.
	if r.isDue() {
		r.read(ctx, d)
	}
	return err
}

// isBehind reports whether Git may have gone on: the tool has brought the Services to another commit, or somebody
// moved them at an epoch that is newer than the base.
func (r *Reconciler) isBehind(now reach) bool {
	return now.applied != r.git.reach.applied || now.override > max(r.git.readSince(), r.saw.Declared.State.Epoch)
}

// readsFirst reports whether Git is to be read before a push is tried again: it may have landed, or somebody else's. A remote that refuses every push
// would else never be read again, and what people commit there not be seen.
func (r *Reconciler) readsFirst() bool {
	return r.git.failed && !r.git.pushing && r.isDue()
}

// isDue reports whether Git is to be read: it was not for a while, or may have gone on.
func (r *Reconciler) isDue() bool {
	return r.git.stale || r.Now().Sub(r.git.baseAt) >= readEvery || r.isBehind(r.latest.reach())
}

// propose advances the memory and draws what differs. Nothing is drawn while
// held or while Git is busy, nor when declaration and base are those for which
// nothing differed before.
func (r *Reconciler) propose(d declaration) ([]proposal, error) {
	e := r.latest.evidence
	if err := r.readBack(d, e.Resumed); err != nil {
		r.leadWithoutGit(d)
		return nil, err
	}
	saw := r.saw
	saw.Topology, saw.Window, saw.Ready, saw.Order = e.Topology, e.Window, e.Ready, e.Order
	saw.Declared.LastEpoch = max(saw.Declared.LastEpoch, e.Spent)
	var decided plan.Plan
	decided, r.memory = plan.Decide(e.Memory, saw, rulesOf(d, e), e.Now)
	r.lead(d, saw.Declared.State, headOf(r.git.base), decided)
	if decided.Action == plan.Failover {
		r.tellPlan(decided) // when it is decided, and not when it is drawn
		runtime.Gosched()   // the Writer's patch goes out before the drawing of the commit takes the processor
	}
	r.hurry(d, decided)
	now := settled{d.Spec, r.git.base}
	if decided.Action == plan.Hold || decided.Action == plan.Keep && r.quiet == now || !r.mayPublish() {
		return []proposal{{Plan: decided}}, nil
	}
	proposals, err := propose(d, *r.git.base, e)
	if err == nil && decided.Action == plan.Keep && proposals[0].empty() {
		r.quiet = now
	}
	return proposals, err
}

// hurry forgets the wait after a failure, once for each failover: the remote may be back.
func (r *Reconciler) hurry(d declaration, decided plan.Plan) {
	if decided.Action != plan.Failover {
		return
	}
	if facts := decided.Want.Facts(d.Spec); facts != r.urgent {
		r.urgent, r.git.notUntil = facts, time.Time{}
	}
}

// readBack reads what the base declares, once for each base and resume. A revert
// stays known after its commit has left the end of the log.
func (r *Reconciler) readBack(d declaration, resumed time.Time) error {
	now := baseRead{r.git.base, resumed}
	if r.sawOn == now {
		return nil
	}
	if resumed != r.sawOn.resumed {
		r.git.reverts = nil
	}
	saw, err := observationOn(d, *r.git.base, evidence{Resumed: resumed})
	if err != nil {
		return err
	}
	if len(ours(r.git.base.Log, d.Metadata.Name)) > 0 {
		r.git.reverts = saw.Declared.Reverted
	}
	saw.Declared.Reverted = r.git.reverts
	r.saw, r.sawOn = saw, now
	return nil
}

// lost opens the window, because the connection to the writer broke, and
// returns how long to wait for the next round: never less than FastInterval
// after the last one.
func (r *Reconciler) lost() time.Duration {
	f := r.latest.Cluster.Spec.Failover
	if !r.window.isOpen(r.Now()) {
		r.say(Event{Kind: WriterLost, Detail: r.window.writer})
	}
	r.window.open(r.Now(), f)
	r.tellWindow()
	return r.soon()
}

// mayPublish reports whether a push may start now. Another process that holds the
// clusters publishes instead of this one; when nobody is known to, Git is written:
// its compare-and-swap stands above both.
func (r *Reconciler) mayPublish() bool {
	return r.git.mayPublish(r.Now()) && r.Live.Rival().identity == "" && r.people.wait(r.Now()) == 0
}

// soon is how long to wait for the next round when something has changed in
// Kubernetes: never less than FastInterval after the last one.
func (r *Reconciler) soon() time.Duration {
	fast := time.Duration(r.latest.Cluster.Spec.Failover.FastInterval)
	return max(0, fast-r.Now().Sub(r.began))
}

func (r *Reconciler) interval(d declaration) time.Duration {
	if r.window.isOpen(r.Now()) {
		return time.Duration(d.Cluster.Spec.Failover.FastInterval)
	}
	return time.Duration(d.Cluster.Spec.Discovery.Interval)
}
