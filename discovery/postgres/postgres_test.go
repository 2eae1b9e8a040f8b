package postgres

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/discovery/session"
	"github.com/poolwright/poolwright/test/pgcluster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A story on real PostgreSQL 15, asked by a role without privileges.
func TestOnRealServers(t *testing.T) {
	bed := pgcluster.Start(t, pgcluster.Options{Nodes: []string{"a", "b", "c"}})
	var cut atomic.Bool // the network between us and b
	c := config(bed, pgcluster.User, pgcluster.Password)
	c.Session.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if cut.Load() && address == bed.Node("b").Addr() {
			return nil, syscall.EHOSTUNREACH
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	o := New(c)
	defer o.Close()
	step := func(what, want string) discovery.Observation {
		t.Helper()
		t.Log(what)
		return expect(t, o, want)
	}

	first := step("three servers", "a=writer b=reader c=reader")
	if a := answer(first, "a"); a.Timeline != 1 || a.Name != "a" || a.Endpoint != bed.Node("a").Addr() {
		t.Errorf("got %+v", a)
	}

	bed.Set("a", "default_transaction_read_only = on")
	o.Sessions.Close()
	step("the primary is set read-only", "a=unknown b=reader c=reader doubt:no-writer doubt:mixed-answer a")
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
	step("the primary is away", "a=unknown(unreachable) b=reader c=reader doubt:no-writer")
	bed.Promote("b")
	promoted := step("b is promoted", "a=unknown(unreachable) b=writer c=reader")
	if b, all := answer(promoted, "b"), discovery.Merge(promoted); b.Timeline != 2 || all.Timeline != 2 {
		t.Errorf("at once after its promotion b is on timeline %d, the topology on %d", b.Timeline, all.Timeline)
	}

	bed.StartNode("a")
	step("F01 the old primary comes back as one", "a=unknown b=writer c=reader note:stale-claim a")
	bed.WaitFor("c", "SELECT received_tli = 2 FROM pg_stat_wal_receiver")
	cut.Store(true)
	o.Sessions.Close()
	step("we are cut off from b, c is not: the old primary is not the only one", "a=unknown b=unknown(unreachable) c=reader doubt:no-writer a note:stale-claim a")
	cut.Store(false)
	bed.Rejoin("a")
	step("a is back as a standby", "a=reader b=writer c=reader")

	drain(o)
	bed.Freeze("b") // the kernel goes on answering for it, so only a sign of life tells
	select {
	case <-o.Lost():
	case <-time.After(20 * time.Second):
		t.Error("the loss of b is not told")
	}
	bed.Thaw("b")
	step("b goes on", "a=reader b=writer c=reader")
}

func TestOneServer(t *testing.T) {
	bed := pgcluster.Start(t, pgcluster.Options{Nodes: []string{"a"}})

	t.Run("the wrong password", func(t *testing.T) {
		const wrong = "wrong-secret"
		o := New(config(bed, pgcluster.User, wrong))
		defer o.Close()
		a := answer(expect(t, o, "a=unknown(denied) doubt:blind"), "a")
		if !strings.Contains(a.Detail, "28P01") || strings.Contains(a.Detail, wrong) {
			t.Error(a.Detail)
		}
	})

	t.Run("a host that hangs keeps nobody's answer, and is not forgotten", func(t *testing.T) {
		silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, and nobody reads
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		c := config(bed, pgcluster.User, pgcluster.Password)
		c.Session.Timeout = 1500 * time.Millisecond
		at := silent.Addr().(*net.TCPAddr)
		c.Hosts["x"] = session.Address{Host: at.IP.String(), Port: at.Port}
		o := New(c)
		defer o.Close()
		for range 2 {
			expect(t, o, "a=writer x=unknown(timeout)")
		}
	})

	t.Run("the timeline may not be seen", func(t *testing.T) {
		bed.Exec("a", "REVOKE EXECUTE ON FUNCTION pg_control_checkpoint() FROM PUBLIC")
		o := New(config(bed, pgcluster.User, pgcluster.Password))
		defer o.Close()
		for range 2 {
			if a := answer(expect(t, o, "a=writer"), "a"); a.Timeline != 0 {
				t.Errorf("timeline %d", a.Timeline)
			}
		}
	})
}

func config(bed *pgcluster.Cluster, user, password string) Config {
	c := Config{Cluster: "pg", Hosts: map[string]session.Address{}, Session: session.Config{
		SSLMode: "disable", Timeout: 20 * time.Second,
		Credentials: func(context.Context, string, int) (string, string, error) { return user, password, nil },
	}}
	for _, n := range bed.Nodes() {
		c.Hosts[n.Name] = session.Address{Host: n.Host, Port: n.Port}
	}
	return c
}

// drain takes a loss that an earlier step has caused.
func drain(o *Observer) {
	select {
	case <-o.Lost():
	default:
	}
}

func answer(o discovery.Observation, name string) discovery.Answer {
	for _, a := range o.Answers {
		if a.Asked == name {
			return a
		}
	}
	return discovery.Answer{}
}

func look(t *testing.T, o *Observer) (string, discovery.Observation) {
	t.Helper()
	seen := o.Observe(t.Context())
	topology := discovery.Merge(seen)
	var parts []string
	for _, i := range topology.Instances {
		word := i.Name + "=" + i.Role.String()
		if i.Probe != discovery.None {
			word += "(" + i.Probe.String() + ")"
		}
		parts = append(parts, word)
	}
	for _, d := range topology.Doubts {
		parts = append(parts, "doubt:"+strings.TrimSpace(d.Code.String()+" "+d.Instance))
	}
	for _, n := range topology.Notes {
		if n.Code != discovery.NoAnswer {
			parts = append(parts, "note:"+strings.TrimSpace(n.Code.String()+" "+n.Instance))
		}
	}
	return strings.Join(parts, " "), seen
}

func expect(t *testing.T, o *Observer, want string) discovery.Observation {
	t.Helper()
	got, seen := look(t, o)
	if got != want {
		t.Errorf("\n got %s\nwant %s\n%s", got, want, written(t, seen))
	}
	return seen
}

func written(t *testing.T, seen discovery.Observation) string {
	t.Helper()
	text, err := discovery.WriteSnapshot(seen)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
