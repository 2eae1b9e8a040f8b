package session

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// Set keeps a Session for each endpoint it is asked about.
type Set struct {
	config   Config
	mu       sync.Mutex
	sessions map[Address]*Session
}

// NewSet returns an empty Set.
func NewSet(config Config) *Set { return &Set{config: config, sessions: map[Address]*Session{}} }

// Ask asks over the endpoint's session. One question at a time for each endpoint.
func (s *Set) Ask(ctx context.Context, at Address, statements string) ([]*pgconn.Result, error) {
	return s.session(at).Ask(ctx, statements)
}

// AskOnce asks over a connection of its own, which is closed afterwards: for a name that may lead elsewhere the next time.
func (s *Set) AskOnce(ctx context.Context, at Address, statements string) ([]*pgconn.Result, error) {
	once := New(s.config, at)
	defer once.Close()
	return once.Ask(ctx, statements)
}

// Silence says that the endpoint gave no sign of life ([Session.Silence]).
func (s *Set) Silence(at Address) { s.session(at).Silence() }

// Reset closes the endpoint's kept connection.
func (s *Set) Reset(at Address) { s.session(at).Reset() }

// Only closes the sessions of all endpoints but these.
func (s *Set) Only(keep map[Address]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, session := range s.sessions {
		if !keep[at] {
			session.Close()
			delete(s.sessions, at)
		}
	}
}

// Close closes all sessions.
func (s *Set) Close() { s.Only(nil) }

func (s *Set) session(at Address) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[at] == nil {
		s.sessions[at] = New(s.config, at)
	}
	return s.sessions[at]
}
