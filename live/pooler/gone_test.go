package pooler

import (
	"context"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/poolwright/poolwright/test/pgbouncer"
)

func TestAPodThatFreezesAndOneThatGoesInTheMiddleOfACommand(t *testing.T) {
	p := pgbouncer.Start(t, pgbouncer.Options{})
	hurried := admin
	hurried.Timeout = 200 * time.Millisecond
	frozen, err := Open(t.Context(), p.Addr(), hurried)
	check(t, err)
	defer frozen.Close()
	middle := open(t, p)
	p.Signal(syscall.SIGSTOP)
	if _, err := frozen.Databases(t.Context()); fault(t, err) != Timeout {
		t.Errorf("a frozen pooler: %v, want a timeout", err)
	}
	if _, err := Open(t.Context(), p.Addr(), hurried); fault(t, err) != Timeout {
		t.Errorf("a frozen pooler, and a new connection: %v, want a timeout", err)
	}
	if _, err := frozen.Databases(t.Context()); fault(t, err) != Unreachable {
		t.Errorf("a connection that has failed is used again: %v", err)
	}
	said := make(chan error, 1)
	go func() { _, err := middle.Clients(context.Background()); said <- err }()
	p.Stop()
	if err := <-said; fault(t, err) != Unreachable {
		t.Errorf("a pooler that is gone before its answer: %v, want unreachable", err)
	}
	if _, err := Open(t.Context(), p.Addr(), admin); fault(t, err) != Unreachable {
		t.Errorf("a pooler that is gone: %v, want unreachable", err)
	}
}

// TestATimeoutLeavesNoConnectionBehind: a pooler that hangs is tried again and again, and must not be filled by that.
func TestATimeoutLeavesNoConnectionBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, ended := time.Now(), make(chan time.Duration, 1)
		config := peer(func(b *pgproto3.Backend, _ net.Conn) {
			welcome(b)
			hangs(b)
			ended <- time.Since(begun)
		})
		if _, err := Open(t.Context(), "192.0.2.1:6432", config); fault(t, err) != Timeout {
			t.Errorf("got %v, want a timeout", err)
		}
		if after := <-ended; after != config.Timeout {
			t.Errorf("the connection was closed after %s, want %s", after, config.Timeout)
		}
	})
}

func TestAnAnswerThatDoesNotEndIsNotKept(t *testing.T) {
	row := &pgproto3.DataRow{Values: [][]byte{make([]byte, maxMessage/2)}}
	config := peer(func(b *pgproto3.Backend, _ net.Conn) {
		welcome(b)
		if _, err := b.Receive(); err != nil {
			return
		}
		b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("version"), DataTypeOID: 25, DataTypeSize: -1, TypeModifier: -1}}})
		for b.Send(row); b.Flush() == nil; b.Send(row) {
		}
	})
	config.Timeout = time.Minute
	if _, err := Open(t.Context(), "192.0.2.1:6432", config); fault(t, err) != Garbled {
		t.Errorf("got %v, want garbled", err)
	}
}

func TestABatchOfWhichOneIDIsNoneIsNotSent(t *testing.T) {
	c, err := Open(t.Context(), "192.0.2.1:6432", peer(func(b *pgproto3.Backend, _ net.Conn) {
		answers(b, map[string][][]string{"SHOW VERSION": version, "SHOW DATABASES": {{"name", "paused", "disabled"}, {"app", "0", "1"}}})
	}))
	check(t, err)
	defer c.Close()
	if gone, err := c.KillClients(t.Context(), []string{"1", "1; SHUTDOWN"}); gone != 0 || fault(t, err) != Refused {
		t.Errorf("%d are gone, %v", gone, err)
	}
	if d := c.database(t, "app"); !d.Disabled || d.Paused {
		t.Errorf("the console then answers %+v", d)
	}
}

func TestAPeerThatWantsNoTLSAndSpeaksHTTPIsGarbled(t *testing.T) {
	config := as("poolwright", "it's a secret")
	config.Dial = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			_, _ = theirs.Read(make([]byte, 1024))
			_, _ = theirs.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
		}()
		return ours, nil
	}
	if _, err := Open(t.Context(), "192.0.2.1:6432", config); fault(t, err) != Garbled {
		t.Errorf("got %v, want garbled", err)
	}
}

func FuzzClient(f *testing.F) {
	f.Add("7", "app", "my db", "10.0.0.1", "4711", "2026-11-30 05:49:12 UTC")
	f.Add("", "app", "", "unix(17)", "6432", "2026-11-30 05:49:12 +09")
	f.Add("x", "", "", "::1", "-1", "")
	f.Fuzz(func(t *testing.T, id, user, database, addr, port, since string) {
		columns := map[string]int{"id": 0, "user": 1, "database": 2, "addr": 3, "port": 4, "connect_time": 5}
		row := []string{id, user, database, addr, port, since}
		c, err := table{columns: columns}.client(row)
		if err != nil && fault(t, err) != Garbled || err == nil && (c.ID != id || c.Database != database || c.User != user) {
			t.Errorf("%q is %+v, %v", row, c, err)
		}
		if _, err := (table{columns: columns}).client(row[:5]); fault(t, err) != Garbled {
			t.Errorf("a short row is no fault: %v", err)
		}
	})
}
