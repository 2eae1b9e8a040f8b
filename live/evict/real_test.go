package evict

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/live/pooler"
	"github.com/poolwright/poolwright/test/pgbouncer"
	"github.com/poolwright/poolwright/test/pgcluster"
)

// kills is how often a process is killed at each command, per version. The figure of the issue is 20.
var kills = flag.Int("kills", 2, "how often a process is killed at each command of an eviction by real PgBouncers")

// admin are the credentials of the consoles.
var admin = pooler.Config{SSLMode: "disable", Credentials: func(context.Context) (string, string, error) {
	return pgbouncer.User, pgbouncer.Password, nil
}}

// bench is a world whose pods are real.
type bench struct {
	*world
	real  map[string]*pgbouncer.Process // by the pod's name
	users []*user
}

func newBench(t *testing.T, version, server string, pods ...string) *bench {
	t.Helper()
	b := &bench{world: newWorld(t, pooler.Version{}), real: map[string]*pgbouncer.Process{}}
	clear(b.pods)
	for _, name := range pods {
		p := pgbouncer.Start(t, pgbouncer.Options{Version: version, Databases: map[string]string{"*": server}, Settings: map[string]string{"listen_backlog": "4096"}})
		b.birth(name, name[:1]).ip = p.Host
		b.real[name] = p
	}
	return b
}

// consoles makes the consoles of a process real ones.
func consoles(p **process) func(*Config) {
	return func(c *Config) {
		c.Propagation = time.Second
		c.Console = func(ctx context.Context, address string) (Console, error) {
			console, err := pooler.Open(ctx, address, admin)
			if err != nil {
				return nil, err
			}
			return mortal{console, p}, nil
		}
	}
}

// mortal is a console whose process may die at any command.
type mortal struct {
	*pooler.Console
	process **process
}

func (m mortal) do(command func() error) error {
	var err error
	if dead := (*m.process).act(func() { err = command() }); dead != nil {
		return dead
	}
	return err
}

func (m mortal) Disable(ctx context.Context, d string) error {
	return m.do(func() error { return m.Console.Disable(ctx, d) })
}

func (m mortal) Enable(ctx context.Context, d string) error {
	return m.do(func() error { return m.Console.Enable(ctx, d) })
}

func (m mortal) Kill(ctx context.Context, d string) error {
	return m.do(func() error { return m.Console.Kill(ctx, d) })
}

func (m mortal) Resume(ctx context.Context, d string) error {
	return m.do(func() error { return m.Console.Resume(ctx, d) })
}

func (m mortal) Reconnect(ctx context.Context, d string) error {
	return m.do(func() error { return m.Console.Reconnect(ctx, d) })
}

func (m mortal) KillClients(ctx context.Context, ids []string) (gone int, err error) {
	err = m.do(func() error { gone, err = m.Console.KillClients(ctx, ids); return err })
	return gone, err
}

// run begins a process that will die at a command; negative: never.
func (b *bench) run(left int, executed bool) *process {
	var p *process
	p = b.begin(-1, false, func(c *Config) { consoles(&p)(c) })
	b.change(func() { p.left, p.executed = left, executed })
	return p
}

// user is a client that is connected, or about to be, the way the nodes route.
type user struct {
	bench    *bench
	database string
	n        int

	mu sync.Mutex
	// good are statements on an instance, cut the connections that ended there, refused the logins.
	good, cut, refused map[string]int
}

func (b *bench) populate(ctx context.Context, t *testing.T, n int) {
	var all sync.WaitGroup
	for i := range n {
		u := &user{bench: b, n: i, database: []string{"shop", `odd "name`}[i%2], good: map[string]int{}, cut: map[string]int{}, refused: map[string]int{}}
		b.users = append(b.users, u)
		all.Go(func() { u.live(ctx) })
	}
	t.Cleanup(all.Wait)
}

