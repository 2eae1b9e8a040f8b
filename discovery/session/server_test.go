package session

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// server is a PostgreSQL server over pipes, in the test's own time. What it does is its script's.
type server struct {
	frozen bool
	mu     sync.Mutex
	dials  int
	open   []net.Conn
	// login and answer play one message each; the default lets everybody in, and answers "1".
	login  func(*pgproto3.Backend)
	answer func(*pgproto3.Backend)
}

func (s *server) dial(context.Context, string, string) (net.Conn, error) {
	client, mine := net.Pipe()
	s.mu.Lock()
	s.dials++
	s.open = append(s.open, mine)
	s.mu.Unlock()
	go s.serve(mine)
	return client, nil
}

func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	b := pgproto3.NewBackend(conn, conn)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	s.play(s.script(true), b)
	for {
		message, err := b.Receive()
		if err != nil {
			return
		}
		switch message.(type) {
		case *pgproto3.Query:
			s.play(s.script(false), b)
		case *pgproto3.Sync:
			if !s.isFrozen() {
				s.play(ready, b)
			}
		}
	}
}

func (s *server) script(login bool) func(*pgproto3.Backend) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if login {
		return s.login
	}
	return s.answer
}

func (s *server) play(script func(*pgproto3.Backend), b *pgproto3.Backend) {
	script(b)
	_ = b.Flush() // the client may be gone
}

func ready(b *pgproto3.Backend) { b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'}) }

func (s *server) isFrozen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frozen
}

// freeze lets the server answer nothing any more, and end no connection.
func (s *server) freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = true
}

// set changes what the server does from now on.
func (s *server) set(login, answer func(*pgproto3.Backend)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.login, s.answer = login, answer
}

// restart ends all connections.
func (s *server) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.open {
		c.Close()
	}
	s.open = nil
}

func (s *server) dialled() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dials
}

func welcome(b *pgproto3.Backend) {
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
}

func one(b *pgproto3.Backend) {
	b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("one"), DataTypeOID: 25, DataTypeSize: -1, TypeModifier: -1}}})
	b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte("1")}})
	b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
}

func refuses(severity, code, message string) func(*pgproto3.Backend) {
	return func(b *pgproto3.Backend) {
		b.Send(&pgproto3.ErrorResponse{Severity: severity, Code: code, Message: message})
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	}
}

func hangs(*pgproto3.Backend) {}

func newServer() *server { return &server{login: welcome, answer: one} }

func (s *server) config() Config {
	return Config{
		SSLMode: "disable", Dial: s.dial,
		Lookup:      func(context.Context, string) ([]string, error) { return []string{"192.0.2.1"}, nil },
		Credentials: func(context.Context, string, int) (string, string, error) { return "app", secret, nil },
	}
}

const secret = "s3cr3t"

// asks is a session that must answer.
func asks(t *testing.T, s *Session) {
	t.Helper()
	results, err := s.Ask(t.Context(), "SELECT 1")
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 1 || string(results[0].Rows[0][0]) != "1" {
		t.Fatalf("got %v", results)
	}
}
