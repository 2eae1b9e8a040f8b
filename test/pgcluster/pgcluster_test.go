package pgcluster

import (
	"context"
	"testing"

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

	// And once more, back to where it began.
	c.Promote("a")
	c.Rejoin("b")
	roles(t, c, map[string]string{"a": "false", "b": "true", "c": "true"})
}

func TestAnOldPrimaryThatStillRunsCallsItselfWriterToo(t *testing.T) {
	c := Start(t, Options{Nodes: []string{"a", "b", "c"}})
	c.Promote("c")
	roles(t, c, map[string]string{"a": "false", "b": "true", "c": "false"})
	c.Stop("a", Fast)
	c.StartNode("a")
	roles(t, c, map[string]string{"a": "false", "b": "true", "c": "false"})
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

func TestTheOrdinaryRoleNeedsItsPassword(t *testing.T) {
	c := Start(t, Options{})
	node := c.Node("a")
	if node != c.Primary() || len(c.Nodes()) != 1 {
		t.Fatal("want one node, the primary")
	}
	conn, err := pgx.Connect(t.Context(), node.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "CREATE TABLE x ()"); err == nil {
		t.Error("the ordinary role may create tables")
	}
	config := conn.Config().Copy()
	config.Password = "wrong"
	if _, err := pgx.ConnectConfig(t.Context(), config); err == nil {
		t.Error("a wrong password was accepted")
	}
}

func TestTLSIsVerifiableByAddress(t *testing.T) {
	c := Start(t, Options{Nodes: []string{"a", "b"}, TLS: true})
	for _, n := range c.Nodes() {
		config, err := pgx.ParseConfig(n.DSN() + "&sslmode=verify-full&sslrootcert=" + c.CAFile)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		var version string
		err = conn.QueryRow(t.Context(), "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl").Scan(&version)
		if err != nil || version == "" {
			t.Errorf("%s: TLS version %q, error %v", n.Name, version, err)
		}
		_ = conn.Close(context.Background())
	}
}

func TestSettingsOfOneNode(t *testing.T) {
	c := Start(t, Options{Nodes: []string{"a", "b"}, Settings: []string{"work_mem = '2MB'"}})
	c.Set("b", "work_mem = '3MB'", "default_transaction_read_only = on")
	for node, want := range map[string]string{"a": "2MB", "b": "3MB"} {
		if got := c.Query(node, "SELECT current_setting('work_mem')"); got != want {
			t.Errorf("work_mem of %s is %s, want %s", node, got, want)
		}
	}
	c.Set("b")
	if got := c.Query("b", "SELECT current_setting('work_mem')"); got != "2MB" {
		t.Errorf("work_mem of b is %s after Set with nothing, want 2MB", got)
	}
	if got := c.Query("b", "SELECT NULL"); got != "" {
		t.Errorf("NULL is %q", got)
	}
}

func TestEmulation(t *testing.T) {
	c := Start(t, Options{Nodes: []string{"db-1", "db-2", "db-3"}, Emulation: true})
	for _, n := range c.Nodes() {
		c.WaitFor(n.Name, "SELECT "+view("MASTER_SESSION_ID")+" = 'db-1'")
		if got := c.Query(n.Name, "SELECT aurora_db_instance_identifier()"); got != n.Name {
			t.Errorf("%s calls itself %q", n.Name, got)
		}
		if got := c.Query(n.Name, "SELECT server_id FROM aurora_replica_status() WHERE last_update_timestamp IS NULL"); got != n.Name {
			t.Errorf("the row without a timestamp on %s is that of %q", n.Name, got)
		}
	}
	c.WaitFor("db-3", "SELECT count(*) = 3 FROM aurora_emu.heartbeat") // ticks, and they replicate

	c.Stop("db-1", Immediate)
	c.Promote("db-2")
	c.Rejoin("db-1")
	for _, n := range c.Nodes() {
		c.WaitFor(n.Name, "SELECT "+view("MASTER_SESSION_ID")+" = 'db-2'")
	}
	c.WaitFor("db-1", "SELECT seen > now() - interval '3 s' FROM aurora_emu.heartbeat WHERE server_id = 'db-1'")
}

func TestOverride(t *testing.T) {
	c := Start(t, Options{Nodes: []string{"db-1", "db-2"}, Emulation: true})
	c.Override("db-2", `[{"server_id":"ghost","session_id":"MASTER_SESSION_ID","age_ms":null}]`)
	if got := c.Query("db-2", view("MASTER_SESSION_ID")); got != "ghost" {
		t.Errorf("db-2 names %q, want ghost", got)
	}
	if got := c.Query("db-1", view("MASTER_SESSION_ID")); got != "db-1" {
		t.Errorf("db-1 names %q, want db-1", got)
	}
	c.Override("db-2", "")
	if got := c.Query("db-2", view("MASTER_SESSION_ID")); got != "db-1" {
		t.Errorf("db-2 names %q after the override, want db-1", got)
	}
}

// view is who has that session id, as text: "db-1", or "db-1,db-2" when two have.
func view(session string) string {
	return "(SELECT string_agg(server_id, ',' ORDER BY server_id) FROM aurora_replica_status() WHERE session_id = " + quote(session) + ")"
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
