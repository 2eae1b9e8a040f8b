package evict

import (
	"context"
	"flag"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/live/pooler"
	"github.com/poolwright/poolwright/test/pgbouncer"
	"github.com/poolwright/poolwright/test/pgcluster"
)

// kills is how often a process is killed at each command, per version. The figure of the issue is 20.
var kills = flag.Int("kills", 1, "how often a process is killed at each command of an eviction by real PgBouncers")

func TestRealPgBouncersLoseEveryClientAndRefuseNoneOfTheNew(t *testing.T) {
	t.Parallel()
	db := server(t)
	for _, version := range pgbouncer.Versions() {
		t.Run(version, func(t *testing.T) {
			b := newBench(t, version, db, "a-1", "a-2", "b-1", "b-2")
			p := b.run()
			defer p.stop()
			ctx, cancel := context.WithCancel(t.Context())
			b.populate(ctx, t, 20)
			defer cancel()
			await(t, "every client to be on a", func() bool { return b.isOver("a") && b.all(good, "a") })
			b.reset()
			begun := time.Now()
			b.change(func() { b.refused["list"] = errSilent }) // the margin begins when everybody is back, however busy the machine is
			b.move("b", 300*time.Millisecond)
			await(t, "every client to be on b", func() bool { return b.all(good, "b") })
			t.Logf("all on the new writer after %v", time.Since(begun))
			b.change(func() { delete(b.refused, "list") })
			await(t, "the end", func() bool { return b.isOver("b") })
			for i, u := range b.users {
				u.mu.Lock()
				if u.cut["a"] != 1 || u.cut["b"] > 0 || u.refused["b"] > 0 {
					t.Errorf("client %d: cut %v, refused %v", i, u.cut, u.refused)
				}
				u.mu.Unlock()
			}
			if e := b.entry(); e.Evicted != 20 || e.Returned != 20 {
				t.Errorf("the entry is %v", e)
			}
			b.inspect(t, "a")
		})
	}
}

// slowly delays a connection's second message, the first of its login, until it is let go.
type slowly struct {
	net.Conn
	writes int
	after  <-chan struct{}
}

func (s *slowly) Write(b []byte) (int, error) {
	if s.writes++; s.writes == 2 {
		<-s.after
	}
	return s.Conn.Write(b)
}

// TestRealPgBouncersHideADatabaseWhoseLoginTookLong: who got in that way is cut like everybody else.
func TestRealPgBouncersHideADatabaseWhoseLoginTookLong(t *testing.T) {
	t.Parallel()
	db := server(t)
	for _, version := range pgbouncer.Versions() {
		t.Run(version, func(t *testing.T) {
			b := newBench(t, version, db, "a-1", "b-1")
			c, err := pooler.Open(t.Context(), b.real["a-1"].Addr(), patient)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			lists := func() bool {
				found, err := c.Databases(t.Context())
				if err != nil {
					t.Error(err)
				}
				return len(found) > 0
			}
			login := make(chan struct{})
			config, err := pgconn.ParseConfig(b.real["a-1"].DSN("shop"))
			if err != nil {
				t.Fatal(err)
			}
			config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
				return &slowly{Conn: conn, after: login}, err
			}
			in := make(chan *pgconn.PgConn, 1)
			go func() {
				conn, err := pgconn.ConnectConfig(t.Context(), config)
				if err != nil {
					t.Error(err)
				}
				in <- conn
			}()
			await(t, "the database to be there", func() bool { // which lasts a third of a second: it may be hidden when it is looked at
				return strings.Contains(b.real["a-1"].Log(), "registered new auto-database: ")
			})
			await(t, "the database to be hidden", func() bool { return !lists() })
			found, err := c.Clients(t.Context())
			if err != nil || len(found) > 0 {
				t.Errorf("who is not in yet is shown: %v, %v", found, err)
			}
			close(login)
			conn := <-in
			if found, err = c.Clients(t.Context()); lists() || err != nil || len(found) != 1 {
				t.Errorf("the database is not hidden, or nobody is in it: %v, %v", found, err)
			}
			p := b.run()
			defer p.stop()
			await(t, "the first entry", func() bool { return b.isOver("a") })
			b.move("b", 0)
			await(t, "the end", func() bool { return b.isOver("b") })
			if err := conn.Exec(t.Context(), "SELECT 1").Close(); err == nil {
				t.Error("the client is still there")
			}
			b.inspect(t, "a")
		})
	}
}

