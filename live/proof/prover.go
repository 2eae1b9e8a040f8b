package proof

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"time"

	"github.com/poolwright/poolwright/live/pooler"
)

// Config is how a Prover works.
type Config struct {
	// Ask proves at host:port. It ends by itself, or with its context. pooler.Prove is one.
	Ask func(ctx context.Context, access pooler.Access, address string) pooler.Proof
	// Interval is the time from one question to the next, default 30 s; FastInterval is the same in a window, default 100 ms.
	Interval, FastInterval time.Duration
	// Fast reports whether a failover window is open, nil never. It is called after each proof, from two goroutines.
	Fast func() bool
	// Tell hears of each change, nil nobody. It is called from two goroutines, and delays who calls it.
	Tell func(Event)
}

// Event is a change of the outcome.
type Event struct {
	Address string
	// Was is the outcome before, 0 for the first proof; Stood is how long it was the outcome.
	Was   pooler.Outcome
	Stood time.Duration
	// Proof is the first of the new outcome.
	Proof pooler.Proof
}

const (
	defaultInterval     = 30 * time.Second
	defaultFastInterval = 100 * time.Millisecond
	// doubtful is the time to the next question when something was not proven.
	doubtful = 3 * time.Second
)

// Prover keeps the proofs of one cluster. Make it with [New].
type Prover struct {
	config  Config
	subject [2]*subject

	mu sync.Mutex
}

// subject is what one of the two accesses has come to. All but access and wake are guarded by Prover.mu.
type subject struct {
	access pooler.Access
	wake   chan struct{}

	address string
	last    pooler.Proof
	since   time.Time // the outcome of last
	proven  time.Time
	counts  map[pooler.Outcome]uint64
}

// New makes a Prover that asks nobody before it has a Target.
func New(c Config) *Prover {
	c.Interval, c.FastInterval = cmp.Or(c.Interval, defaultInterval), cmp.Or(c.FastInterval, defaultFastInterval)
	p := &Prover{config: c}
	for i, access := range []pooler.Access{pooler.Writes, pooler.Reads} {
		p.subject[i] = &subject{access: access, wake: make(chan struct{}, 1), counts: map[pooler.Outcome]uint64{}}
	}
	return p
}

// Run asks until the context ends.
func (p *Prover) Run(ctx context.Context) {
	var both sync.WaitGroup
	for _, s := range p.subject {
		both.Go(func() { p.keep(ctx, s) })
	}
	both.Wait()
}

// Target says where writes and reads go, as host:port. "" asks about that one no more, and forgets what was proven of it.
func (p *Prover) Target(writer, reader string) {
	for i, address := range []string{writer, reader} {
		if p.aim(p.subject[i], address) {
			p.subject[i].ping()
		}
	}
}

// aim reports whether the address is a new one.
func (p *Prover) aim(s *subject, address string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if address == s.address {
		return false
	}
	s.address = address
	if address == "" {
		s.last, s.since, s.proven = pooler.Proof{}, time.Time{}, time.Time{}
	}
	return true
}

// Wake asks at once, for who opens a window, or has just moved a Service.
func (p *Prover) Wake() {
	for _, s := range p.subject {
		s.ping()
	}
}

func (s *subject) ping() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Last is the newest proof, zero before the first, and when the latest that succeeded was asked for, zero for never.
func (p *Prover) Last(access pooler.Access) (last pooler.Proof, proven time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.of(access)
	return s.last, s.proven
}

// Counts are the proofs so far by their outcome, for metrics. The map is the caller's.
func (p *Prover) Counts(access pooler.Access) map[pooler.Outcome]uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.of(access).counts)
}

func (p *Prover) of(access pooler.Access) *subject {
	if access == pooler.Reads {
		return p.subject[1]
	}
	return p.subject[0]
}

func (p *Prover) keep(ctx context.Context, s *subject) {
	timer := time.NewTimer(p.config.Interval) // Target wakes it before
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.wake:
		}
		timer.Reset(p.pass(ctx, s))
	}
}

// pass asks once, and says when to ask again.
func (p *Prover) pass(ctx context.Context, s *subject) time.Duration {
	address := p.target(s)
	if address == "" {
		return p.config.Interval
	}
	proof := p.config.Ask(ctx, s.access, address)
	if ctx.Err() != nil {
		return p.config.Interval // it was not the other side that ended it
	}
	if e, changed := p.note(s, address, proof); changed && p.config.Tell != nil {
		p.config.Tell(e)
	}
	return max(0, p.gap(proof)-proof.Took)
}

func (p *Prover) target(s *subject) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return s.address
}

// gap is the time from one question to the next.
func (p *Prover) gap(proof pooler.Proof) time.Duration {
	switch {
	case p.config.Fast != nil && p.config.Fast():
		return p.config.FastInterval
	case proof.Outcome != pooler.Proven:
		return min(doubtful, p.config.Interval)
	}
	return p.config.Interval
}

// note keeps a proof, and reports whether its outcome is another than that of the one before.
func (p *Prover) note(s *subject, address string, proof pooler.Proof) (e Event, changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if address != s.address {
		return Event{}, false
	}
	e = Event{Address: address, Was: s.last.Outcome, Proof: proof}
	if changed = proof.Outcome != s.last.Outcome; changed {
		if e.Was != 0 {
			e.Stood = proof.At.Sub(s.since)
		}
		s.since = proof.At
	}
	s.last = proof
	s.counts[proof.Outcome]++
	if proof.Outcome == pooler.Proven {
		s.proven = proof.At
	}
	return e, changed
}
