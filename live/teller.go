package live

import "sync"

// Teller hands events on, in order, so that nobody who is slow to hear them delays who tells.
type Teller[E any] struct {
	to func(E)

	mu     sync.Mutex
	queue  []E
	closed bool
	more   chan struct{}
}

// NewTeller makes a Teller that tells a function; nil tells nobody.
func NewTeller[E any](to func(E)) *Teller[E] {
	return &Teller[E]{to: to, more: make(chan struct{}, 1)}
}

// Tell returns at once.
func (t *Teller[E]) Tell(e E) {
	if t.to == nil {
		return
	}
	t.mu.Lock()
	t.queue = append(t.queue, e)
	t.mu.Unlock()
	ping(t.more)
}

// Close lets Run end, after the last event.
func (t *Teller[E]) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	ping(t.more)
}

// Run hands the events on until Close.
func (t *Teller[E]) Run() {
	for range t.more {
		t.mu.Lock()
		batch, closed := t.queue, t.closed
		t.queue = nil
		t.mu.Unlock()
		for _, e := range batch {
			t.to(e)
		}
		if closed {
			return
		}
	}
}