// TestRealPgBouncersForgetThatTheServerWasAStandby: libpq decides target_session_attrs by what the pooler repeats, also of a
// database that is hidden because nobody uses it any more.
func TestRealPgBouncersForgetThatTheServerWasAStandby(t *testing.T) {
	t.Parallel()
	db := pgcluster.Start(t, pgcluster.Options{Nodes: []string{"a", "b"}})
	benches := map[string]*bench{}
	for _, version := range pgbouncer.Versions() {
		b := newBench(t, version, through(db.Node("a")), "a-1")
		b.bear(t, "b-1", version, through(db.Node("b")))
		b.expectStandby(t, "on")
		benches[version] = b
	}
	for _, b := range benches {
		b.awaitHidden(t)
	}
	db.Promote("b")
	for version, b := range benches {
		t.Run(version, func(t *testing.T) {
			b.expectStandby(t, "on") // which is why
			b.awaitHidden(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b.populate(ctx, t, 2)
			p := b.run()
			defer p.stop()
			await(t, "every client to be on a", func() bool { return b.isOver("a") && b.all(good, "a") })
			b.move("b", 0)
			await(t, "the end", func() bool { return b.isOver("b") })
			b.expectStandby(t, "off")
		})
	}
}

// awaitHidden waits until b lists no database.
func (b *bench) awaitHidden(t *testing.T) {
	t.Helper()
	c, err := pooler.Open(t.Context(), b.real["b-1"].Addr(), patient)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	await(t, "the database to be hidden", func() bool {
		found, err := c.Databases(t.Context())
		return err == nil && len(found) == 0
	})
}

// expectStandby asks what a new client of b is told before any query.
func (b *bench) expectStandby(t *testing.T, want string) {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), b.real["b-1"].DSN("shop"))
	if err != nil {
		t.Fatal(err)
	}
	if got := conn.ParameterStatus("in_hot_standby"); got != want {
		t.Errorf("in_hot_standby is %q, want %q", got, want)
	}
	_ = conn.Close(t.Context())
}

// TestRealPgBouncersWhenTheProcessIsKilledAtEachCommand goes through the commands of one pod with two databases: the entry, up
// to 2 DISABLE, 2 KILL and 2 RESUME, 2 RECONNECT, 2 ENABLE, the entry. Their order is the business of TestF06KilledAtEachCommand.
func TestRealPgBouncersWhenTheProcessIsKilledAtEachCommand(t *testing.T) {
	t.Parallel()
	const commands, benches = 10, 5
	db := server(t)
	for _, version := range pgbouncer.Versions() {
		t.Run(version, func(t *testing.T) {
			var trials sync.WaitGroup
			var died atomic.Int64
			ctx, cancel := context.WithCancel(t.Context())
			for i := range benches {
				b := newBench(t, version, db, "a-1", "b-1")
				b.populate(ctx, t, 2)
				b.refused["delete pods"] = rbac("delete pods/a-1") // a machine that is busy is no reason
				trials.Go(func() {
					sides := []string{"a", "b"}
					for n := range commands / benches * *kills {
						command := (i + n*benches) % commands
						if b.trial(t, sides[n%2], sides[(n+1)%2], command, []fate{killed, killedAfter}[(n+i)/2%2]) {
							died.Add(1)
						}
					}
				})
			}
			trials.Wait()
			cancel()
			if n := int(died.Load()); n < commands**kills*7/10 {
				t.Errorf("only %d processes were killed", n)
			}
			t.Logf("%d processes were killed, at %d commands", died.Load(), commands)
		})
	}
}

// trial is one failover in which the process is killed at a command, and another comes. It reports whether one was.
func (b *bench) trial(t *testing.T, from, to string, command int, f fate) bool {
	first := b.run()
	await(t, "every client to be on "+from, func() bool { return b.isOver(from) && b.all(good, from) })
	b.reset()
	b.doom(first, command, f)
	b.move(to, 100*time.Millisecond)
	await(t, "a death", func() bool { return first.isDead() || b.isOver(to) })
	dead := first.isDead()
	if !dead {
		first.stop()
	}
	second := b.run()
	if !await(t, "the end", func() bool { return b.isOver(to) && b.all(good, to) }) {
		t.Errorf("%s, command %d, and then: %+v", f, command, second.runner.State())
	}
	first.stop()
	second.stop()
	b.inspect(t, from)
	return dead
}
