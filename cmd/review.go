package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/forge"
	"github.com/poolwright/poolwright/gitsync/hub"
)

// reviews is where pull requests are kept up.
type reviews interface {
	Keep(ctx context.Context, d declaration, w forge.Wish) (forge.Standing, error)
}

const (
	// reviewEvery is how old the last look at a pull request may be.
	reviewEvery = 30 * time.Second
	// reviewTimeout bounds one look with all that follows from it.
	reviewTimeout = 2 * time.Minute
	// checksLate is how long a required check may take to start before people should know.
	checksLate = 10 * time.Minute
)

// reviewSide is what a Reconciler knows of its pull request. At most one look at it is under way.
type reviewSide struct {
	place    place
	running  bool
	asked    reviewQuestion
	at       time.Time  // of the last look
	drawn    wish       // what was wished last, with the evidence that led to it first
	order    forge.Wish // of drawn
	as       occasion   // of order
	standing forge.Standing
	declined []int // pull requests that people closed unmerged, oldest first
	retry    *backoff.ExponentialBackOff
	notUntil time.Time
	done     chan reviewDone
}

// reviewQuestion is what a look was about: the same one is asked again after reviewEvery only.
type reviewQuestion struct {
	spec    string
	base    *gitsync.Base
	decided string
	ahead   uint64
}

// reviewDone is the end of a look.
type reviewDone struct {
	place    place
	standing forge.Standing
	err      error
}

func (v *reviewSide) open() {
	v.done = make(chan reviewDone, 1)
	v.retry = backoff.NewExponentialBackOff()
	v.retry.InitialInterval, v.retry.MaxInterval = time.Second, 2*time.Minute
}

// turnTo forgets everything when the declaration names another place.
func (v *reviewSide) turnTo(p place) {
	if v.place != p {
		v.place, v.asked, v.standing, v.declined, v.as, v.notUntil = p, reviewQuestion{}, forge.Standing{}, nil, occasion{}, time.Time{}
	}
}

// due reports whether a look may start now.
func (v *reviewSide) due(q reviewQuestion, now time.Time) bool {
	return !v.running && !now.Before(v.notUntil) && (q != v.asked || now.Sub(v.at) >= reviewEvery)
}

// review looks after the cluster's pull request, where a change needs one: it runs beside the rounds, and nothing waits for it. What may be
// committed is committed first.
func (r *Reconciler) review(ctx context.Context, d declaration) error {
	v := &r.pulls
	v.turnTo(d.place())
	q := reviewQuestion{d.Spec, r.git.base, r.told.decided, r.latest.reach().override}
	if r.Reviews == nil || !byReview(d) || r.git.pushing || !r.mayPublish() || !v.due(q, r.Now()) {
		return nil
	}
	v.asked, v.at = q, r.Now()
	order, ok, err := r.wished(d)
	if err != nil || !ok {
		return err
	}
	v.running = true
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		standing, err := r.Reviews.Keep(ctx, d, order)
		v.done <- reviewDone{d.place(), standing, err}
	}()
	return nil
}

// wished is what the pull request is to say now. While it is the same, not a byte of it changes, and nothing is built or written again;
// on another base it is drawn with the evidence that led to it first.
func (r *Reconciler) wished(d declaration) (forge.Wish, bool, error) {
	v := &r.pulls
	w, ok, err := wishOn(d, *r.git.base, r.latest.evidence)
	if err != nil || !ok {
		return forge.Wish{}, false, err
	}
	as := occasion{d.Spec, r.git.base, w.key(), r.latest.reach().override, len(v.declined)}
	if as == v.as {
		return v.order, true, nil
	}
	if as.key == v.as.key && !w.empty() {
		again, ok, err := wishOn(d, *r.git.base, v.drawn.since(r.latest.evidence))
		if err == nil && ok && again.key() == as.key {
			w = again
		}
	}
	order, err := w.order(r.Builder, v.declined)
	if err != nil {
		return forge.Wish{}, false, fmt.Errorf("describing the pull request of %s: %w", d.Metadata.Name, err)
	}
	v.as, v.drawn, v.order = as, w, order
	return order, true, nil
}

// occasion is everything that an order rests on, but for the evidence that led to it.
type occasion struct {
	spec     string
	base     *gitsync.Base
	key      string
	ahead    uint64
	declined int
}

// since is the evidence that led to w first, but for what is ahead of Git now.
func (w wish) since(now evidence) evidence {
	e := w.evidence
	e.Known = now.Known
	return e
}

// reviewed takes note of the end of a look, and says whether that is a reason for another round at once.
func (r *Reconciler) reviewed(d reviewDone) bool {
	v := &r.pulls
	v.running = false
	if d.place != v.place {
		return true
	}
	if r.tell(&r.told.forge, d.err, ForgeFailed, ForgeBack); d.err != nil {
		v.notUntil = r.Now().Add(v.pause(d.err, r.Now()))
		v.asked = reviewQuestion{}
		return false
	}
	v.retry.Reset()
	before := v.standing
	v.standing = d.standing
	r.tellReview(before)
	merged := d.standing.State == forge.Merged && before.State != forge.Merged
	if merged {
		r.git.stale = true
	}
	return merged
}

// pause is how long to wait after an error: as long as the forge says, where it does.
func (v *reviewSide) pause(err error, now time.Time) time.Duration {
	next := v.retry.NextBackOff()
	if at, ok := hub.RetryAt(err); ok {
		return max(next, at.Sub(now))
	}
	return next
}

// tellReview says when the pull request has come to another state, and what keeps it from being merged.
func (r *Reconciler) tellReview(before forge.Standing) {
	now := r.pulls.standing
	if now.State == forge.Declined && now.Number != 0 && (before.State != forge.Declined || before.Number != now.Number) {
		r.pulls.declined = append(r.pulls.declined, now.Number)
	}
	if now.State != before.State || now.Number != before.Number {
		r.say(Event{Kind: Reviewed, Detail: reviewText(now)})
	}
	r.tell(&r.told.checks, checksTrouble(now), Hindered, Cleared)
}

// reviewText is one line about a pull request.
func reviewText(s forge.Standing) string {
	text := s.State.String()
	if s.Number != 0 {
		text += fmt.Sprintf(": pull request #%d", s.Number)
	}
	if s.URL != "" {
		text += " " + s.URL
	}
	if s.Detail != "" {
		text += ": " + s.Detail
	}
	return text
}

// checksTrouble is why the pull request can never be merged as it is, nil when nothing is known to be in the way.
func checksTrouble(s forge.Standing) error {
	if s.State != forge.Proposed || len(s.Checks.Missing) == 0 || s.Checks.Waiting < checksLate {
		return nil
	}
	return fmt.Errorf("checks not started: pull request #%d waits for checks that have not started for %s: %s; hint: commits made with a workflow's own "+
		"GITHUB_TOKEN start no checks: use a GitHub App or another token", s.Number, s.Checks.Waiting.Round(time.Minute), strings.Join(s.Checks.Missing, ", "))
}
