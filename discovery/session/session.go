package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/discovery"
)

// Session keeps the connection to one endpoint. One question at a time.
type Session struct {
	config Config
	at     Address
	life   context.Context // ends with Close
	end    context.CancelFunc

	mu         sync.Mutex
	kept       *conn    // nil when there is none, or while it is asked
	era        int      // what was opened in an earlier one is not kept any more
	connecting *attempt // nil when none is under way
	// brief is until when a question waits for silentTimeout only; hush ends the one that is being asked.
	brief time.Time
	hush  context.CancelFunc
}

// New returns a Session, not connected yet.
func New(config Config, at Address) *Session {
	s := &Session{config: config, at: at}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Close ends the session, and an attempt to connect that is under way.
func (s *Session) Close() {
	s.end()
	s.Reset()
}

// Reset closes the kept connection; the next question gets a new one.
func (s *Session) Reset() { s.newEra() }

func (s *Session) newEra() int {
	s.mu.Lock()
	c := s.kept
	s.kept = nil
	s.era++
	era := s.era
	s.mu.Unlock()
	if c != nil {
		c.close()
	}
	return era
}

// Who has given no sign of life is not waited for like others: what depends on all answers would come so much later. But one that is only slow must not be
// taken for silent for ever.
const (
	silentTimeout = 250 * time.Millisecond
	silentFor     = 5 * time.Second
)

// Silence says that the endpoint gave no sign of life when it had to: a question that is being asked ends at once, and those of the next
// 5 s wait for a quarter of a second, until one is answered.
func (s *Session) Silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.brief = time.Now().Add(silentFor)
	if s.hush != nil {
		s.hush()
	}
}

// patience bounds one question.
func (s *Session) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.config.timeout()
	if time.Now().Before(s.brief) {
		limit = min(limit, silentTimeout)
	}
	ctx, s.hush = context.WithTimeout(ctx, limit)
	return ctx, s.hush
}

// answered forgets the silence.
func (s *Session) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.brief = time.Time{}
}

// Ask sends statements and returns their results in text format. An error is an *Error.
func (s *Session) Ask(ctx context.Context, statements string) ([]*pgconn.Result, error) {
	ctx, cancel := s.patience(ctx)
	defer cancel()
	for {
		c, wasKept, err := s.take(ctx)
		if err != nil {
			return nil, judge(ctx, err)
		}
		results, err := c.pg.Exec(ctx, statements).ReadAll()
		if err == nil {
			s.keep(c)
			s.answered()
			return results, nil
		}
		c.drop()
		failure := judge(ctx, err)
		if !wasKept || failure.Fault != discovery.Unreachable {
			return nil, failure
		}
	}
}

// take gives the kept connection or waits for a new one.
func (s *Session) take(ctx context.Context) (c *conn, wasKept bool, err error) {
	if c = s.takeKept(); c != nil {
		return c, true, nil
	}
	a := s.attempt()
	select {
	case <-ctx.Done():
		return nil, false, ctx.Err()
	case <-a.done:
	}
	if a.err != nil {
		return nil, false, a.err
	}
	if c = s.takeKept(); c == nil {
		return nil, false, errClosed
	}
	return c, false, nil
}

// takeKept gives the kept connection. The successor of one that has expired is on its way from then on; it serves until that is
// there, so that no question waits for a handshake.
func (s *Session) takeKept() *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.kept
	s.kept = nil
	if c != nil && !time.Now().Before(c.expires) {
		s.begin()
	}
	return c
}

// keep keeps c for the next question, or closes it when there will be none for it.
func (s *Session) keep(c *conn) {
	s.mu.Lock()
	over := s.life.Err() != nil || c.era != s.era
	if !over {
		s.kept = c
	}
	s.mu.Unlock()
	if over {
		c.close()
	}
}

// attempt is one try to connect. When done is closed there is an error, or a kept connection.
type attempt struct {
	done chan struct{}
	err  error
}

// attempt joins the one that is under way, or begins one.
func (s *Session) attempt() *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begin()
}

// begin is attempt with s.mu held.
func (s *Session) begin() *attempt {
	if s.connecting != nil {
		return s.connecting
	}
	a := &attempt{done: make(chan struct{})}
	s.connecting = a
	go s.connect(a)
	return a
}

// connect tries it. However that ends, it ends what was kept before: where the name leads now is the truth, also when nobody is
// there. PgBouncer would get no further.
func (s *Session) connect(a *attempt) {
	ctx, cancel := context.WithTimeout(s.life, s.config.timeout())
	defer cancel()
	c, err := s.config.connect(ctx, s.at)
	era := s.newEra()
	if err == nil {
		c.era = era
		s.keep(c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connecting, a.err = nil, err
	close(a.done)
}

var errClosed = &Error{Fault: discovery.NotAsked, Detail: "the session is closed"}

// connect opens one connection. Its error says nothing that should not be said.
func (c Config) connect(ctx context.Context, at Address) (*conn, error) {
	user, password, err := c.credentials(ctx, at)
	if err != nil {
		return nil, &Error{Fault: discovery.Denied, Detail: fmt.Sprintf("getting credentials: %s", err)}
	}
	opened, err := c.open(ctx, at, user, password)
	if err != nil {
		return nil, judge(ctx, err).without(password)
	}
	return opened, nil
}
