package aurora

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/discovery/session"
	"github.com/poolwright/poolwright/test/pgcluster"
)

// A story on real PostgreSQL 15 with the emulation of testdata, over TLS, asked by a role without privileges.
func TestOnRealServers(t *testing.T) {
	bed := pgcluster.Start(t, pgcluster.Options{Nodes: []string{"a", "b", "c"}, Emulation: true, TLS: true})
	hosts := map[string]session.Address{}
	for _, n := range bed.Nodes() {
		hosts[n.Name] = session.Address{Host: n.Host, Port: n.Port}
	}
	o := New(Config{
		Cluster: "pg", Domain: "nowhere.invalid", Writer: hosts["a"], Reader: hosts["b"], Hosts: hosts,
		Session: session.Config{
			SSLMode: "verify-full", RootCert: bed.CAFile, Timeout: 20 * time.Second,
			Credentials: func(context.Context, string, int) (string, string, error) {
				return pgcluster.User, pgcluster.Password, nil
			},
		},
	})
	defer o.Close()
	step := func(what, want string) {
		t.Helper()
		t.Log(what)
		seen := expect(t, o, want)
		if text := written(t, seen); strings.Contains(text, pgcluster.Password) {
			t.Errorf("the password is in\n%s", text)
		}
	}

	step("three servers", "a=writer b=reader c=reader")

	bed.Override("c", rows("a:M@30000", "b:M@1000", "c:R@null"))
	step("B03 a reader's view alone never moves the writer", "a=writer b=reader c=reader")
	bed.Override("c", `[]`)
	step("B08 a reader without rows", "a=writer b=reader c=reader(broken) note:unusable-view c")
	bed.Override("a", `[]`)
	step("B08 the writer without rows", "a=unknown(broken) b=reader c=reader(broken) doubt:no-rows a doubt:no-rows c")
	bed.Override("a", `[{"error": "no topology today"}]`)
	bed.Override("c", "")
	step("B08 a query error at the writer", "a=unknown(broken) b=reader c=reader doubt:writer-unproven a")
	bed.Override("a", rows("a:M@null", "b:R@500", "b:R@700", "c:R@500"))
	step("B08 one id twice", "a=unknown(broken) b=reader c=reader doubt:duplicate-id a")
	bed.Override("a", rows("a:M@null", ":R@500", "b:R@500", "c:R@500"))
	step("B08 an empty id", "a=unknown(broken) b=reader c=reader doubt:empty-id a")
	bed.Override("a", rows("a:M@null", "b:R@500", "c:R@500", "old:R@3600000"))
	step("B06 an old row", "a=writer b=reader c=reader note:stale-row old")
	bed.Override("a", "")

	bed.Set("a", "default_transaction_read_only = on")
	o.Sessions.Close() // a setting of the file reaches new transactions of old sessions too, but in its own time
	step("the writer is set read-only", "a=unknown b=reader c=reader doubt:mixed-answer a")
	bed.Set("a")
	o.Sessions.Close()
	step("and is not any more", "a=writer b=reader c=reader")

	drain(o)
	bed.Stop("a", pgcluster.Immediate)
	select {
	case <-o.Lost():
	case <-time.After(20 * time.Second):
		t.Error("the loss of a is not told")
	}
	for _, standby := range []string{"b", "c"} {
		bed.WaitFor(standby, "SELECT count(*) = 0 FROM pg_stat_wal_receiver WHERE status = 'streaming'")
	}
	step("B08 nobody is the writer", "a=reader(unreachable) b=reader c=reader doubt:no-writer")
	bed.Promote("b")
	bed.WaitFor("c", "SELECT count(*) = 1 FROM pg_stat_wal_receiver WHERE status = 'streaming'")
	step("b is promoted", "a=reader(unreachable) b=writer c=reader")
	bed.Rejoin("a")
	step("a is back as a standby", "a=reader b=writer c=reader")
	if at := discovery.Merge(o.Observe(t.Context())).Instances[1]; at.Host != hosts["b"].Host || at.Port != hosts["b"].Port {
		t.Errorf("b is at %s:%d", at.Host, at.Port)
	}
}

// drain takes a loss that an earlier step has caused.
func drain(o *Observer) {
	select {
	case <-o.Lost():
	default:
	}
}

// rows is an answer for the emulation, from id:role@milliseconds.
func rows(cells ...string) string {
	var out []string
	for _, c := range cells {
		head, age, _ := strings.Cut(c, "@")
		id, role, _ := strings.Cut(head, ":")
		session := "session-" + id
		if role == "M" {
			session = discovery.MasterSession
		}
		out = append(out, fmt.Sprintf(`{"server_id": %q, "session_id": %q, "age_ms": %s, "replica_lag_in_msec": null}`, id, session, age))
	}
	return "[" + strings.Join(out, ", ") + "]"
}
