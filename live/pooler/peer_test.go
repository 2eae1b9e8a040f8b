package pooler

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// peer is who is spoken to instead of a PgBouncer: it plays a script on each connection, and hangs up at its end.
func peer(script func(b *pgproto3.Backend, raw net.Conn)) Config {
	c := as("poolwright", "it's a secret")
	c.Timeout, c.SSLMode = 250*time.Millisecond, "disable"
	c.Dial = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			b := pgproto3.NewBackend(theirs, theirs)
			if _, err := b.ReceiveStartupMessage(); err == nil {
				script(b, theirs)
			}
		}()
		return ours, nil
	}
	return c
}

// welcome lets a client in.
func welcome(b *pgproto3.Backend) {
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	_ = b.Flush() // whoever is gone is gone
}

// answers answers each command with rows of text; an unknown one ends the script.
func answers(b *pgproto3.Backend, said map[string][][]string) {
	welcome(b)
	for {
		m, err := b.Receive()
		q, ok := m.(*pgproto3.Query)
		if err != nil || !ok || said[q.String] == nil {
			return
		}
		rows := said[q.String]
		var columns []pgproto3.FieldDescription
		for _, name := range rows[0] {
			columns = append(columns, pgproto3.FieldDescription{Name: []byte(name), DataTypeOID: 25, DataTypeSize: -1, TypeModifier: -1})
		}
		b.Send(&pgproto3.RowDescription{Fields: columns})
		for _, row := range rows[1:] {
			var values [][]byte
			for _, v := range row {
				values = append(values, []byte(v))
			}
			b.Send(&pgproto3.DataRow{Values: values})
		}
		b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SHOW")})
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		_ = b.Flush()
	}
}

// hangs reads until the client is gone.
func hangs(b *pgproto3.Backend) {
	for {
		if _, err := b.Receive(); err != nil {
			return
		}
	}
}

// floods never stops to answer the first command.
func floods(b *pgproto3.Backend) {
	welcome(b)
	if _, err := b.Receive(); err != nil {
		return
	}
	b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("version"), DataTypeOID: 25, DataTypeSize: -1, TypeModifier: -1}}})
	for {
		b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte("PgBouncer 1.24.1")}})
		if b.Flush() != nil {
			return
		}
	}
}

var version = [][]string{{"version"}, {"PgBouncer 1.24.1"}}

