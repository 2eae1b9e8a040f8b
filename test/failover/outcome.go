package failover

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Outcome is what a statement came to: "=a" is done on server a, else the SQLSTATE or, when nobody said one, "timeout" or "connection".
// With "!" before it, that is why there was no connection for it.
type Outcome string

// Done is the outcome of a statement that a server has carried out.
func Done(server string) Outcome { return Outcome("=" + server) }

// Refused is the outcome of an attempt to connect.
func Refused(why Outcome) Outcome { return "!" + why }

func (o Outcome) isError() bool { return !strings.HasPrefix(string(o), "=") }

func (o Outcome) isRefusal() bool { return strings.HasPrefix(string(o), "!") }

// OutcomeOf is that of an error.
func OutcomeOf(err error) Outcome {
	var said *pgconn.PgError
	var late interface{ Timeout() bool }
	var login *pgconn.ConnectError
	switch {
	case errors.As(err, &login):
		return Refused(OutcomeOf(login.Unwrap()))
	case errors.As(err, &said):
		return Outcome(said.Code)
	case errors.As(err, &late) && late.Timeout():
		return "timeout"
	}
	return "connection"
}

// stretch is an error, or a row of statements without a pause that one server has carried out.
type stretch struct {
	outcome     Outcome
	first, last time.Time
}

// pause ends a stretch: what happens after it is a stretch of its own.
const pause = 250 * time.Millisecond

// Diary is what one application did.
type Diary struct {
	// Exact is set before the first note: every statement is a stretch of its own.
	Exact bool

	mu  sync.Mutex
	all []stretch
}

// Note writes down when a statement's outcome came.
func (d *Diary) Note(o Outcome, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.all); n > 0 && !d.Exact && !o.isError() && d.all[n-1].outcome == o && at.Sub(d.all[n-1].last) < pause {
		d.all[n-1].last = at
		return
	}
	d.all = append(d.all, stretch{o, at, at})
}

// Clear forgets everything.
func (d *Diary) Clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = nil
}

// stretches are all of them, oldest first.
func (d *Diary) stretches() []stretch {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all)
}

// Done is the first time from after on at which a statement was carried out on a server.
func (d *Diary) Done(server string, after time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.all {
		if s.outcome != Done(server) || s.last.Before(after) {
			continue
		}
		if s.first.Before(after) {
			return after // one stretch, in the middle of which it was
		}
		return s.first
	}
	return time.Time{}
}

// LastElsewhere is the last time before the first statement on a server after zero that one was carried out on another server.
func (d *Diary) LastElsewhere(server string, zero time.Time) (last time.Time) {
	until := d.Done(server, zero)
	for _, s := range d.stretches() {
		if !s.outcome.isError() && s.outcome != Done(server) && (until.IsZero() || s.last.Before(until)) {
			last = s.last
		}
	}
	return last
}

// Errors are how many there were in diaries from a time on: of statements on a connection, and of attempts to get one; and the codes of both.
func Errors(from time.Time, all ...*Diary) (errors, refusals int, codes string) {
	counts := map[Outcome]int{}
	for _, d := range all {
		for _, s := range d.stretches() {
			switch {
			case !s.outcome.isError() || s.last.Before(from):
				continue
			case s.outcome.isRefusal():
				refusals++
			default:
				errors++
			}
			counts[s.outcome]++
		}
	}
	var parts []string
	for _, o := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s×%d", o, counts[o]))
	}
	return errors, refusals, strings.Join(parts, " ")
}

// LongestGap is the longest time between from and to in which none of the diaries has a statement that was carried out.
func LongestGap(all []*Diary, from, to time.Time) (longest time.Duration) {
	var good []stretch
	for _, d := range all {
		for _, s := range d.stretches() {
			if !s.outcome.isError() {
				good = append(good, s)
			}
		}
	}
	slices.SortFunc(good, func(a, b stretch) int { return cmp.Compare(a.first.UnixNano(), b.first.UnixNano()) })
	reached := from
	for _, s := range good {
		if s.last.Before(reached) {
			continue
		}
		if s.first.After(to) {
			break
		}
		longest = max(longest, s.first.Sub(reached))
		reached = s.last
	}
	return max(longest, to.Sub(reached))
}
