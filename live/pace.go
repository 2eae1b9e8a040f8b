package live

import (
	"math/rand/v2"
	"time"
)

// The pace of writes to one object.
const (
	minGap    = 100 * time.Millisecond // between two writes: never a loop hotter than 10/s
	maxGap    = 5 * time.Second
	window    = time.Minute
	manyTimes = 10 // writes in a window, from which on the gap doubles
)

// pace bounds the writes to one object. The first one is made at once.
type pace struct {
	last, next time.Time
	recent     []time.Time // writes of the window, but for the failed
	failures   int         // in a row
}

// wait is how long the next write must wait, 0 when it may be made.
func (p *pace) wait(now time.Time) time.Duration { return max(0, p.next.Sub(now)) }

// wrote counts a write that was made now, or that found the world moved.
func (p *pace) wrote(now time.Time) {
	p.recent = append(p.within(now), now)
	p.failures = 0
	p.rest(now, doubled(len(p.recent)-manyTimes+1))
}

// failed counts a write that failed now. Not all who failed together try again together.
func (p *pace) failed(now time.Time) {
	p.failures++
	gap := doubled(p.failures)
	p.rest(now, max(minGap, gap/2+rand.N(gap/2)))
}

func (p *pace) rest(now time.Time, gap time.Duration) { p.last, p.next = now, now.Add(gap) }

// contended reports whether the object was written so often that writing it slows down, and until when.
func (p *pace) contended(now time.Time) (until time.Time, ok bool) {
	if p.recent = p.within(now); len(p.recent) < manyTimes {
		return time.Time{}, false
	}
	return p.recent[len(p.recent)-manyTimes].Add(window), true
}

// hurry forgets what slowed down: something new is wanted.
func (p *pace) hurry() {
	p.recent, p.failures = nil, 0
	p.next = p.last.Add(minGap)
}

func (p *pace) within(now time.Time) []time.Time {
	i := 0
	for i < len(p.recent) && now.Sub(p.recent[i]) >= window {
		i++
	}
	return p.recent[i:]
}

// doubled is the smallest gap, doubled n times, up to the largest.
func doubled(n int) time.Duration {
	gap := minGap
	for ; n > 0 && gap < maxGap; n-- {
		gap *= 2
	}
	return min(gap, maxGap)
}
