package aurorasim_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/discovery/aurorasim"
)

func TestPasswords(t *testing.T) {
	for name, auth := range map[string]aurorasim.Auth{"SCRAM": aurorasim.SCRAM, "cleartext": aurorasim.Cleartext} {
		t.Run(name, func(t *testing.T) {
			c := start(t, aurorasim.Config{User: "app", Password: "secret", Auth: auth})
			wordOf(t, connect(t, c, "a"))
			for what, change := range map[string]func(*pgx.ConnConfig){
				"a wrong password": func(p *pgx.ConnConfig) { p.Password = "Secret" },
				"no password":      func(p *pgx.ConnConfig) { p.Password = "" },
				"a wrong user":     func(p *pgx.ConnConfig) { p.User = "root" },
			} {
				if _, err := dial(within(t), c, c.Host("a"), change); code(err) != "28P01" {
					t.Errorf("%s: %v, want 28P01", what, err)
				}
			}
		})
	}
}

// verified makes a pgx client check the certificate, as sslmode=verify-full does.
func verified(t *testing.T, ca []byte, name string) func(*pgx.ConnConfig) {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatal("the CA is no certificate")
	}
	return func(p *pgx.ConnConfig) { p.TLSConfig = &tls.Config{RootCAs: roots, ServerName: name} }
}

func TestTLSIsVerifiedForEveryEndpointName(t *testing.T) {
	c := start(t, aurorasim.Config{TLS: true, Password: "secret"})
	other := start(t, aurorasim.Config{TLS: true})
	for _, host := range []string{c.Host("b"), c.EndpointHost(aurorasim.WriterEndpoint), c.EndpointHost(aurorasim.ReaderEndpoint)} {
		conn, err := dial(within(t), c, host, verified(t, c.CA(), host))
		if err != nil {
			t.Errorf("%s: %v", host, err)
			continue
		}
		wordOf(t, conn)
		_ = conn.Close(context.Background())
	}
	if _, err := dial(within(t), c, c.Host("a"), verified(t, other.CA(), c.Host("a"))); err == nil {
		t.Error("a foreign CA was good enough")
	}
	if _, err := dial(within(t), c, c.Host("a"), verified(t, c.CA(), "a.example.com")); err == nil {
		t.Error("a foreign name was good enough")
	}
	if _, err := dial(within(t), other, other.Host("a"), verified(t, other.CA(), other.Host("a"))); err != nil {
		t.Errorf("without a password: %v", err)
	}
	plain := start(t, aurorasim.Config{})
	if plain.CA() != nil {
		t.Error("a CA without TLS")
	}
	if _, err := dial(within(t), plain, plain.Host("a"), verified(t, c.CA(), plain.Host("a"))); err == nil {
		t.Error("a server without TLS gave TLS")
	}
}

// psql runs Debian's psql against the listener of an instance.
func psql(t *testing.T, c *aurorasim.Cluster, instance, conninfo, sql string) (string, error) {
	t.Helper()
	host, port, err := net.SplitHostPort(c.Addr(instance))
	if err != nil {
		t.Fatal(err)
	}
	conninfo = fmt.Sprintf("host=%s hostaddr=%s port=%s user=app dbname=app connect_timeout=20 %s", c.Host(instance), host, port, conninfo)
	cmd := exec.CommandContext(within(t), "psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose", "-c", sql, conninfo)
	cmd.Env = append(os.Environ(), "PGPASSWORD=secret")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func TestPsqlConnectsAndAsks(t *testing.T) {
	c := start(t, aurorasim.Config{User: "app", Password: "secret", TLS: true, Now: still})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, c.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ conninfo, sql, want string }{
		{"sslmode=disable", "select 1", "1"},
		{"sslmode=verify-full sslrootcert=" + ca, "select 1; select pg_is_in_recovery()", "1\nt"},
		{"sslmode=prefer gssencmode=prefer", "show transaction_read_only", "on"},
		{"", "select now(), 1.5::float8, null, interval '90 seconds'", "2026-11-29 12:00:00+00|1.5||00:01:30"},
		{"", view, "a|MASTER_SESSION_ID|100|\nb|" + sessionOf(t, c, "b") + "||20\nc|" + sessionOf(t, c, "c") + "|100|20"},
		{"options='-c statement_timeout=5s -c default_transaction_read_only=on'", "show statement_timeout; show default_transaction_read_only", "5s\non"},
		{"", "-- nothing", ""},
	} {
		if got, err := psql(t, c, "b", test.conninfo, test.sql); err != nil || got != test.want {
			t.Errorf("psql %s -c %q: %v\n got %q\nwant %q", test.conninfo, test.sql, err, got, test.want)
		}
	}
	got, err := psql(t, c, "b", "", "insert into t values (1)")
	if err == nil || !strings.Contains(got, "25006: cannot execute INSERT in a read-only transaction") {
		t.Errorf("a write on a reader: %v, %q", err, got)
	}
}