func (u *user) live(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		u.connect(ctx, tick)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// connect works over one connection until it breaks.
func (u *user) connect(ctx context.Context, tick *time.Ticker) {
	u.bench.mu.Lock()
	pods := u.bench.of(u.bench.routed)
	pod := pods[u.n/2%len(pods)]
	u.bench.mu.Unlock()
	c, err := pgconn.Connect(ctx, u.bench.real[pod.name].DSN(u.database))
	if err != nil {
		u.note(ctx, u.refused, pod.instance)
		return
	}
	defer func() { _ = c.Close(context.Background()) }()
	for {
		if err := c.Exec(ctx, "SELECT 1").Close(); err != nil {
			u.note(ctx, u.cut, pod.instance)
			return
		}
		u.note(ctx, u.good, pod.instance)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (u *user) note(ctx context.Context, what map[string]int, instance string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if ctx.Err() == nil {
		what[instance]++
	}
}

// all reports whether every user has something of an instance.
func (b *bench) all(what func(*user) map[string]int, instance string) bool {
	for _, u := range b.users {
		u.mu.Lock()
		n := what(u)[instance]
		u.mu.Unlock()
		if n == 0 {
			return false
		}
	}
	return true
}

func good(u *user) map[string]int { return u.good }

// reset begins the counts anew.
func (b *bench) reset() {
	for _, u := range b.users {
		u.mu.Lock()
		u.good, u.cut, u.refused = map[string]int{}, map[string]int{}, map[string]int{}
		u.mu.Unlock()
	}
}

// await looks until something is so.
func await(t *testing.T, what string, is func() bool) bool {
	late, again := time.After(30*time.Second), time.NewTicker(10*time.Millisecond)
	defer again.Stop()
	for !is() {
		select {
		case <-again.C:
		case <-late:
			t.Errorf("waited in vain for %s", what)
			return false
		}
	}
	return true
}

// isOver reports whether the entry is that of an instance, and over.
func (b *bench) isOver(to string) bool {
	b.mu.Lock()
	text := b.control["evictions"]
	b.mu.Unlock()
	e, err := live.ParseEviction(text)
	return err == nil && !e.Open() && e.To == to
}

// inspect reports what is blocked on the real poolers, who is left on an instance, and who has died.
func (b *bench) inspect(t *testing.T, from string) {
	for name, p := range b.real {
		if !p.Running() {
			t.Errorf("%s has ended:\n%s", name, p.Log())
			continue
		}
		c, err := pooler.Open(context.Background(), p.Addr(), admin)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		databases, err1 := c.Databases(context.Background())
		clients, err2 := c.Clients(context.Background())
		c.Close()
		if err1 != nil || err2 != nil {
			t.Errorf("%s: %v, %v", name, err1, err2)
		}
		for _, d := range databases {
			if d.Paused || d.Disabled {
				t.Errorf("%s is left with %+v", name, d)
			}
		}
		if b.pods[name].instance == from && len(clients) > 0 {
			t.Errorf("%d clients are left on %s", len(clients), name)
		}
	}
}

// server is a PostgreSQL as a database's connection string.
func server(t *testing.T) string {
	t.Helper()
	db := pgcluster.Start(t, pgcluster.Options{Settings: []string{"max_connections = 400"}})
	return fmt.Sprintf("host=%s port=%d dbname=postgres pool_size=2", db.Primary().Host, db.Primary().Port)
}

func TestRealPgBouncersLoseEveryClientAndRefuseNoneOfTheNew(t *testing.T) {
	db := server(t)
	for _, version := range pgbouncer.Versions() {
		t.Run(version, func(t *testing.T) {
			b := newBench(t, version, db, "a-1", "a-2", "b-1", "b-2")
			p := b.run(-1, false)
			defer p.stop()
			ctx, cancel := context.WithCancel(t.Context())
			b.populate(ctx, t, 20)
			defer cancel()
			await(t, "every client to be on a", func() bool { return b.isOver("a") && b.all(good, "a") })
			b.reset()
			begun := time.Now()
			b.move("b", 300*time.Millisecond)
			await(t, "every client to be on b", func() bool { return b.all(good, "b") })
			t.Logf("all on the new writer after %v", time.Since(begun))
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

func TestRealPgBouncersWhenTheProcessIsKilledAtEachCommand(t *testing.T) {
	const commands = 10 // of one pod with two databases: the entry, 2 DISABLE, up to 2 KILL and 2 RESUME, 2 RECONNECT, 2 ENABLE, the entry
	db := server(t)
	for _, version := range pgbouncer.Versions() {
		t.Run(version, func(t *testing.T) {
			var trials sync.WaitGroup
			var died atomic.Int64
			ctx, cancel := context.WithCancel(t.Context())
			for left := range commands {
				b := newBench(t, version, db, "a-1", "b-1")
				b.populate(ctx, t, 4)
				b.refused["delete pods"] = rbac("delete pods/a-1") // a machine that is busy is no reason
				trials.Go(func() {
					for n := range *kills {
						sides := []string{"a", "b"}
						if n%2 == 1 {
							slices.Reverse(sides)
						}
						if b.trial(t, sides[0], sides[1], left, n/2%2 == 1) {
							died.Add(1)
						}
					}
				})
			}
			trials.Wait()
			cancel()
			if died.Load() < int64(commands**kills*7/10) {
				t.Errorf("only %d processes died", died.Load())
			}
			t.Logf("%d processes were killed at %d commands", died.Load(), commands)
		})
	}
}

// trial is one failover in which the process dies at a command, and another comes. It reports whether one died.
func (b *bench) trial(t *testing.T, from, to string, left int, executed bool) bool {
	first := b.run(-1, false)
	await(t, "every client to be on "+from, func() bool { return b.isOver(from) && b.all(good, from) })
	b.reset()
	b.change(func() { first.left, first.executed = left, executed })
	b.move(to, 100*time.Millisecond)
	await(t, "a death", func() bool { return first.isDead() || b.isOver(to) })
	dead := first.isDead()
	first.stop()
	second := b.run(-1, false)
	if !await(t, "the end", func() bool { return b.isOver(to) && b.all(good, to) }) {
		t.Errorf("killed at command %d (done: %v), and then: %+v", left, executed, second.runner.State())
	}
	second.stop()
	b.inspect(t, from)
	return dead
}
