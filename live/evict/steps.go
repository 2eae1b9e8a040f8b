package evict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/live/pooler"
)

// do makes the steps in their order, each only while what it rests on is true.
func (w *worker) do(ctx context.Context, turn uint64, steps []Step) error {
	for _, s := range steps {
		if !w.runner.may(ctx, turn) {
			return nil // look again
		}
		begun := w.runner.config.Now()
		err := w.one(ctx, s, begun)
		now := w.runner.config.Now()
		w.runner.teller.Tell(Event{At: now, Step: &s, Pod: w.name, Took: now.Sub(begun), Err: err})
		if err != nil {
			return err
		}
	}
	return nil
}

// may reports whether a step may still be made that rests on a turn.
func (r *Runner) may(ctx context.Context, turn uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ctx.Err() == nil && turn == r.turn && (r.config.Holds() || r.config.Now().Before(r.leaving))
}

// one makes a step.
func (w *worker) one(ctx context.Context, s Step, now time.Time) error {
	timeout := consoleTimeout
	switch s.Kind {
	case KillClients:
		timeout = manyTimeout
	case Delete:
		w.view.Deleted = now
		return w.remove(ctx, s.Clients)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := w.command(ctx, s, now)
	if f, ok := errors.AsType[*pooler.Error](err); ok && f.Fault == pooler.Refused && strings.Contains(f.Detail, "no such database") {
		w.lack(s.Database)
		return nil
	}
	return err
}

// lack notes that there is no such database here any more.
func (w *worker) lack(name string) {
	delete(w.ailing, name)
	w.unstale(name)
}

// unstale notes that new clients of a database of the new writer are told the truth.
func (w *worker) unstale(name string) {
	if w.view.Stale != nil {
		w.view.Stale[name] = false
	}
}

// command says something on the console, and notes what came of it.
func (w *worker) command(ctx context.Context, s Step, now time.Time) error {
	switch s.Kind {
	case Disable:
		w.view.Ours = true
		if w.view.Refusing.IsZero() {
			w.view.Refusing = now
		}
		w.ail(s.Database, func(d *pooler.Database) { d.Disabled = true })
		err := w.console.Disable(ctx, s.Database)
		w.view.Disabled[s.Database] = err == nil
		return err
	case Enable:
		delete(w.view.Disabled, s.Database)
		return w.well(s.Database, w.console.Enable(ctx, s.Database), func(d *pooler.Database) { d.Disabled = false })
	case Kill:
		w.ail(s.Database, func(d *pooler.Database) { d.Paused = true })
		return w.kill(ctx, s)
	case Resume:
		return w.well(s.Database, w.console.Resume(ctx, s.Database), func(d *pooler.Database) { d.Paused = false })
	case Reconnect:
		err := w.console.Reconnect(ctx, s.Database)
		if err == nil {
			w.unstale(s.Database)
		}
		return err
	default:
		return w.killClients(ctx, s.Clients)
	}
}

// well notes that something of ours is not so any more, unless that failed.
func (w *worker) well(name string, err error, change func(*pooler.Database)) error {
	if err == nil {
		w.ail(name, change)
	}
	return err
}

// isListed reports whether the pooler itself named a database; "" is no name.
func (w *worker) isListed(name string) bool {
	return name == "" || slices.Contains(w.listed, name)
}

func (w *worker) kill(ctx context.Context, s Step) error {
	w.view.Killed = w.runner.config.Now() // it may have been done when no answer comes
	err := w.console.Kill(ctx, s.Database)
	w.view.Killed = w.runner.config.Now()
	if err == nil {
		w.runner.count(w, len(s.Clients), s.Clients)
	}
	return err
}

func (w *worker) killClients(ctx context.Context, clients []pooler.Client) error {
	ids := make([]string, len(clients))
	for i, c := range clients {
		ids[i] = c.ID
	}
	gone, err := w.console.KillClients(ctx, ids)
	w.runner.count(w, gone, clients[:min(gone, len(clients))])
	return err
}

// remove deletes the pod, whose clients are cut by that.
func (w *worker) remove(ctx context.Context, clients []pooler.Client) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	now := int64(0)
	err := w.runner.config.Client.CoreV1().Pods(w.runner.config.Names.Namespace).Delete(ctx, w.name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &w.uid},
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // another pod of that name is not meant
		w.refused = fmt.Sprintf("it cannot be deleted (%s); %s on it", live.ReasonOf(err), w.countText())
		return err
	}
	w.view.Gone, w.refused = true, ""
	w.runner.count(w, len(clients), clients)
	return nil
}

// count adds clients that were cut.
func (r *Runner) count(w *worker, n int, clients []pooler.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.report.Evicted += n
	r.cuts.cut(n, clients)
}
