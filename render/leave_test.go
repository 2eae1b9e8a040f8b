package render_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/test/pgbouncer"
	"github.com/poolwright/poolwright/test/pgcluster"
)

// limit bounds each wait; reaching it is always a failure.
const limit = 30 * time.Second

// eachVersion runs a test against a PgBouncer of each version in front of one PostgreSQL.
func eachVersion(t *testing.T, settings map[string]string, test func(t *testing.T, version string, db *pgcluster.Cluster, p *pgbouncer.Process)) {
	db := pgcluster.Start(t, pgcluster.Options{})
	db.Exec("a", "CREATE TABLE work (version text)")
	db.Exec("a", "GRANT ALL ON work TO "+pgcluster.User)
	for _, version := range pgbouncer.Versions() {
		t.Run(version, func(t *testing.T) {
			test(t, version, db, pgbouncer.Start(t, pgbouncer.Options{Version: version, Backend: db.Primary().Addr(), Settings: settings}))
		})
	}
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), dsn+"&default_query_exec_mode=simple_protocol")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func do(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if err := try(conn, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func try(conn *pgx.Conn, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, err := conn.Exec(ctx, sql)
	return err
}

// signalOf is the signal that a drawn preStop sends.
func signalOf(t *testing.T) syscall.Signal {
	t.Helper()
	deployment := string(draw(t, load(t, ""), state(1, at("pg-1", 0, plan.In)))["base/deployment.yaml"])
	if !strings.Contains(deployment, `command: [sh, -c, "sleep 20; kill -INT 1; sleep 10"]`) {
		t.Fatalf("another preStop than this test knows:\n%s", deployment)
	}
	return syscall.SIGINT
}

// A04: what the drawn hook does at the end of a drain ends no transaction, whatever the version: one that is open goes on and commits,
// and the process ends by itself. Whoever begins another is cut, since 1.23 at once, before that when the process ends, and not served.
func TestA04APodThatLeavesCutsNoTransaction(t *testing.T) {
	eachVersion(t, nil, func(t *testing.T, version string, db *pgcluster.Cluster, p *pgbouncer.Process) {
		busy, idle := connect(t, p.DSN("postgres")), connect(t, p.DSN("postgres"))
		do(t, idle, "SELECT 1")
		do(t, busy, "BEGIN")
		do(t, busy, "INSERT INTO work VALUES ('"+version+"')")
		p.Signal(signalOf(t))
		awaitLog(t, p, "SIGINT")
		late := make(chan error, 1)
		go func() { late <- try(idle, "INSERT INTO work VALUES ('late')") }()
		if version != "1.18" {
			wantCut(t, late)
		}
		do(t, busy, "INSERT INTO work VALUES ('"+version+"')")
		do(t, busy, "COMMIT")
		awaitExit(t, p)
		if version == "1.18" {
			wantCut(t, late)
		}
		if got := db.Query("a", "SELECT count(*) FROM work WHERE version = '"+version+"'"); got != "2" {
			t.Errorf("%s rows are committed", got)
		}
		if got := db.Query("a", "SELECT count(*) FROM work WHERE version = 'late'"); got != "0" {
			t.Errorf("%s late rows are committed", got)
		}
	})
}

// wantCut wants an error that is not a client's own impatience.
func wantCut(t *testing.T, result <-chan error) {
	t.Helper()
	if err := <-result; err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a transaction that begins too late: %v", err)
	}
}

// A04: why the hook does not leave it to Kubernetes' SIGTERM. Before 1.23 it ends transactions; since then it closes the port, and
// with it the console, and waits for clients who need never go.
func TestA04SIGTERMIsNoWayToLeave(t *testing.T) {
	eachVersion(t, nil, func(t *testing.T, version string, _ *pgcluster.Cluster, p *pgbouncer.Process) {
		busy := connect(t, p.DSN("postgres"))
		do(t, busy, "BEGIN")
		p.Signal(syscall.SIGTERM)
		awaitLog(t, p, "SIGTERM")
		if version == "1.18" {
			awaitExit(t, p)
			return
		}
		if conn, err := net.Dial("tcp", p.Addr()); err == nil {
			_ = conn.Close()
			t.Error("the console is still in reach")
		}
		do(t, busy, "COMMIT")
		do(t, busy, "BEGIN") // it may go on like this until SIGKILL
		if !p.Running() {
			t.Error("it is gone, and did not wait")
		}
	})
}

func awaitLog(t *testing.T, p *pgbouncer.Process, says string) {
	t.Helper()
	late, again := time.After(limit), time.NewTicker(5*time.Millisecond)
	defer again.Stop()
	for !strings.Contains(p.Log(), says) {
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("no %s in\n%s", says, p.Log())
		}
	}
}

func awaitExit(t *testing.T, p *pgbouncer.Process) {
	t.Helper()
	select {
	case <-p.Exited():
	case <-time.After(limit):
		t.Fatalf("it does not end:\n%s", p.Log())
	}
}

// A23: a rotated Secret is a new file in the pod. A RELOAD reads it; nobody is cut and nothing rolls.
func TestA23ARotatedSecretIsReadByAReload(t *testing.T) {
	dir := openDir(t)
	file := filepath.Join(dir, "userlist.txt")
	userlist := func(password string) {
		next := filepath.Join(dir, "next")
		write(t, next, []byte(`"`+pgbouncer.User+`" "`+pgbouncer.Password+`"`+"\n"+`"app" "`+password+`"`+"\n"))
		if err := os.Rename(next, file); err != nil {
			t.Fatal(err)
		}
	}
	userlist("old")
	eachVersion(t, map[string]string{"auth_file": file}, func(t *testing.T, version string, db *pgcluster.Cluster, p *pgbouncer.Process) {
		db.Exec("a", "DROP ROLE IF EXISTS app")
		db.Exec("a", "CREATE ROLE app LOGIN PASSWORD 'old'")
		userlist("old")
		p.Admin("RELOAD")
		as := func(password string) string {
			return strings.Replace(p.DSN("postgres"), dsnUser(p), "app:"+password+"@", 1)
		}
		before := connect(t, as("old"))
		do(t, before, "SELECT 1")
		db.Exec("a", "ALTER ROLE app PASSWORD 'new'")
		userlist("new")
		p.Admin("RELOAD")
		do(t, connect(t, as("new")), "SELECT 1")
		if _, err := pgconn.Connect(context.Background(), as("old")); err == nil {
			t.Error("the old password is still good")
		}
		do(t, before, "SELECT 1")
		userlist("new") // the same again
		p.Admin("RELOAD")
		do(t, before, "SELECT 1")
	})
}

// dsnUser is the user's part of a process's DSN.
func dsnUser(p *pgbouncer.Process) string {
	_, rest, _ := strings.Cut(p.DSN("postgres"), "://")
	user, _, _ := strings.Cut(rest, "@")
	return user + "@"
}
