package evict

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/live/pooler"
	"github.com/poolwright/poolwright/test/pgbouncer"
	"github.com/poolwright/poolwright/test/pgcluster"
)

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
	b.open = realConsole
	clear(b.pods)
	for _, name := range pods {
		b.bear(t, name, version, server)
	}
	return b
}

// bear starts a real pod, whose instance is the first letter of its name.
func (b *bench) bear(t *testing.T, name, version, server string) {
	t.Helper()
	p := pgbouncer.Start(t, pgbouncer.Options{
		Version: version, Databases: map[string]string{"*": server},
		Settings: map[string]string{"listen_backlog": "4096", "server_idle_timeout": "1"},
	})
	b.birth(name, name[:1]).ip = p.Host
	b.real[name] = p
}

// realConsole connects a process to a real console.
func realConsole(ctx context.Context, p *process, address string) (Console, error) {
	if p.isDead() {
		return nil, errDead
	}
	console, err := pooler.Open(ctx, address, admin)
	if err != nil {
		return nil, err
	}
	return mortal{console, p}, nil
}

// mortal is a console whose process may die at any command.
type mortal struct {
	*pooler.Console
	process *process
}

func (m mortal) do(command func() error) error {
	var err error
	if dead := m.process.act(func() { err = command() }); dead != nil {
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

// run begins a process.
func (b *bench) run() *process {
	return b.begin(func(c *Config) { c.Propagation = time.Second })
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
	tick := time.NewTicker(100 * time.Millisecond)
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
		u.note(ctx, refused, pod.instance)
		return
	}
	defer func() { _ = c.Close(context.Background()) }()
	for {
		if err := c.Exec(ctx, "SELECT 1").Close(); err != nil {
			u.note(ctx, cutOff, pod.instance)
			return
		}
		u.note(ctx, good, pod.instance)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// note counts something; which map it is in is looked up with the user locked, for reset puts another there.
func (u *user) note(ctx context.Context, what func(*user) map[string]int, instance string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if ctx.Err() == nil {
		what(u)[instance]++
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

func good(u *user) map[string]int    { return u.good }
func cutOff(u *user) map[string]int  { return u.cut }
func refused(u *user) map[string]int { return u.refused }

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

// patient are the credentials for looking at a pooler on a machine that is busy.
var patient = pooler.Config{SSLMode: admin.SSLMode, Credentials: admin.Credentials, Timeout: 30 * time.Second}

// inspect reports what is blocked on the real poolers, who is left on an instance, and who has died.
func (b *bench) inspect(t *testing.T, from string) {
	for name, p := range b.real {
		if !p.Running() {
			t.Errorf("%s has ended:\n%s", name, p.Log())
			continue
		}
		c, err := pooler.Open(context.Background(), p.Addr(), patient)
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
		if strings.HasPrefix(name, from) && len(clients) > 0 {
			t.Errorf("%d clients are left on %s", len(clients), name)
		}
	}
}

// server is a PostgreSQL as a database's connection string.
func server(t *testing.T) string {
	t.Helper()
	db := pgcluster.Start(t, pgcluster.Options{Settings: []string{"max_connections = 400"}})
	return through(db.Primary())
}

func through(n *pgcluster.Node) string {
	return fmt.Sprintf("host=%s port=%d dbname=postgres pool_size=2", n.Host, n.Port)
}
