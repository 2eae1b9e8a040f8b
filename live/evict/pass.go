package evict

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/render"
)

// strayGap is the least time between two evictions for clients that came while somebody had put the Service back.
const strayGap = 10 * time.Second

// situation is all on which the steps on any pod rest, but the pod itself.
type situation struct {
	number uint64
	to     string
	target string
	entry  Entry
	known  string // the names of databases that it names
	hold   bool
	moved  time.Time
}

// pass looks once. It says when to look again by itself; 0 is never.
func (r *Runner) pass(ctx context.Context) (again time.Duration) {
	r.mu.Lock()
	now := r.config.Now()
	if r.seen == nil {
		r.mu.Unlock()
		return 0
	}
	if !r.config.Holds() {
		acted := !r.heldAt.IsZero()
		r.mu.Unlock()
		if acted {
			r.leave()
		}
		return r.watchOnly()
	}
	defer r.mu.Unlock()
	r.heldAt = now
	r.adopt(now)
	r.judge(now)
	if r.isOpen() {
		r.employ(ctx)
		r.name()
		r.look(ctx, now)
		r.finish(now)
	}
	if again = r.write(ctx, now); r.isOpen() && (again == 0 || again > interval) {
		again = interval
	}
	if again == 0 && r.strayed != "" {
		again = holdCheck
	}
	r.publish(r.survey(now), now)
	return again
}

// watchOnly shows what somebody else does.
func (r *Runner) watchOnly() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heldAt = time.Time{}
	e := r.seen.Sight.Control.Eviction
	s := State{}
	if e != nil {
		s.Phase, s.Eviction = phaseOf(*e), *e
	}
	r.publish(s, r.config.Now())
	return holdCheck
}

func phaseOf(e live.Eviction) Phase {
	if e.Open() {
		return Draining
	}
	return Complete
}

func (r *Runner) isOpen() bool { return r.entry != nil && r.entry.Open() }

// adopt finds the entry that stands, and begins another when it is due.
func (r *Runner) adopt(now time.Time) {
	sight := r.seen.Sight
	if told := sight.Control.Eviction; newer(told, r.entry) { // by another process, or before a restart of this one
		entry := *told
		r.entry, r.record = &entry, recording{}
		r.enter(now)
		for _, i := range slices.Concat(entry.From, entry.Restore) {
			r.ours[i] = entry.Open()
		}
	}
	if r.entry == nil && sight.ControlErr != nil {
		return // it may be the entry that cannot be read
	}
	at, target := r.seen.at, r.seen.target
	r.noteStray(at, target)
	next, ok := begin(r.entry, at, target, now)
	switch {
	case ok && r.entry != nil && r.seen.Paused:
		return // not before it is resumed
	case !ok && r.isStrayDue(at, target, now):
		next, ok = again(*r.entry, r.strayed, now), true
	}
	if !ok {
		return
	}
	if r.isOpen() {
		for _, i := range slices.Concat(r.entry.From, r.entry.Restore) {
			r.ours[i] = true
		}
	}
	if r.config.Mode == ModeNone && !r.isOpen() {
		next.Done = next.At
	}
	r.entry, r.record, r.strayed = &next, recording{}, ""
	r.enter(now)
}

// enter begins with an entry that this process did not know.
func (r *Runner) enter(now time.Time) {
	r.began, r.slices, r.cuts, r.present = now, sighting{}, newTally(), map[types.UID]bool{}
	for _, pod := range r.config.Pods() {
		r.present[pod.UID] = true
	}
	if !r.isOpen() {
		clear(r.ours)
	}
}

// noteStray remembers that somebody has put the Service back to where it is not to be.
func (r *Runner) noteStray(at, target string) {
	if r.entry == nil || r.config.Mode == ModeNone || !r.seen.overridden || r.isOpen() && slices.Contains(r.entry.From, at) {
		return // or its clients are being cut anyway
	}
	if at != "" && at != target && target == r.entry.To {
		r.strayed = at
	}
}

