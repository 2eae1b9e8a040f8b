package evict

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/live/pooler"
)

// The times of a worker.
const (
	consoleTimeout = time.Second           // to connect, and for each command
	manyTimeout    = 5 * time.Second       // to cut many clients
	stepGap        = 10 * time.Millisecond // before what was done is looked at
	slowGap        = 5 * time.Second       // between two tries of a console that has long failed
	longTime       = time.Minute           // from which on it has
)

// worker deals with one pod.
type worker struct {
	runner   *Runner
	uid      types.UID
	name, ip string
	instance string
	stop     context.CancelFunc
	wake     chan struct{}

	// of its goroutine alone
	console Console
	view    View
	number  uint64                     // the eviction that view is about
	looked  bool                       // over any connection
	ailing  map[string]pooler.Database // that may be paused or disabled by us, as far as is known
	listed  []string                   // databases that the pooler itself names, by itself or as a client's
	refused string                     // why the pod is not deleted, and who is stuck on it; "" when that is not so

	// guarded by the Runner
	report Pod
	turn   uint64   // on which report rests
	names  []string // of its databases
}

// hire starts a worker. It is called with the Runner locked.
func (r *Runner) hire(ctx context.Context, pod *corev1.Pod) {
	ctx, stop := context.WithCancel(ctx)
	w := &worker{runner: r, uid: pod.UID, name: pod.Name, ip: pod.Status.PodIP, instance: instanceOf(pod), stop: stop, wake: make(chan struct{}, 1)}
	w.report = Pod{Name: w.name, Instance: w.instance, Side: r.sideOf(w.instance), Clients: -1}
	w.ailing = map[string]pooler.Database{}
	if w.view.Ours = r.ours[w.instance] || r.ours[string(w.uid)]; w.view.Ours {
		for _, name := range r.entry.Databases {
			w.ailing[name] = pooler.Database{Name: name, Paused: true, Disabled: true}
		}
	}
	r.workers[pod.UID] = w
	r.crew.Go(func() { w.run(ctx) })
}

// poke lets a worker look at once.
func (w *worker) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *worker) run(ctx context.Context) {
	defer w.hangUp()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-w.wake:
		}
		timer.Reset(w.pass(ctx))
	}
}

// pass looks at the pod once, and does what is to be done. It says when to look again.
func (w *worker) pass(ctx context.Context) time.Duration {
	m, _ := w.moment()
	var fault error
	if m.Side == Promoted || m.Mode != ModeDeletePods {
		begun := w.runner.config.Now()
		if fault = w.look(ctx); fault != nil {
			w.fail(begun)
		} else {
			w.view.Failing, w.refused = time.Time{}, ""
		}
	}
	if ctx.Err() != nil {
		return slowGap
	}
	m, turn := w.moment()
	w.distrust(m)
	move := Next(w.view, m)
	if move.Opening {
		w.view.Opened = m.Now
	}
	if err := w.do(ctx, turn, move.Steps); err != nil {
		w.fail(m.Now)
		fault = err
	}
	if fault == nil && move.Done {
		w.view.Ours = false
	}
	if ctx.Err() == nil {
		w.tell(move, m, turn, fault)
	}
	return w.gap(m, move)
}

// distrust notes which databases of the new writer may repeat what its server said as a standby: those that had been used
// before, and those that the demoted pods serve. PgBouncer hides a database that nobody uses, but remembers. Any other
// is used for the first time from here on, and learns nothing that is wrong.
func (w *worker) distrust(m Moment) {
	if m.Side != Promoted || !w.view.Failing.IsZero() {
		return
	}
	doubted := slices.Collect(maps.Keys(m.Known))
	if w.view.Stale == nil {
		w.view.Stale = map[string]bool{}
		doubted = append(doubted, w.listed...)
	}
	for _, name := range doubted {
		if _, ok := w.view.Stale[name]; !ok {
			w.view.Stale[name] = true
		}
	}
}

// gap is how long to wait before the next look.
func (w *worker) gap(m Moment, move Move) time.Duration {
	switch since := m.Now.Sub(w.view.Failing); {
	case !w.view.Failing.IsZero() && since > longTime:
		return slowGap
	case !w.view.Failing.IsZero() && since > m.Within:
		return slowInterval
	case !w.view.Failing.IsZero():
		return interval
	case len(move.Steps) > 0:
		return stepGap
	case move.Done && m.Side == Demoted:
		return slowGap // it is poked when something changes
	case move.Done:
		return 2 * interval // who comes back is counted
	}
	if wait := m.Moved.Add(m.Propagation).Sub(m.Now); wait > 0 && wait < interval {
		return wait
	}
	return interval
}

// moment is what is to be known for the next step, and the turn that it is of.
func (w *worker) moment() (Moment, uint64) {
	r := w.runner
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.situation
	if w.number != s.number {
		w.number = s.number
		w.view.Stale, w.view.Opened = nil, time.Time{}
	}
	w.view.Old = r.present[w.uid]
	side := r.sideOf(w.instance)
	return Moment{
		Now: r.config.Now(), Side: side, Mode: r.config.Mode, Entry: s.entry, Known: r.known,
		Repair: s.hold || r.config.Mode == ModeNone || s.isOverturned(side, w.instance), Began: r.began, Moved: s.moved,
		Within: r.config.Within, Propagation: r.config.Propagation,
	}, r.turn
}

// isOverturned reports whether the Writer Service belongs elsewhere by now than the entry says: to this instance that was
// demoted, or no more to this one that was promoted. Another entry follows when it gets there.
func (s situation) isOverturned(side Side, instance string) bool {
	return s.target != "" && (side == Demoted) == (instance == s.target)
}