func TestPeersThatAreNoPgBouncer(t *testing.T) {
	databases := [][]string{{"name", "paused", "disabled"}, {"app", "0", "0"}}
	for name, tc := range map[string]struct {
		script func(*pgproto3.Backend, net.Conn)
		want   Fault
	}{
		"it accepts and never speaks":    {func(b *pgproto3.Backend, _ net.Conn) { hangs(b) }, Timeout},
		"it lets us in and never speaks": {func(b *pgproto3.Backend, _ net.Conn) { welcome(b); hangs(b) }, Timeout},
		"it never stops to speak":        {func(b *pgproto3.Backend, _ net.Conn) { floods(b) }, Timeout},
		"it speaks HTTP": {func(_ *pgproto3.Backend, raw net.Conn) {
			fmt.Fprint(raw, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
		}, Garbled},
		"it announces a message of 2 GB": {func(_ *pgproto3.Backend, raw net.Conn) { _, _ = raw.Write([]byte{'R', 0x7f, 0xff, 0xff, 0xff}) }, Garbled},
		"it hangs up":                    {func(*pgproto3.Backend, net.Conn) {}, Unreachable},
		"it hangs up in the middle":      {func(b *pgproto3.Backend, _ net.Conn) { answers(b, map[string][][]string{"SHOW VERSION": version}) }, Unreachable},
		"it is PostgreSQL": {func(b *pgproto3.Backend, _ net.Conn) {
			answers(b, map[string][][]string{"SHOW VERSION": {{"version"}, {"PostgreSQL 15.18"}}})
		}, Garbled},
		"it has another column": {func(b *pgproto3.Backend, _ net.Conn) {
			answers(b, map[string][][]string{"SHOW VERSION": {{"v"}, {"PgBouncer 1.24.1"}}})
		}, Garbled},
		"it has no rows": {func(b *pgproto3.Backend, _ net.Conn) {
			answers(b, map[string][][]string{"SHOW VERSION": {{"version"}}})
		}, Garbled},
		"its clients come from no port": {func(b *pgproto3.Backend, _ net.Conn) {
			answers(b, map[string][][]string{"SHOW VERSION": version, "SHOW DATABASES": databases, "SHOW CLIENTS": {
				{"user", "database", "addr", "port", "connect_time"}, {"app", "app", "10.0.0.1", "none", "2026-11-30 05:49:12 UTC"},
			}})
		}, Garbled},
		"its clients came at no time": {func(b *pgproto3.Backend, _ net.Conn) {
			answers(b, map[string][][]string{"SHOW VERSION": version, "SHOW DATABASES": databases, "SHOW CLIENTS": {
				{"user", "database", "addr", "port", "connect_time"}, {"app", "app", "10.0.0.1", "1", "yesterday"},
			}})
		}, Garbled},
		"it says less of its databases": {func(b *pgproto3.Backend, _ net.Conn) {
			answers(b, map[string][][]string{"SHOW VERSION": version, "SHOW DATABASES": {{"name", "paused"}, {"app", "0"}}})
		}, Garbled},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Open(t.Context(), "192.0.2.1:6432", peer(tc.script))
			if err == nil {
				defer c.Close()
				if _, err = c.Databases(t.Context()); err == nil {
					_, err = c.Clients(t.Context())
				}
			}
			if fault(t, err) != tc.want || strings.Contains(fmt.Sprint(err), "secret") {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// A zone that the pooler's machine knows and this one does not is no reason to cut nobody.
func TestClientsOfOtherVersionsAndZones(t *testing.T) {
	rows := [][]string{
		{"type", "user", "database", "addr", "port", "connect_time", "new_column"},
		{"C", "app", "app", "::1", "4711", "2026-11-30 05:49:12 KST", "x"},
		{"C", "pgbouncer", "pgbouncer", "10.0.0.1", "4712", "2026-11-30 05:49:12 UTC", "x"},
		{"C", "app", "app", "unix(17)", "6432", "2026-11-30 05:49:12 +09", "x"},
	}
	c, err := Open(t.Context(), "192.0.2.1:6432", peer(func(b *pgproto3.Backend, _ net.Conn) {
		answers(b, map[string][][]string{"SHOW VERSION": version, "SHOW CLIENTS": rows})
	}))
	check(t, err)
	defer c.Close()
	got, err := c.Clients(t.Context())
	check(t, err)
	var seen []string
	for _, client := range got {
		seen = append(seen, fmt.Sprintf("%s %s:%d", client.User, client.Addr, client.Port))
	}
	if want := []string{"app ::1:4711", "app unix(17):6432"}; !slices.Equal(seen, want) {
		t.Errorf("got %q, want %q", seen, want)
	}
}

// The answers of 10,000 clients are no more than a batch at a time, in both directions.
func TestTenThousandClients(t *testing.T) {
	var killed atomic.Int32
	config := peer(func(b *pgproto3.Backend, raw net.Conn) {
		welcome(b)
		for {
			m, err := b.Receive()
			q, ok := m.(*pgproto3.Query)
			switch {
			case err != nil || !ok:
				return
			case q.String == "SHOW VERSION":
				b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("version"), DataTypeOID: 25}}})
				b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte("PgBouncer 1.24.1")}})
			case killed.Add(1)%3 == 0:
				b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "08P01", Message: "client not found"})
			}
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte("KILL_CLIENT")})
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
			if b.Flush() != nil {
				return
			}
		}
	})
	config.Timeout = time.Minute // it is not about time
	c, err := Open(t.Context(), "192.0.2.1:6432", config)
	check(t, err)
	defer c.Close()
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	gone, err := c.KillClients(t.Context(), ids)
	if err != nil || gone != len(ids) || int(killed.Load()) != len(ids) {
		t.Errorf("%d gone of %d that were told, %v", gone, killed.Load(), err)
	}
}

func FuzzVersion(f *testing.F) {
	for _, s := range []string{"PgBouncer 1.24.1", "PgBouncer 1.26.0dev", "PgBouncer 1.25.0rc1 (Debian)", "PgBouncer ", "PostgreSQL 15", "PgBouncer 1", "PgBouncer 99999999999999999999.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseVersion(text)
		if err != nil {
			if fault(t, err) != Garbled || v != (Version{}) {
				t.Errorf("%q: %v, %v", text, v, err)
			}
			return
		}
		if again, err := parseVersion("PgBouncer " + v.String()); err != nil || again != v || v.Major < 0 || v.Minor < 0 || v.Patch < 0 {
			t.Errorf("%q is %v, which reads as %v, %v", text, v, again, err)
		}
	})
}
