package pgcluster

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

const inRecovery = "SELECT pg_is_in_recovery()"

func TestThreeNodesPromoteAndRejoin(t *testing.T) {
	c := Start(t, Options{Nodes: []string{"a", "b", "c"}})
	c.Exec("a", "CREATE TABLE written (who text)")
	c.Exec("a", "INSERT INTO written VALUES ('a')")
	c.WaitFor("b", "SELECT count(*) = 1 FROM written")
	c.WaitFor("c", "SELECT count(*) = 1 FROM written")
	roles(t, c, map[string]string{"a": "false", "b": "true", "c": "true"})

	c.Stop("a", Immediate)
	c.Promote("b")
	roles(t, c, map[string]string{"b": "false", "c": "true"})
	c.Exec("b", "INSERT INTO written VALUES ('b')")
	c.WaitFor("c", "SELECT count(*) = 2 FROM written")

	c.Rejoin("a")
	roles(t, c, map[string]string{"a": "true", "b": "false", "c": "true"})
	c.WaitFor("a", "SELECT count(*) = 2 FROM written")
	if got := c.Primary().Name; got != "b" {
		t.Errorf("primary is %s, want b", got)
	}

	// An old primary that still runs, or is started again, calls itself writer too.
	c.Promote("a")
	roles(t, c, map[string]string{"a": "false", "b": "false", "c": "true"})
	c.Stop("b", Fast)
	c.StartNode("b")
	roles(t, c, map[string]string{"a": "false", "b": "false", "c": "true"})
}

func TestAStandbyThatIsAheadOfTheNewPrimaryIsBuiltAnew(t *testing.T) {
	c := Start(t, Options{Nodes: []string{"a", "b", "c"}})
	c.Set("b", "primary_conninfo = ''")
	c.Exec("a", "CREATE TABLE lost ()")
	c.WaitFor("c", "SELECT to_regclass('lost') IS NOT NULL")
	c.Stop("a", Immediate)
	c.Promote("b")
	c.WaitFor("c", "SELECT to_regclass('lost') IS NULL")
	roles(t, c, map[string]string{"b": "false", "c": "true"})
}

func TestConnections(t *testing.T) {
	c := Start(t, Options{TLS: true})
	node := c.Node("a")
	if node != c.Primary() || len(c.Nodes()) != 1 {
		t.Fatal("want one node, the primary")
	}
	if _, err := connect(t, node.DSN(), "wrong"); err == nil {
		t.Error("a wrong password was accepted")
	}
	verified := strings.Replace(node.DSN(), "sslmode=disable", "sslmode=verify-full&sslrootcert="+c.CAFile, 1)
	for dsn, wantTLS := range map[string]bool{node.DSN(): false, verified: true} {
		conn, err := connect(t, dsn, Password)
		if err != nil {
			t.Fatal(err)
		}
		var usesTLS bool
		if err := conn.QueryRow(t.Context(), "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").Scan(&usesTLS); err != nil {
			t.Fatal(err)
		}
		if usesTLS != wantTLS {
			t.Errorf("%s: TLS %v, want %v", dsn, usesTLS, wantTLS)
		}
		if _, err := conn.Exec(t.Context(), "CREATE TABLE x ()"); err == nil {
			t.Error("the ordinary role may create tables")
		}
		_ = conn.Close(context.Background())
	}
}

func connect(t *testing.T, dsn, password string) (*pgx.Conn, error) {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.Password = password
	return pgx.ConnectConfig(t.Context(), config)
}

func TestEmulation(t *testing.T) {
	c := Start(t, Options{Nodes: []string{"db-1", "db-2"}, Emulation: true, Settings: []string{"work_mem = '2MB'"}})
	for _, n := range c.Nodes() {
		c.WaitFor(n.Name, "SELECT "+master+" = 'db-1'")
		if got := c.Query(n.Name, "SELECT aurora_db_instance_identifier()"); got != n.Name {
			t.Errorf("%s calls itself %q", n.Name, got)
		}
		if got := c.Query(n.Name, "SELECT server_id FROM aurora_replica_status() WHERE last_update_timestamp IS NULL"); got != n.Name {
			t.Errorf("the row without a timestamp on %s is that of %q", n.Name, got)
		}
	}
	c.WaitFor("db-2", "SELECT count(*) = 2 FROM aurora_emu.heartbeat") // ticks, and they replicate

	t.Run("the view of one node is replaced", func(t *testing.T) {
		c.Override("db-2", `[{"server_id":"ghost","session_id":"MASTER_SESSION_ID","age_ms":null}]`)
		wantMaster(t, c, map[string]string{"db-1": "db-1", "db-2": "ghost"})
		c.Override("db-2", "")
		wantMaster(t, c, map[string]string{"db-1": "db-1", "db-2": "db-1"})
	})
	t.Run("one node has settings of its own", func(t *testing.T) {
		c.Set("db-2", "work_mem = '3MB'", "default_transaction_read_only = on")
		for node, want := range map[string]string{"db-1": "2MB", "db-2": "3MB"} {
			if got := c.Query(node, "SELECT current_setting('work_mem')"); got != want {
				t.Errorf("work_mem of %s is %s, want %s", node, got, want)
			}
		}
		c.Set("db-2")
		if got := c.Query("db-2", "SELECT current_setting('work_mem')"); got != "2MB" {
			t.Errorf("work_mem is %s after Set with nothing, want 2MB", got)
		}
		if got := c.Query("db-2", "SELECT NULL"); got != "" {
			t.Errorf("NULL is %q", got)
		}
	})
	t.Run("the view follows a failover", func(t *testing.T) {
		c.Stop("db-1", Immediate)
		c.Promote("db-2")
		c.Rejoin("db-1")
		c.WaitFor("db-1", "SELECT "+master+" = 'db-2'")
		wantMaster(t, c, map[string]string{"db-1": "db-2", "db-2": "db-2"})
		c.WaitFor("db-1", "SELECT seen > now() - interval '3 s' FROM aurora_emu.heartbeat WHERE server_id = 'db-1'")
	})
}