// look connects if need be, and asks what there is.
func (w *worker) look(ctx context.Context) error {
	if w.console == nil {
		if err := w.connect(ctx); err != nil {
			return err
		}
	}
	ask, cancel := context.WithTimeout(ctx, consoleTimeout)
	defer cancel()
	databases, err := w.console.Databases(ask)
	if err != nil {
		return err
	}
	clients, err := w.console.Clients(ask)
	if err != nil {
		return err
	}
	w.view.Databases, w.view.Clients, w.view.Version = databases, clients, w.console.Version()
	w.remember()
	w.keep()
	return nil
}

// remember adds to the databases those that are hidden: they may be ours, or be used. PgBouncer hides a database of an
// entry * that nobody uses, and goes on to hide it when the login that found it took longer than the next look for idle ones.
func (w *worker) remember() {
	w.listed = nil
	for _, d := range w.view.Databases {
		w.listed = append(w.listed, d.Name)
		w.ail(d.Name, func(a *pooler.Database) {
			a.Paused, a.Disabled = a.Paused && d.Paused, a.Disabled && d.Disabled
		})
	}
	for _, d := range w.ailing {
		if !w.isListed(d.Name) {
			w.view.Databases = append(w.view.Databases, d)
		}
	}
	for _, c := range w.view.Clients {
		if _, ails := w.ailing[c.Database]; !w.isListed(c.Database) {
			w.listed = append(w.listed, c.Database)
			if !ails {
				w.view.Databases = append(w.view.Databases, pooler.Database{Name: c.Database})
			}
		}
	}
	slices.Sort(w.listed)
	slices.SortFunc(w.view.Databases, func(a, b pooler.Database) int { return strings.Compare(a.Name, b.Name) })
}

// ail notes what may be the state of a database by us.
func (w *worker) ail(name string, change func(*pooler.Database)) {
	d := w.ailing[name]
	d.Name = name
	change(&d)
	delete(w.ailing, name)
	if d.Paused || d.Disabled {
		w.ailing[name] = d
	}
}

func (w *worker) connect(ctx context.Context) error {
	c := w.runner.config
	if c.Console == nil {
		return &pooler.Error{Fault: pooler.Unreachable, Detail: "no admin console is configured"}
	}
	ctx, cancel := context.WithTimeout(ctx, consoleTimeout)
	defer cancel()
	console, err := c.Console(ctx, net.JoinHostPort(w.ip, strconv.Itoa(c.Port)))
	if err != nil {
		return err
	}
	w.console, w.view.Disabled = console, map[string]bool{}
	return nil
}

// keep notes at the first look what a person has paused or disabled, and forgets
// it as soon as it is not so any more. Where ours may be among it, it counts as ours: a
// pod that stays blocked is worse.
func (w *worker) keep() {
	first := !w.looked && !w.view.Ours
	kept := map[string]pooler.Database{}
	for _, d := range w.view.Databases {
		was := w.view.Kept[d.Name]
		d.Paused, d.Disabled = d.Paused && (first || was.Paused), d.Disabled && (first || was.Disabled)
		if d.Paused || d.Disabled {
			kept[d.Name] = d
		}
	}
	if !w.looked && w.view.Ours && !killsClients(w.view.Version) { // whoever was here before may just have said KILL
		w.view.Killed = w.runner.config.Now()
	}
	w.view.Kept, w.looked = kept, true
	if !slices.ContainsFunc(w.view.Databases, func(d pooler.Database) bool { return d.Disabled && !kept[d.Name].Disabled }) {
		w.view.Refusing = time.Time{}
	}
}

// fail notes that the console fails, since a time, and throws the connection away.
func (w *worker) fail(since time.Time) {
	w.hangUp()
	if w.view.Failing.IsZero() {
		w.view.Failing = since
	}
}

func (w *worker) hangUp() {
	if w.console != nil {
		w.console.Close()
		w.console, w.view.Disabled = nil, nil
	}
}

// countText is how many clients are stuck, as far as that is known.
func (w *worker) countText() string {
	if !w.looked {
		return "an unknown number of clients is stuck"
	}
	return fmt.Sprintf("%d clients were seen stuck", len(w.view.clients()))
}

// tell reports how the pod stands.
func (w *worker) tell(move Move, m Moment, turn uint64, fault error) {
	p := Pod{Name: w.name, Instance: w.instance, Side: m.Side, Clients: len(w.view.clients()), Done: move.Done, Deleted: w.view.Gone, refused: w.refused}
	if !w.looked || fault != nil {
		p.Clients = -1
	}
	if fault != nil && !w.view.Gone {
		p.Fault, p.Detail = faultOf(fault)
		p.failing = m.Now.Sub(w.view.Failing) >= faultTime
	}
	r := w.runner
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.Side == Promoted && fault == nil {
		r.cuts.saw(w.uid, r.began, w.view.Clients)
	}
	p.Evicted = w.report.Evicted
	changed := p != w.report || turn != w.turn || !slices.Equal(w.names, w.listed)
	w.report, w.turn, w.names = p, turn, w.listed
	if changed {
		r.Wake()
	}
}

// faultOf reads an error of a console.
func faultOf(err error) (pooler.Fault, string) {
	var f *pooler.Error
	switch {
	case errors.As(err, &f):
		return f.Fault, f.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return pooler.Timeout, pooler.Timeout.String()
	}
	return pooler.Unreachable, live.ReasonOf(err)
}
