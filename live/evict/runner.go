package evict

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/live/pooler"
)

// The times of a Runner.
const (
	interval       = 100 * time.Millisecond // between two looks while an eviction is open
	slowInterval   = time.Second            // the same when it is late
	requestTimeout = 2 * time.Second        // of a request to the API server
	leaveTime      = 2 * time.Second        // to put right what is ours when this process stops
	holdCheck      = time.Second            // between two questions whether this process holds the cluster, when something is due
	minPropagation = time.Second
)

// Console is the admin console of one pooler. [pooler.Console] is one. A command
// that finds done what it asks for has succeeded.
type Console interface {
	Version() pooler.Version
	Databases(ctx context.Context) ([]pooler.Database, error)
	Clients(ctx context.Context) ([]pooler.Client, error)
	Disable(ctx context.Context, database string) error
	Enable(ctx context.Context, database string) error
	Kill(ctx context.Context, database string) error
	Resume(ctx context.Context, database string) error
	Reconnect(ctx context.Context, database string) error
	KillClients(ctx context.Context, ids []string) (gone int, err error)
	Close()
}

// Config says how a Runner works.
type Config struct {
	Names live.Names
	// Client lists EndpointSlices, writes the control ConfigMap and deletes pods. It is not to throttle.
	Client kubernetes.Interface
	// Pods are the pods of the cluster as they are now ([live.Keeper.Pods]); nil while they cannot be seen.
	Pods func() []*corev1.Pod
	// Console opens the console at host:port. nil: there is none, and the mode must not be ModeConsole.
	Console func(ctx context.Context, address string) (Console, error)
	Mode    Mode
	// Within is how long it should take, default 5 s. After it, a data plane that has not moved keeps nobody refused.
	Within time.Duration
	// Propagation is how long after the EndpointSlices a node may still route the old way, default 2 s, at least 1 s.
	Propagation time.Duration
	// Port of the poolers, default 6432.
	Port int
	// Holds reports whether this process holds the cluster now, and is asked before each command; nil never holds.
	Holds func() bool
	// Now is the clock, default time.Now.
	Now func() time.Time
	// Tell receives what happens, in order, one call at a time, from a goroutine of its own: it may be slow. nil tells nobody.
	Tell func(Event)
}

// Seen is what a Runner is told of the world.
type Seen struct {
	Sight live.Sight
	// Wanted is the instance that was decided to be the writer, "" when nothing is decided.
	Wanted string
	// Paused is true when a person stopped every patch.
	Paused bool
}

// Runner takes the clients of one cluster off the pods of the instance that was
// the writer. Nothing waits for it.
type Runner struct {
	config Config
	teller *live.Teller[Event]
	wake   chan struct{}
	// errands are requests to the API server under way; crew are the workers.
	errands, crew sync.WaitGroup

	mu      sync.Mutex
	seen    *insight
	state   State
	workers map[types.UID]*worker
	// heldAt is when this process was last known to hold the cluster; leaving is until when it puts right what is ours
	// although it holds no more.
	heldAt, leaving time.Time
	// entry is the one that stands, or should; adopted is false before it is known.
	entry  *live.Eviction
	record recording
	// writing is true while a write of an entry is under way: two could come in the wrong order.
	writing bool
	slices  sighting
	began   time.Time
	present map[types.UID]bool
	// ours are the instances, and the pods by UID, on which something disabled may be ours from before.
	ours map[string]bool
	// strayed is the instance to which somebody put the Service back while the override stood, "" for none.
	strayed string
	// turn is raised when something has changed on which a step rests.
	turn      uint64
	situation situation
	known     map[string]bool // what situation.known says; never changed
	cuts      *tally
}

// New makes a Runner. It does nothing before Run.
func New(c Config) *Runner {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Holds == nil {
		c.Holds = func() bool { return false }
	}
	if c.Pods == nil {
		c.Pods = func() []*corev1.Pod { return nil }
	}
	if c.Within == 0 {
		c.Within = 5 * time.Second
	}
	if c.Propagation == 0 {
		c.Propagation = 2 * time.Second
	}
	c.Propagation = max(c.Propagation, minPropagation)
	if c.Port == 0 {
		c.Port = 6432
	}
	return &Runner{
		config: c, teller: live.NewTeller(c.Tell), wake: make(chan struct{}, 1),
		workers: map[types.UID]*worker{}, ours: map[string]bool{}, cuts: newTally(),
	}
}

// See takes what is to be known now, and returns at once. It is called after every change of it.
func (r *Runner) See(s Seen) {
	seen := understand(s)
	r.mu.Lock()
	r.seen = seen
	r.mu.Unlock()
	r.Wake()
}

// Wake looks again at once, because something that nobody tells has changed: the holder.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// State is how it stands now.
func (r *Runner) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// Run acts until ctx ends. Then it puts right what is ours, within 2 s, so that
// whoever comes next, or nobody, finds pods that serve; the entry stays open for
// the next one. It makes no request while there is nothing to do.
func (r *Runner) Run(ctx context.Context) {
	var telling sync.WaitGroup
	telling.Go(r.teller.Run)
	work, stop := context.WithCancel(context.WithoutCancel(ctx)) // outlives ctx by leaveTime
	r.loop(ctx, work)
	r.leave()
	r.errands.Wait() // each is bounded
	stop()
	r.crew.Wait()
	r.teller.Close()
	telling.Wait()
}

func (r *Runner) loop(ctx, work context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		if again := r.pass(work); again > 0 {
			timer.Reset(again)
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-r.wake:
		}
	}
}

// leave puts right what is ours while nobody else may act yet, and lets the workers go.
func (r *Runner) leave() {
	r.mu.Lock()
	now := r.config.Now()
	if len(r.workers) > 0 && now.Sub(r.heldAt) < leaveTime { // later than that another may be at it
		r.leaving = now.Add(leaveTime)
		r.judge(now)
	}
	deadline := r.leaving
	r.mu.Unlock()
	for r.isLeaving(deadline) {
		select {
		case <-r.wake:
		case <-time.After(interval):
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dismiss(func(*worker) bool { return true })
	r.forget()
}

// isLeaving reports whether a pod is not put right yet and there is time left.
func (r *Runner) isLeaving(deadline time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.config.Now().Before(deadline) {
		return false
	}
	for _, w := range r.workers {
		if !w.report.Done || w.turn != r.turn {
			return true
		}
	}
	return false
}

// forget drops what only the holder may know.
func (r *Runner) forget() {
	r.entry, r.record, r.slices, r.leaving, r.strayed = nil, recording{}, sighting{}, time.Time{}, ""
	r.ours, r.situation, r.cuts = map[string]bool{}, situation{}, newTally()
	r.turn++
}