// master is who claims to be the writer: "db-1", or "db-1,db-2" when two do.
const master = "(SELECT string_agg(server_id, ',' ORDER BY server_id) FROM aurora_replica_status() WHERE session_id = 'MASTER_SESSION_ID')"

// wantMaster compares who is the writer in the view of each node.
func wantMaster(t *testing.T, c *Cluster, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for name := range want {
		got[name] = c.Query(name, master)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writer by node (-want +got):\n%s", diff)
	}
}

// roles compares what pg_is_in_recovery says on each node.
func roles(t *testing.T, c *Cluster, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for name := range want {
		got[name] = c.Query(name, inRecovery)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in recovery (-want +got):\n%s", diff)
	}
}

func TestAPrimaryTurnsRoundAndFollows(t *testing.T) {
	c := Start(t, Options{Nodes: []string{"a", "b"}})
	c.Exec("a", "CREATE TABLE written (who text)")
	c.Follow("a", "b")
	c.Promote("b")
	c.Exec("b", "INSERT INTO written VALUES ('b')")
	c.WaitFor("a", "SELECT count(*) = 1 FROM written")
	roles(t, c, map[string]string{"a": "true", "b": "false"})

	c.Stop("b", Fast)
	c.Promote("a")
	c.Follow("b", "a")
	c.Exec("a", "INSERT INTO written VALUES ('a')")
	c.WaitFor("b", "SELECT count(*) = 2 FROM written")
	roles(t, c, map[string]string{"a": "false", "b": "true"})
}

// TestAFrozenServerAcceptsAndDoesNotAnswer: what it is asked stays unanswered until it is thawed; killed, it is gone.
func TestAFrozenServerAcceptsAndDoesNotAnswer(t *testing.T) {
	c := Start(t, Options{Nodes: []string{"a", "b"}})
	conn, err := pgx.Connect(t.Context(), c.Node("a").DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	c.Freeze("a")
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := conn.Exec(short, "SELECT 1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error of a session that was open is %v, want a timeout", err)
	}
	dial, err := net.Dial("tcp", c.Node("a").Addr())
	if err != nil {
		t.Fatalf("a frozen server does not accept a connection: %v", err)
	}
	dial.Close()
	c.Thaw("a")
	if got := c.Query("a", "SELECT 1"); got != "1" {
		t.Errorf("a thawed server answers %q", got)
	}
	c.Freeze("a")
	c.Promote("b")
	c.Kill("a")
	if c.Node("a").Running() {
		t.Error("it runs after Kill")
	}
	c.Rejoin("a")
	roles(t, c, map[string]string{"a": "true", "b": "false"})
}

// TestAFrozenServerEndsWithItsTest: nobody needs to thaw it.
func TestAFrozenServerEndsWithItsTest(t *testing.T) {
	var frozen *Node
	t.Run("a test", func(t *testing.T) {
		c := Start(t, Options{})
		frozen = c.Node("a")
		c.Freeze("a")
	})
	if frozen.Running() {
		t.Error("it runs after the end of its test")
	}
}

func TestALightSecretIsOfTheSamePassword(t *testing.T) {
	c := Start(t, Options{})
	light := c.Lighten()
	if have := c.Secret(); have != light || !strings.HasPrefix(light, "SCRAM-SHA-256$1:") {
		t.Fatalf("PostgreSQL keeps %q after %q", have, light)
	}
	for password, good := range map[string]bool{Password: true, "wrong": false} {
		conn, err := connect(t, c.Node("a").DSN(), password)
		if (err == nil) != good {
			t.Errorf("logging in with %q: %v", password, err)
		}
		if err == nil {
			_ = conn.Close(t.Context())
		}
	}
}
