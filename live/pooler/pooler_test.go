package pooler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/test/pgbouncer"
	"github.com/poolwright/poolwright/test/pgcluster"
)

// as gives the credentials of a user of the test's poolers.
func as(user, password string) Config {
	return Config{Credentials: func(context.Context) (string, string, error) { return user, password, nil }, Timeout: 5 * time.Second}
}

var admin = as(pgbouncer.User, pgbouncer.Password)

// open is a console that must open.
func open(t *testing.T, p *pgbouncer.Process) *Console {
	t.Helper()
	c, err := Open(t.Context(), p.Addr(), admin)
	check(t, err)
	t.Cleanup(c.Close)
	return c
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// connect is a client that must be let in.
func connect(t *testing.T, p *pgbouncer.Process, database string) *pgconn.PgConn {
	t.Helper()
	c, err := pgconn.Connect(t.Context(), p.DSN(database))
	check(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// works runs a statement on a client.
func works(t *testing.T, c *pgconn.PgConn) error {
	t.Helper()
	return c.Exec(t.Context(), "SELECT 1").Close()
}

// fault is the fault of an error, 0 for none.
func fault(t *testing.T, err error) Fault {
	t.Helper()
	if err == nil {
		return 0
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("%v is no *Error", err)
	}
	return e.Fault
}

// each runs a test with every version of PgBouncer in front of one server.
func each(t *testing.T, test func(t *testing.T, p *pgbouncer.Process, db *pgcluster.Cluster)) {
	t.Helper()
	db := pgcluster.Start(t, pgcluster.Options{Nodes: []string{"a", "b"}})
	any := fmt.Sprintf("host=%s port=%d dbname=postgres", db.Primary().Host, db.Primary().Port)
	for _, v := range pgbouncer.Versions() {
		t.Run(v, func(t *testing.T) {
			test(t, pgbouncer.Start(t, pgbouncer.Options{Version: v, Databases: map[string]string{"*": any}, Users: map[string]string{"app": "app's"}}), db)
		})
	}
}

func TestConsole(t *testing.T) {
	each(t, func(t *testing.T, p *pgbouncer.Process, db *pgcluster.Cluster) {
		c := open(t, p)
		if got := c.Version().String(); !strings.HasPrefix(got, strings.TrimPrefix(t.Name(), "TestConsole/")+".") {
			t.Errorf("the version is %s", got)
		}
		names := []string{"postgres", "my db", `a"quote`}
		clients := map[string]*pgconn.PgConn{}
		for _, n := range names {
			clients[n] = c.connect(t, p, n)
		}
		found, err := c.Databases(t.Context())
		check(t, err)
		if want := []Database{{Name: `a"quote`}, {Name: "my db"}, {Name: "postgres"}}; !slices.Equal(found, want) {
			t.Fatalf("databases are %v, want %v", found, want)
		}
		in, err := c.Clients(t.Context())
		check(t, err)
		for _, client := range in {
			if client.User != pgbouncer.User || client.Addr == "" || client.Port == 0 || time.Since(client.Since).Abs() > time.Minute || (client.ID == "") == c.Version().AtLeast(1, 24) {
				t.Errorf("a client is %+v", client)
			}
		}
		if len(in) != len(names) {
			t.Errorf("%d clients, want %d", len(in), len(names))
		}
		servers, err := c.Servers(t.Context())
		check(t, err)
		for _, s := range servers {
			if !slices.Contains(names, s.Database) || s.Addr != db.Primary().Host || time.Since(s.Since).Abs() > time.Minute {
				t.Errorf("a server is %+v, want one at %s", s, db.Primary().Host)
			}
		}
		if len(servers) < len(names) { // a login that was made again may have left one more
			t.Errorf("%d servers, want one for each of %d databases", len(servers), len(names))
		}
		check(t, c.Reload(t.Context()))
		for _, n := range names {
			c.wantEvicted(t, p, n, clients[n])
		}
	})
}

// connect is a client in a database that is listed: PgBouncer goes on to hide one whose first login took more than a third of a second.
func (c *Console) connect(t *testing.T, p *pgbouncer.Process, name string) *pgconn.PgConn {
	t.Helper()
	for range 20 {
		client := connect(t, p, name)
		listed, err := c.Databases(t.Context())
		check(t, err)
		if slices.ContainsFunc(listed, func(d Database) bool { return d.Name == name }) {
			return client
		}
		check(t, client.Close(t.Context()))
	}
	t.Fatalf("%q is never listed", name)
	return nil
}

// wantEvicted disables a database, cuts its client, and opens it again: each command twice, since each may be said again.
func (c *Console) wantEvicted(t *testing.T, p *pgbouncer.Process, name string, client *pgconn.PgConn) {
	t.Helper()
	twice := func(command func(context.Context, string) error) {
		check(t, command(t.Context(), name))
		check(t, command(t.Context(), name))
	}
	twice(c.Disable)
	if d := c.database(t, name); !d.Disabled || d.Paused {
		t.Errorf("after DISABLE it is %+v", d)
	}
	if _, err := pgconn.Connect(t.Context(), p.DSN(name)); err == nil || !strings.Contains(err.Error(), "disabled") {
		t.Errorf("a newcomer is told %v", err)
	}
	check(t, works(t, client))
	twice(c.Kill)
	if d := c.database(t, name); !d.Paused {
		t.Errorf("after KILL it is %+v", d)
	}
	twice(c.Resume)
	if works(t, client) == nil {
		t.Error("the client is still in after KILL")
	}
	twice(c.Enable)
	twice(c.Reconnect)
	if d := c.database(t, name); d.Paused || d.Disabled {
		t.Errorf("in the end it is %+v", d)
	}
	check(t, works(t, connect(t, p, name)))
}

func (c *Console) database(t *testing.T, name string) Database {
	t.Helper()
	all, err := c.Databases(t.Context())
	check(t, err)
	for _, d := range all {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("%q is not in %v", name, all)
	return Database{}
}

func TestClientsAreCutByTheirIDs(t *testing.T) {
	each(t, func(t *testing.T, p *pgbouncer.Process, _ *pgcluster.Cluster) {
		c := open(t, p)
		stays, goes := connect(t, p, "postgres"), []*pgconn.PgConn{}
		for range 3 {
			goes = append(goes, connect(t, p, "my db"))
		}
		all, err := c.Clients(t.Context())
		check(t, err)
		var ids []string
		for _, client := range all {
			if client.Database == "my db" {
				ids = append(ids, client.ID)
			}
		}
		if !c.Version().AtLeast(1, 24) {
			if _, err := c.KillClients(t.Context(), ids); fault(t, err) != Refused {
				t.Errorf("ids that are none: %v", err)
			}
			if _, err := c.KillClients(t.Context(), []string{"7"}); fault(t, err) != Refused {
				t.Errorf("a version that does not know the command: %v", err)
			}
			_, err := c.Databases(t.Context()) // it can still be spoken to
			check(t, err)
			return
		}
		gone, err := c.KillClients(t.Context(), append(ids, "999999"))
		check(t, err)
		if gone != 4 {
			t.Errorf("%d of 3 and one that was none are gone", gone)
		}
		for _, client := range goes {
			if works(t, client) == nil {
				t.Error("a client is still in")
			}
		}
		check(t, works(t, stays))
	})
}

func TestNoDatabaseIsNamedByMistake(t *testing.T) {
	for _, name := range []string{"", "*", "pgbouncer", strings.Repeat("x", 64), "a\x00b"} {
		if got, err := quoteName(name); fault(t, err) != Refused {
			t.Errorf("%q became %q, %v", name, got, err)
		}
	}
}

func TestProof(t *testing.T) {
	each(t, func(t *testing.T, p *pgbouncer.Process, db *pgcluster.Cluster) {
		ask := func(address string, c Config, q Question) Proof { return Prove(t.Context(), address, c, q, time.Now) }
		behind := pgbouncer.Start(t, pgbouncer.Options{Version: strings.TrimPrefix(t.Name(), "TestProof/"), Backend: db.Node("b").Addr()})
		db.Exec("a", `CREATE TABLE IF NOT EXISTS proofs (cluster text PRIMARY KEY, proven_at timestamptz NOT NULL)`)
		db.Exec("a", `GRANT ALL ON proofs TO PUBLIC`)
		db.WaitFor("b", `SELECT has_table_privilege('public', 'public.proofs', 'INSERT')`)
		writes := Question{Access: Writes, Database: "postgres"}
		real := Question{Access: Writes, Database: "postgres", Table: "public.proofs", Cluster: "it's me"}
		for name, tc := range map[string]struct {
			address string
			config  Config
			ask     Question
			want    string
		}{
			"a writer says so":    {p.Addr(), admin, writes, "proven"},
			"a writer writes":     {p.Addr(), admin, real, "proven"},
			"anybody can be read": {behind.Addr(), admin, Question{Access: Reads, Database: "postgres"}, "proven"},
			"A09 a standby answers every SELECT and is no writer": {behind.Addr(), admin, writes, "role-mismatch 25006"},
			"A01 a standby cannot be written":                     {behind.Addr(), admin, real, "role-mismatch 25006"},
			"no such table":                                       {p.Addr(), admin, Question{Access: Writes, Database: "postgres", Table: "nowhere"}, "failed refused 42P01"},
			"no name of a table":                                  {p.Addr(), admin, Question{Access: Writes, Database: "postgres", Table: "a.b.c"}, "failed refused"},
			"a wrong password":                                    {p.Addr(), as(pgbouncer.User, "wrong"), writes, "failed denied"},
			"nobody listens":                                      {"127.0.0.1:1", admin, writes, "failed unreachable"},
		} {
			t.Run(name, func(t *testing.T) {
				proof := ask(tc.address, tc.config, tc.ask)
				got := proof.Outcome.String()
				if proof.Outcome == Failed {
					got += " " + proof.Fault.String()
				}
				if proof.Code != "08P01" && proof.Code != "28P01" {
					got = strings.TrimSpace(got + " " + proof.Code)
				}
				if got != tc.want || strings.Contains(proof.Detail, pgbouncer.Password) {
					t.Errorf("got %s (%s), want %s", got, proof.Detail, tc.want)
				}
			})
		}
		if got := db.Query("a", "SELECT count(*) FROM proofs WHERE cluster = 'it''s me' AND proven_at > now() - interval '1 min'"); got != "1" {
			t.Errorf("%s rows were written", got)
		}
	})
}

func TestPoolersThatRefuse(t *testing.T) {
	each(t, func(t *testing.T, p *pgbouncer.Process, _ *pgcluster.Cluster) {
		for name, tc := range map[string]struct {
			config Config
			want   Fault
		}{
			"a wrong password": {as(pgbouncer.User, "wrong"), Denied},
			"no such user":     {as("nobody", "x"), Denied},
			"no administrator": {as("app", "app's"), Denied},
			"no credentials":   {Config{}, Denied},
			"TLS is demanded by us, and there is none": {func() Config { c := admin; c.SSLMode = "require"; return c }(), Untrusted},
		} {
			t.Run(name, func(t *testing.T) {
				c, err := Open(t.Context(), p.Addr(), tc.config)
				if err == nil { // some versions let them in, to look
					err = c.Disable(t.Context(), "postgres")
					c.Close()
				}
				if fault(t, err) != tc.want || strings.Contains(fmt.Sprint(err), "app's") {
					t.Errorf("got %v, want %s", err, tc.want)
				}
			})
		}
	})
}
