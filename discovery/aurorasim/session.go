package aurorasim

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// longestMessage bounds what a client may send as one message.
const longestMessage = 1 << 20

// session is one client connection. Its fields belong to its own goroutine, except those set before it starts.
type session struct {
	c    *Cluster
	node *node // whose process it is
	life int   // of that process
	pid  uint32
	raw  net.Conn
	conn net.Conn // raw, read ahead, and TLS when asked for
	be   *pgproto3.Backend

	// ctx ends when the client goes or the session is reset.
	ctx    context.Context
	stop   context.CancelFunc
	cancel chan struct{} // a cancel request
	once   sync.Once

	user, database string
	settings       map[string]string
	statements     map[string]*prepared
	portals        map[string]*portal
	tx             transaction
	skipping       bool // an error in the extended protocol: until Sync
}

// serve begins a session on the node that to gives.
func (c *Cluster) serve(conn net.Conn, to func() *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var n *node
	if !c.closed {
		n = to()
	}
	if n == nil || n.listener == nil {
		abort(conn)
		return
	}
	c.pids++
	s := &session{
		c: c, node: n, life: n.life, pid: c.pids, raw: conn, cancel: make(chan struct{}, 1),
		settings: map[string]string{}, statements: map[string]*prepared{}, portals: map[string]*portal{},
	}
	s.ctx, s.stop = context.WithCancel(c.ctx)
	in := &inbox{Conn: conn, chunks: make(chan []byte, inboxChunks)}
	s.use(in)
	n.sessions[s] = struct{}{}
	c.announce()
	c.wg.Go(func() { in.pump(s.ctx, s.stop) })
	c.wg.Go(s.run)
}

func (s *session) use(conn net.Conn) {
	s.conn = conn
	s.be = pgproto3.NewBackend(conn, conn)
	s.be.SetMaxBodyLen(longestMessage)
}

func (s *session) run() {
	defer s.leave()
	if s.login() != nil {
		return
	}
	for s.step() == nil {
	}
}

// leave ends the session in the orderly way.
func (s *session) leave() {
	s.c.mu.Lock()
	delete(s.node.sessions, s)
	s.c.announce()
	s.c.mu.Unlock()
	s.stop()
	s.once.Do(func() { _ = s.raw.Close() })
}

// reset ends the session as the end of a process does: the client sees a reset.
func (s *session) reset() {
	s.once.Do(func() { abort(s.raw) })
	s.stop()
}

// abort closes a connection so that the peer gets a reset instead of an orderly end.
func abort(conn net.Conn) {
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = conn.Close()
}

var errGone = errors.New("the session is over")

// pass waits while the node is silent. It is called before any byte is sent.
// garbage is true when the node is to send anything but that.
func (s *session) pass() (garbage bool, err error) {
	for {
		s.c.mu.Lock()
		silent, changed := s.node.silent(), s.c.changed
		gone := s.life != s.node.life || s.node.phase == down
		garbage = s.node.has(Garbage)
		s.c.mu.Unlock()
		switch {
		case s.ctx.Err() != nil:
			return false, errGone
		case !silent && gone:
			s.reset()
			return false, errGone
		case !silent:
			return garbage, nil
		}
		select {
		case <-changed:
		case <-s.ctx.Done():
		}
	}
}

// flush sends what is pending.
func (s *session) flush() error {
	garbage, err := s.pass()
	if err != nil {
		return err
	}
	if garbage {
		_, _ = s.conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\nthis is not PostgreSQL"))
		return errGone
	}
	return s.be.Flush()
}

// delay is the Slow fault, bounded by limit when that is positive. It reports what ended it early.
func (s *session) delay(limit time.Duration) *pgError {
	s.c.mu.Lock()
	slow, ok := s.node.faults[Slow]
	s.c.mu.Unlock()
	select {
	case <-s.cancel: // one that came too late for the statement it meant
	default:
	}
	if !ok {
		return nil
	}
	d, late := slow.duration, (*pgError)(nil)
	if limit > 0 && limit < d {
		d, late = limit, &pgError{"ERROR", "57014", "canceling statement due to statement timeout"}
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return late
	case <-s.cancel:
		return &pgError{"ERROR", "57014", "canceling statement due to user request"}
	case <-s.ctx.Done():
		return nil
	}
}

// pgError is what a client is told. A FATAL one ends the session.
type pgError struct{ severity, code, message string }

func (s *session) tell(e pgError) {
	s.be.Send(&pgproto3.ErrorResponse{Severity: e.severity, SeverityUnlocalized: e.severity, Code: e.code, Message: e.message})
}

// fatal tells and ends.
func (s *session) fatal(code, message string) error {
	s.tell(pgError{"FATAL", code, message})
	_ = s.flush()
	return errGone
}

// secret is the key of cancel requests: nothing is protected by it here, so it is derived from the pid.
func secret(pid uint32) []byte { return binary.BigEndian.AppendUint32(nil, pid^0x5eed5eed) }

// cancelRequest interrupts the delay of another session.
func (c *Cluster) cancelRequest(r *pgproto3.CancelRequest) {
	if string(r.SecretKey) != string(secret(r.ProcessID)) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.members {
		for s := range n.sessions {
			if s.pid == r.ProcessID {
				select {
				case s.cancel <- struct{}{}:
				default:
				}
			}
		}
	}
}
