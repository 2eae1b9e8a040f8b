package pgbouncer

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/test/pgcluster"
)

// TestEachVersionPassesQueriesOn: a query goes through each version to a real
// server, the console tells the version, and what Options say is in force.
func TestEachVersionPassesQueriesOn(t *testing.T) {
	db := pgcluster.Start(t, pgcluster.Options{})
	for _, version := range Versions() {
		t.Run(version, func(t *testing.T) {
			p := Start(t, Options{
				Version: version, Backend: db.Primary().Addr(),
				Databases: map[string]string{"my.own-db": "host=" + db.Primary().Host + " port=" + portOf(db) + " dbname=postgres"},
				Settings:  map[string]string{"pool_mode": "session"},
				Users:     map[string]string{"stranger": "other"},
			})
			if got := p.Admin("SHOW VERSION")[0]["version"]; !strings.HasPrefix(got, "PgBouncer "+version+".") {
				t.Errorf("version is %q, want %s", got, version)
			}
			for _, database := range []string{"postgres", "my.own-db"} {
				if got := ask(t, p, database); got != "1" {
					t.Errorf("the answer of %s is %q, want 1", database, got)
				}
			}
			mode := ""
			for _, row := range p.Admin("SHOW CONFIG") {
				if row["key"] == "pool_mode" {
					mode = row["value"]
				}
			}
			if mode != "session" {
				t.Errorf("pool_mode is %q, want session", mode)
			}
		})
	}
}

func portOf(db *pgcluster.Cluster) string {
	_, port, _ := strings.Cut(db.Primary().Addr(), ":")
	return port
}

// ask asks a database for one value through the pooler.
func ask(t *testing.T, p *Process, database string) (answer string) {
	t.Helper()
	ctx := t.Context()
	config, err := pgx.ParseConfig(p.DSN("x"))
	if err != nil {
		t.Fatal(err)
	}
	config.Database = database
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, "SELECT '1'").Scan(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// TestOneAddressEach: two processes listen on one port at the same time.
func TestOneAddressEach(t *testing.T) {
	a, b := Start(t, Options{}), Start(t, Options{Version: "1.18"})
	if a.Host == b.Host || a.Port != Port || b.Port != Port {
		t.Errorf("they listen on %s and %s, want two addresses and port %d", a.Addr(), b.Addr(), Port)
	}
}

// TestStrangersAreNoAdministrators: the console is for User.
func TestStrangersAreNoAdministrators(t *testing.T) {
	p := Start(t, Options{Users: map[string]string{"stranger": "other"}})
	config, err := pgconn.ParseConfig(p.DSN("pgbouncer"))
	if err != nil {
		t.Fatal(err)
	}
	config.User, config.Password = "stranger", "other"
	conn, err := pgconn.ConnectConfig(t.Context(), config)
	if err == nil {
		_ = conn.Close(t.Context())
		t.Fatal("a stranger is let in to the console")
	}
}

// TestFrozenAndGone: SIGSTOP leaves a process that accepts connections and answers none; SIGCONT brings it back, and
// Stop ends it.
func TestFrozenAndGone(t *testing.T) {
	p := Start(t, Options{})
	p.Signal(syscall.SIGSTOP)
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if conn, err := pgconn.Connect(short, p.DSN("pgbouncer")); err == nil {
		_ = conn.Close(short)
		t.Error("a frozen process answers")
	}
	p.Signal(syscall.SIGCONT)
	p.Admin("SHOW VERSION")
	if !p.Running() {
		t.Error("it does not run, and it does")
	}
	p.Stop()
	if p.Running() {
		t.Error("it runs after Stop")
	}
}
