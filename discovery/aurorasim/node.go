package aurorasim

import (
	"net"
	"time"
)

// phase is what the process of an instance is doing.
type phase uint8

const (
	up       phase = iota
	starting       // accepts and answers 57P03
	down           // the port refuses
)

// node is one instance. The cluster's mutex guards all of it.
type node struct {
	c        *Cluster
	name     string
	resource string
	zone     string
	phase    phase
	deleting bool
	// life counts the processes and machines of this instance: a session or a timer of an older life has no say.
	life     int
	started  time.Time
	seen     time.Time // of the last heartbeat; only for one that is not beating
	addr     string    // of the listener, or of the last one
	listener net.Listener
	sessions map[*session]struct{}
	faults   map[Fault]setting
}

func (n *node) has(f Fault) bool {
	_, ok := n.faults[f]
	return ok
}

// silent: the peer gets no byte, not even an end.
func (n *node) silent() bool { return n.has(Hang) || n.has(HalfOpen) }

// beating: the others hear of it.
func (n *node) beating() bool { return n.phase == up && !n.has(HalfOpen) }

func (n *node) setPhase(p phase) {
	if n.beating() {
		n.seen = n.c.cfg.Now()
	}
	if p == up && n.phase != up {
		n.started = n.c.cfg.Now()
	}
	n.phase = p
	n.settle()
}

// nextLife ends the process: its sessions are reset, or left silent when nobody can be told.
func (n *node) nextLife() {
	n.life++
	if !n.has(HalfOpen) {
		n.cut()
	}
}

func (n *node) cut() {
	for s := range n.sessions {
		s.reset()
	}
}

// settle opens or closes the port as the phase and the faults ask for.
func (n *node) settle() {
	want := (n.phase != down || n.has(HalfOpen)) && !n.has(Refuse) && !n.c.closed
	switch {
	case want && n.listener == nil:
		n.open()
	case !want && n.listener != nil:
		_ = n.listener.Close()
		n.listener = nil
	}
}

// open listens on the address it had before; when somebody else has taken that
// meanwhile, on a new one; when there is none at all, its port refuses.
func (n *node) open() {
	l, err := n.c.listen(n.addr)
	if err != nil {
		l, err = n.c.listen(anyAddr)
	}
	if err != nil {
		return
	}
	n.listener, n.addr = l, l.Addr().String()
	n.c.accept(l, func() *node { return n })
}

// retire ends it for good.
func (n *node) retire() {
	n.phase = down
	n.life++
	n.faults = nil
	n.cut()
	if n.listener != nil {
		_ = n.listener.Close()
		n.listener = nil
	}
}
