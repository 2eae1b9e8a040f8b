package evict

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/live/pooler"
)

// console is a connection of the process to the pooler at an address.
func (p *process) console(ctx context.Context, address string) (Console, error) {
	w := p.world
	if w.open != nil {
		return w.open(ctx, p, address)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range w.pods {
		if net.JoinHostPort(pod.ip, "6432") != address {
			continue
		}
		c := &fakeConsole{process: p, pod: pod, life: pod.life, told: map[string]bool{}}
		return c, c.answers(ctx)
	}
	return nil, &pooler.Error{Fault: pooler.Unreachable, Detail: "nobody is there"}
}

// fakeConsole is a connection to the admin console.
type fakeConsole struct {
	process *process
	pod     *fakePod
	life    int
	closed  bool
	told    map[string]bool // DISABLE was answered
}

// answers is why there is no answer. It is called with the world locked, and unlocks it while nothing is said.
func (c *fakeConsole) answers(ctx context.Context) error {
	switch {
	case c.closed:
		c.pod.world.t.Error("a console was used after it was closed")
	case c.process.dead:
		return errDead
	case c.pod.gone || c.pod.down || c.life != c.pod.life:
		return &pooler.Error{Fault: pooler.Unreachable, Detail: "the connection broke"}
	case errors.Is(c.pod.fault, errHangs):
		c.pod.world.mu.Unlock()
		<-ctx.Done()
		c.pod.world.mu.Lock()
		return &pooler.Error{Fault: pooler.Timeout, Detail: "no answer in time"}
	}
	return c.pod.fault
}

func (c *fakeConsole) Version() pooler.Version { return c.pod.version }

func (c *fakeConsole) Close() {
	c.pod.world.mu.Lock()
	defer c.pod.world.mu.Unlock()
	c.closed = true
}

func (c *fakeConsole) Databases(ctx context.Context) (found []pooler.Database, _ error) {
	c.pod.world.mu.Lock()
	defer c.pod.world.mu.Unlock()
	if err := c.answers(ctx); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(c.pod.databases)) {
		d := c.pod.databases[name]
		if d.hidden() {
			continue
		}
		found = append(found, pooler.Database{Name: name, Paused: d.paused, Disabled: d.disabled})
	}
	return found, nil
}

func (c *fakeConsole) Clients(ctx context.Context) ([]pooler.Client, error) {
	c.pod.world.mu.Lock()
	defer c.pod.world.mu.Unlock()
	if err := c.answers(ctx); err != nil {
		return nil, err
	}
	found := slices.Clone(c.pod.clients)
	if !killsClients(c.pod.version) {
		for i := range found {
			found[i].ID = ""
		}
	}
	return found, nil
}

// command does something to a database, and checks what must never be.
func (c *fakeConsole) command(ctx context.Context, verb, database string, do func(d *fakeDatabase, now time.Time)) error {
	w := c.pod.world
	var failure error
	dead := c.process.act(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if failure = c.answers(ctx); failure != nil {
			return
		}
		w.log = append(w.log, verb+" "+c.pod.name+" "+database)
		if database == "" || database == "pgbouncer" {
			w.t.Errorf("%s of %q", verb, database)
		}
		if c.pod.fixed && c.pod.databases[database] == nil {
			failure = &pooler.Error{Fault: pooler.Refused, Code: "08P01", Detail: "no such database: " + database}
			return
		}
		d := c.pod.database(database)
		if c.pod.instance == w.wanted && time.Now().After(w.wantedAt) && !slices.Contains([]string{"ENABLE", "RESUME", "RECONNECT"}, verb) {
			w.t.Errorf("%s on %s, which is the writer", verb, c.pod.name)
		}
		do(d, time.Now())
	})
	return cmp.Or(dead, failure)
}

func (c *fakeConsole) Disable(ctx context.Context, database string) error {
	err := c.command(ctx, "DISABLE", database, func(d *fakeDatabase, now time.Time) {
		if !strings.Contains(c.pod.world.control["evictions"], `"from":["`) || strings.Contains(c.pod.world.control["evictions"], `"done"`) {
			c.pod.world.t.Errorf("DISABLE without an open entry: %s", c.pod.world.control["evictions"])
		}
		if !d.disabled {
			d.disabled, d.since = true, now
		}
	})
	c.told[database] = err == nil
	return err
}

func (c *fakeConsole) Enable(ctx context.Context, database string) error {
	return c.command(ctx, "ENABLE", database, func(d *fakeDatabase, now time.Time) {
		if now.Sub(d.killed) < settleTime {
			c.pod.world.t.Errorf("ENABLE %v after KILL", now.Sub(d.killed))
		}
		if d.disabled {
			d.refused += now.Sub(d.since)
		}
		d.disabled = false
	})
}

func (c *fakeConsole) Kill(ctx context.Context, database string) error {
	return c.command(ctx, "KILL", database, func(d *fakeDatabase, now time.Time) {
		if !c.told[database] || !d.disabled {
			c.pod.world.t.Errorf("KILL %s on %s without DISABLE", database, c.pod.name)
		}
		d.paused, d.killed, d.freed = true, now, true
		c.pod.clients = slices.DeleteFunc(c.pod.clients, func(x pooler.Client) bool { return x.Database == database })
	})
}

func (c *fakeConsole) Resume(ctx context.Context, database string) error {
	return c.command(ctx, "RESUME", database, func(d *fakeDatabase, _ time.Time) { d.paused = false })
}

func (c *fakeConsole) Reconnect(ctx context.Context, database string) error {
	return c.command(ctx, "RECONNECT", database, func(*fakeDatabase, time.Time) {
		if w := c.pod.world; c.pod.instance != w.wanted && time.Now().After(w.wantedAt) {
			c.pod.world.t.Errorf("RECONNECT on %s", c.pod.name)
		}
	})
}

func (c *fakeConsole) KillClients(ctx context.Context, ids []string) (gone int, _ error) {
	w := c.pod.world
	if !killsClients(c.pod.version) {
		w.t.Errorf("KILL_CLIENT on %v", c.pod.version)
	}
	var failure error
	dead := c.process.act(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if failure = c.answers(ctx); failure != nil {
			return
		}
		if c.pod.instance == w.wanted && time.Now().After(w.wantedAt) {
			w.t.Errorf("KILL_CLIENT on %s, which is the writer", c.pod.name)
		}
		w.log = append(w.log, "KILL_CLIENT "+c.pod.name)
		c.pod.clients = slices.DeleteFunc(c.pod.clients, func(x pooler.Client) bool { return slices.Contains(ids, x.ID) })
		gone = len(ids)
	})
	return gone, cmp.Or(dead, failure)
}
