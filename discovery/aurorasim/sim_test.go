package aurorasim_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/poolwright/poolwright/discovery/aurorasim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// probe asks a node for everything a topology needs: about itself, then about the others.
const probe = `SELECT aurora_db_instance_identifier(), pg_is_in_recovery(), current_setting('transaction_read_only'),
	current_setting('default_transaction_read_only')`

// view is the second half.
const view = `SELECT server_id, session_id, (extract(epoch FROM clock_timestamp() - last_update_timestamp) * 1000)::int8,
	replica_lag_in_msec FROM aurora_replica_status()`

func start(t *testing.T, cfg aurorasim.Config) *aurorasim.Cluster {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "demo"
	}
	if cfg.Instances == nil {
		cfg.Instances = []string{"a", "b", "c"}
	}
	c, err := aurorasim.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// within bounds a test that waits for an event; it is never what decides a passing one.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func dial(ctx context.Context, c *aurorasim.Cluster, host string, change ...func(*pgx.ConnConfig)) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig("host=" + host + " port=5432 user=app dbname=app sslmode=disable password=secret")
	if err != nil {
		return nil, err
	}
	cfg.LookupFunc, cfg.DialFunc = c.Lookup, c.Dial
	for _, f := range change {
		f(cfg)
	}
	return pgx.ConnectConfig(ctx, cfg)
}

func connect(t *testing.T, c *aurorasim.Cluster, instance string, change ...func(*pgx.ConnConfig)) *pgx.Conn {
	t.Helper()
	conn, err := dial(within(t), c, c.Host(instance), change...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// row is a row of a view, -1 for NULL.
type row struct {
	ID, Session string
	Age         int64
	Lag         float64
}

func rowsOf(t *testing.T, conn *pgx.Conn) []row {
	t.Helper()
	rows, err := conn.Query(within(t), view)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (row, error) {
		var id, session string
		var age *int64
		var lag *float64
		err := r.Scan(&id, &session, &age, &lag)
		return row{id, role(session), value(age), value(lag)}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func role(session string) string {
	if session == "MASTER_SESSION_ID" {
		return "M"
	}
	return "R"
}

func value[T int64 | float64](p *T) T {
	if p == nil {
		return -1
	}
	return *p
}

// word is what a node says of itself.
type word struct {
	Name                      string
	InRecovery                bool
	ReadOnly, DefaultReadOnly string
}

func wordOf(t *testing.T, conn *pgx.Conn) (w word) {
	t.Helper()
	if err := conn.QueryRow(within(t), probe).Scan(&w.Name, &w.InRecovery, &w.ReadOnly, &w.DefaultReadOnly); err != nil {
		t.Fatal(err)
	}
	return w
}

// still is a clock that stands, so that ages are exact.
func still() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) }

func TestAHealthyClusterAnswersAsAuroraDoes(t *testing.T) {
	c := start(t, aurorasim.Config{Now: still})
	for instance, want := range map[string]struct {
		word word
		rows []row
	}{
		"a": {word{"a", false, "off", "off"}, []row{{"a", "M", -1, -1}, {"b", "R", 100, 20}, {"c", "R", 100, 20}}},
		"b": {word{"b", true, "on", "off"}, []row{{"a", "M", 100, -1}, {"b", "R", -1, 20}, {"c", "R", 100, 20}}},
	} {
		conn := connect(t, c, instance)
		if diff := cmp.Diff(want.word, wordOf(t, conn)); diff != "" {
			t.Errorf("%s of itself (-want +got):\n%s", instance, diff)
		}
		if diff := cmp.Diff(want.rows, rowsOf(t, conn)); diff != "" {
			t.Errorf("view of %s (-want +got):\n%s", instance, diff)
		}
	}
}

func TestKilledWriterIsReplacedAndComesBackAsReader(t *testing.T) {
	c := start(t, aurorasim.Config{FailoverDelay: 20 * time.Millisecond, RestartDelay: 60 * time.Millisecond})
	old := connect(t, c, "a")
	if err := c.Kill("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Exec(within(t), "select 1"); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a session of the killed writer: %v, want a reset", err)
	}
	if _, err := dial(within(t), c, c.Host("a")); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("connecting to the killed writer: %v, want connection refused", err)
	}
	if err := c.Wait(within(t), func(s aurorasim.State) bool { return s.Writer == "b" && s.Instances[0].Up }); err != nil {
		t.Fatal(err)
	}
	if got, want := wordOf(t, connect(t, c, "a")), (word{"a", true, "on", "off"}); got != want {
		t.Errorf("the old writer says %+v, want %+v", got, want)
	}
	if got, want := wordOf(t, connect(t, c, "b")), (word{"b", false, "off", "off"}); got != want {
		t.Errorf("the new writer says %+v, want %+v", got, want)
	}
}