// isStrayDue reports whether the Service is right again after somebody had put it back.
func (r *Runner) isStrayDue(at, target string, now time.Time) bool {
	return r.strayed != "" && at == target && !r.seen.Paused && r.entry != nil && !r.isOpen() && at == r.entry.To && now.Sub(r.began) >= strayGap
}

// judge tells the workers when something has changed on which they act.
func (r *Runner) judge(now time.Time) {
	if r.entry == nil {
		return
	}
	told := r.seen.Sight.Control.Eviction
	known := r.record.known(r.entry, told)
	s := situation{
		number: r.entry.Number, to: r.entry.To, target: r.seen.target,
		entry: r.record.state(r.entry, told), known: strings.Join(known, "\x00"),
		hold: r.seen.Paused || !r.leaving.IsZero(), moved: r.movedAt(now),
	}
	if s == r.situation {
		return
	}
	r.situation, r.known = s, map[string]bool{}
	for _, name := range known {
		r.known[name] = true
	}
	r.turn++
	for _, w := range r.workers {
		w.poke()
	}
}

// movedAt is since when the data plane is known to have moved; zero when it is not.
func (r *Runner) movedAt(now time.Time) time.Time {
	if !r.isOpen() {
		return time.Time{}
	}
	known := map[string]string{}
	for _, pod := range r.config.Pods() {
		known[pod.Name] = instanceOf(pod)
	}
	return r.slices.judge(now, slices.Contains(r.entry.From, r.seen.at), func(pod string) bool {
		instance, ok := known[pod]
		return !ok || slices.Contains(r.entry.From, instance) // it is not known whose it is, or it is
	})
}

// employ gives every pod that matters a worker, and lets the others go.
func (r *Runner) employ(ctx context.Context) {
	wanted := map[types.UID]bool{}
	for _, pod := range r.config.Pods() {
		side := r.sideOf(instanceOf(pod))
		if side == 0 || !isRunning(pod) || side == Promoted && r.config.Console == nil {
			continue
		}
		wanted[pod.UID] = true
		if w := r.workers[pod.UID]; w != nil && w.ip == pod.Status.PodIP {
			continue
		}
		r.dismiss(func(w *worker) bool { return w.uid == pod.UID }) // its address is another
		r.hire(ctx, pod)
	}
	r.dismiss(func(w *worker) bool { return !wanted[w.uid] })
}

// sideOf is what the eviction is to an instance, 0 when it is nothing.
func (r *Runner) sideOf(instance string) Side {
	switch {
	case r.entry == nil:
		return 0
	case instance == r.entry.To:
		return Promoted
	case slices.Contains(r.entry.From, instance):
		return Demoted
	}
	return 0
}

// isRunning reports whether somebody may be connected to a pod: it has an address, and its container has been started.
func isRunning(pod *corev1.Pod) bool {
	if pod.Status.PodIP == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil {
			return true
		}
	}
	return len(pod.Status.ContainerStatuses) == 0
}

func instanceOf(pod *corev1.Pod) string { return pod.Labels[render.LabelInstance] }

// dismiss lets workers go.
func (r *Runner) dismiss(whom func(*worker) bool) {
	for uid, w := range r.workers {
		if whom(w) {
			w.stop()
			delete(r.workers, uid)
			r.ours[string(uid)] = true // should the pod come back
		}
	}
}

// finish ends the eviction when every pod is done, and none that comes later can be given a client by the old way.
func (r *Runner) finish(now time.Time) {
	if r.situation.hold || r.situation.entry == Pending || r.config.Pods() == nil {
		return
	}
	if moved := r.situation.moved; r.config.Mode != ModeNone && (moved.IsZero() || now.Sub(moved) < r.config.Propagation) {
		return
	}
	for _, w := range r.workers {
		if !w.report.Done || w.turn != r.turn {
			return
		}
	}
	done := *r.entry
	done.Done = now.UTC().Truncate(time.Millisecond)
	done.Databases, done.Evicted, done.Returned = nil, r.cuts.evicted, r.cuts.returned
	r.entry, r.record.pace = &done, 0
	r.dismiss(func(*worker) bool { return true })
	clear(r.ours)
	r.judge(now)
	r.Wake()
}