func sessionOf(t *testing.T, c *aurorasim.Cluster, instance string) (id string) {
	t.Helper()
	err := connectAny(t, c).QueryRow(within(t), "select session_id from aurora_replica_status() where server_id = '"+instance+"'").Scan(&id)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// connectAny connects with a config that any cluster of these tests accepts.
func connectAny(t *testing.T, c *aurorasim.Cluster) *pgx.Conn { return connect(t, c, "a") }

// modes are all the ways in which pgx can run a query: simple and extended protocol, text and binary.
func modes() map[string]pgx.QueryExecMode {
	return map[string]pgx.QueryExecMode{
		"cached statement": pgx.QueryExecModeCacheStatement, "cached description": pgx.QueryExecModeCacheDescribe,
		"described": pgx.QueryExecModeDescribeExec, "exec": pgx.QueryExecModeExec, "simple": pgx.QueryExecModeSimpleProtocol,
	}
}

func TestEveryTypeInEveryModeOfPgx(t *testing.T) {
	c := start(t, aurorasim.Config{Now: still})
	conn := connect(t, c, "a")
	type all struct {
		Bool     bool
		Int4     int32
		Int8     int64
		Numeric  float64
		Float8   float64
		Text     string
		Name     string
		Time     time.Time
		Interval time.Duration
		Null     *string
	}
	want := all{true, 7, 1 << 40, 2.25, -0.5, "it's", "app", still(), 90 * time.Second, nil}
	for name, mode := range modes() {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the second time from a cache
				var got all
				err := conn.QueryRow(within(t), "select true, 7, 1099511627776, 2.25, -0.5::float8, 'it''s', current_database(), now(), interval '90 seconds', null", mode).
					Scan(&got.Bool, &got.Int4, &got.Int8, &got.Numeric, &got.Float8, &got.Text, &got.Name, &got.Time, &got.Interval, &got.Null)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestProbeInOneRoundTrip: two statements in one simple query, as discovery/aurora asks.
func TestProbeInOneRoundTrip(t *testing.T) {
	c := start(t, aurorasim.Config{Now: still})
	results, err := connect(t, c, "b").PgConn().Exec(within(t), probe+"; "+view).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, r := range results {
		for _, line := range r.Rows {
			got = append(got, []string{})
			for _, v := range line {
				got[len(got)-1] = append(got[len(got)-1], string(v))
			}
		}
	}
	want := [][]string{
		{"b", "t", "on", "off"},
		{"a", "MASTER_SESSION_ID", "100", ""},
		{"b", sessionOf(t, c, "b"), "", "20"},
		{"c", sessionOf(t, c, "c"), "100", "20"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnknownStatementsAreRefused(t *testing.T) {
	c := start(t, aurorasim.Config{})
	conn := connect(t, c, "a")
	for sql, want := range map[string]string{
		"select pg_sleep(1)":                    "42883",
		"select * from pg_stat_replication":     "42P01",
		"select server_ID from aurora_status()": "42883",
		"selct 1":                               "42601",
		"show no_such_thing":                    "42704",
		"set no_such_thing = 1":                 "42704",
		"set statement_timeout = 'soon'":        "22023",
		"listen x":                              "42601",
	} {
		for name, mode := range modes() {
			if _, err := conn.Exec(within(t), sql, mode); code(err) != want {
				t.Errorf("%s (%s): %v, want SQLSTATE %s", sql, name, err, want)
			}
		}
	}
	if _, err := conn.Exec(within(t), "select $1::int", 1); code(err) != "42P02" {
		t.Errorf("a parameter: %v, want 42P02", err)
	}
	wordOf(t, conn) // the session has survived all that
}

func TestWritesAndTransactions(t *testing.T) {
	c := start(t, aurorasim.Config{})
	script := func(instance string, statements ...[2]string) {
		t.Helper()
		conn := connect(t, c, instance)
		for _, s := range statements {
			tag, err := conn.Exec(within(t), s[0])
			got := code(err)
			if err == nil {
				got = tag.String()
			}
			if got != s[1] {
				t.Errorf("on %s, %s: %q (%v), want %q", instance, s[0], got, err, s[1])
			}
		}
	}
	script("a", [][2]string{
		{"insert into t values (1)", "INSERT 0 1"},
		{"create table t (i int)", "CREATE TABLE"},
		{"update t set i = 2", "UPDATE 1"},
		{"begin read only", "BEGIN"},
		{"show transaction_read_only", "SHOW"},
		{"delete from t", "25006"},
		{"select 1", "25P02"},
		{"commit", "ROLLBACK"},
		{"start transaction isolation level serializable, read write", "START TRANSACTION"},
		{"truncate t", "TRUNCATE TABLE"},
		{"commit", "COMMIT"},
		{"set default_transaction_read_only = on", "SET"},
		{"drop table t", "25006"},
		{"set default_transaction_read_only to default", "SET"},
		{"drop table t", "DROP TABLE"},
		{"deallocate all", "DEALLOCATE ALL"},
		{"", ""},
	}...)
	script("b", [][2]string{
		{"create table t (i int)", "25006"}, {"begin read write", "BEGIN"}, {"insert into t values (1)", "25006"}, {"rollback", "ROLLBACK"},
	}...)
}

func TestDemotedWriterRefusesWritesInSessionsItKept(t *testing.T) {
	c := start(t, aurorasim.Config{})
	conn := connect(t, c, "a")
	if err := c.Promote("b"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(within(t), "insert into t values (1)"); code(err) != "25006" {
		t.Errorf("a stale session: %v, want 25006", err)
	}
}

func TestSlowAnswersCome(t *testing.T) {
	virtual(t, aurorasim.Config{}, func(t *testing.T, c *aurorasim.Cluster) {
		conn := connect(t, c, "b")
		inject(t, c, "b", aurorasim.Slow, aurorasim.For(5*time.Second))
		began := time.Now()
		wordOf(t, conn)
		if d := time.Since(began); d != 5*time.Second {
			t.Errorf("a statement was answered after %v, want 5 s", d)
		}
		began = time.Now()
		connect(t, c, "b")
		if d := time.Since(began); d != 5*time.Second {
			t.Errorf("a login was answered after %v, want 5 s", d)
		}
	})
}

func TestSlowAnswersEndAtStatementTimeout(t *testing.T) {
	for timeout, want := range map[string]time.Duration{"20": 20 * time.Millisecond, "2s": 2 * time.Second, "1min": time.Minute} {
		virtual(t, aurorasim.Config{}, func(t *testing.T, c *aurorasim.Cluster) {
			conn := connect(t, c, "b", func(p *pgx.ConnConfig) { p.RuntimeParams["statement_timeout"] = timeout })
			inject(t, c, "b", aurorasim.Slow, aurorasim.For(time.Hour))
			began := time.Now()
			_, err := conn.Exec(t.Context(), "select 1")
			if d := time.Since(began); code(err) != "57014" || d != want {
				t.Errorf("after %v: %v, want 57014 after %v", d, err, want)
			}
		})
	}
}

func TestSlowAnswersEndWithACancelRequest(t *testing.T) {
	virtual(t, aurorasim.Config{}, func(t *testing.T, c *aurorasim.Cluster) {
		conn := connect(t, c, "b")
		inject(t, c, "b", aurorasim.Slow, aurorasim.For(time.Hour))
		if err := conn.PgConn().CancelRequest(t.Context()); err != nil { // before the statement: no effect
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := conn.Exec(context.Background(), "select 1")
			done <- err
		}()
		synctest.Wait()
		if len(done) > 0 {
			t.Fatal("the early cancel request had an effect")
		}
		if err := conn.PgConn().CancelRequest(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-done; code(err) != "57014" {
			t.Errorf("got %v, want 57014", err)
		}
	})
}

func TestNewerProtocolIsNegotiatedDown(t *testing.T) {
	c := start(t, aurorasim.Config{})
	conn := connect(t, c, "a", func(p *pgx.ConnConfig) { p.MaxProtocolVersion = "3.2" })
	wordOf(t, conn)
}

func TestUnknownStartupParameterIsRefused(t *testing.T) {
	c := start(t, aurorasim.Config{})
	_, err := dial(within(t), c, c.Host("a"), func(p *pgx.ConnConfig) { p.RuntimeParams["no_such_thing"] = "1" })
	if code(err) != "42704" {
		t.Errorf("got %v, want 42704", err)
	}
}

func TestTargetSessionAttributes(t *testing.T) {
	c := start(t, aurorasim.Config{})
	for attrs, want := range map[string]string{"read-write": "a", "read-only": "b", "primary": "a", "standby": "b"} {
		cfg, err := pgconn.ParseConfig("host=" + c.Host("b") + "," + c.Host("a") + " port=5432 user=app sslmode=disable target_session_attrs=" + attrs)
		if err != nil {
			t.Fatal(err)
		}
		cfg.DialFunc, cfg.LookupFunc = c.Dial, c.Lookup
		conn, err := pgconn.ConnectConfig(within(t), cfg)
		if err != nil {
			t.Fatalf("%s: %v", attrs, err)
		}
		got := conn.ExecParams(within(t), "select aurora_db_instance_identifier()", nil, nil, nil, nil).Read()
		if got.Err != nil || string(got.Rows[0][0]) != want {
			t.Errorf("%s leads to %s (%v), want %s", attrs, got.Rows, got.Err, want)
		}
		_ = conn.Close(context.Background())
	}
}
