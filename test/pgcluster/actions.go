package pgcluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// Promote makes a standby the primary and the other running standbys its
// followers. It returns when it accepts writes and they stream from it. The old
// primary is left alone: when it still runs, there are two that call themselves
// writer.
func (c *Cluster) Promote(name string) {
	c.t.Helper()
	c.check(c.promote(c.Node(name)))
}

func (c *Cluster) promote(next *Node) error {
	if !next.Running() || !next.isStandby() {
		return fmt.Errorf("promoting %s: it is not a running standby", next.Name)
	}
	others := c.followers(next)
	ahead, err := repoint(others, next)
	if err != nil {
		return err
	}
	if err := next.exec(context.Background(), "SELECT pg_promote(false)"); err != nil {
		return fmt.Errorf("promoting %s: %w", next.Name, err)
	}
	if err := next.waitFor("promotion", "SELECT NOT pg_is_in_recovery()"); err != nil {
		return err
	}
	c.setPrimary(next)
	// What a standby has that the new primary never received is lost, as
	// after any asynchronous failover: such a standby is built anew.
	for _, n := range ahead {
		if err := n.rebuild(next); err != nil {
			return err
		}
	}
	return each(others, func(n *Node) error { return n.follows(next) })
}

// follows waits until a standby has caught up with the new primary. PostgreSQL 15 ends by a PANIC in one that was streaming when the new
// timeline began within a record over the end of a segment; such a standby is built anew, too.
func (n *Node) follows(next *Node) error {
	err := n.waitCaughtUp()
	if err == nil || n.Running() || !strings.Contains(n.logTail(), "PANIC") {
		return err
	}
	n.cluster.t.Logf("pgcluster: %s is built anew: %v", n.Name, err)
	return n.rebuild(next)
}

// followers are the running standbys other than next.
func (c *Cluster) followers(next *Node) []*Node {
	var found []*Node
	for _, n := range c.nodes {
		if n != next && n.Running() && n.isStandby() {
			found = append(found, n)
		}
	}
	return found
}

// repoint makes the standbys follow next and returns those that cannot,
// because they are ahead of it.
func repoint(standbys []*Node, next *Node) (ahead []*Node, err error) {
	for _, n := range standbys {
		if err := n.follow(next); err != nil {
			return nil, err
		}
		left := "SELECT NOT EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming' AND sender_host <> " + quote(next.Host) + ")"
		if err := n.waitFor("leaving its upstream", left); err != nil {
			return nil, err
		}
		isAhead, err := n.isAhead(next)
		if err != nil {
			return nil, err
		}
		if isAhead {
			ahead = append(ahead, n)
		}
	}
	return ahead, nil
}

// received is the end of what a standby has.
const received = "greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())"

// isAhead reports whether n has something that next will never get. While the
// primary runs, next is given a moment to receive it.
func (n *Node) isAhead(next *Node) (bool, error) {
	var lsn string
	if err := n.queryRow(context.Background(), "SELECT "+received+"::text", &lsn); err != nil {
		return false, err
	}
	hasIt := "SELECT " + received + " >= " + quote(lsn)
	if next.upstream.Running() {
		return next.waitAtMost(10*time.Second, "receiving", hasIt) != nil, nil
	}
	var has bool
	err := next.queryRow(context.Background(), hasIt, &has)
	return !has, err
}

// Stop ends a server. It returns when the process is gone.
func (c *Cluster) Stop(name string, mode Mode) {
	c.t.Helper()
	c.check(c.Node(name).stop(mode))
}

// StartNode starts a stopped server as what it was: an old primary comes up as
// a primary. It returns when the server accepts connections.
func (c *Cluster) StartNode(name string) {
	c.t.Helper()
	n := c.Node(name)
	if n.Running() {
		c.t.Fatalf("pgcluster: %s runs already", name)
	}
	c.check(n.start())
}

// Follow ends a server in order and starts it again as a standby of another one, with
// the data that it has, as a planned switchover does with the old primary. One that is down is
// started. The other one may be promoted later. It returns when the server accepts connections.
func (c *Cluster) Follow(name, upstream string) {
	c.t.Helper()
	c.check(c.Node(name).turn(c.Node(upstream)))
}

func (n *Node) turn(up *Node) error {
	if err := n.stop(Fast); err != nil {
		return err
	}
	n.upstream = up
	if err := n.markStandby(); err != nil {
		return err
	}
	if err := n.writeConfig(); err != nil {
		return err
	}
	return n.start()
}

// Rejoin brings a server back as a standby of the primary, whatever it was and
// whether it runs or not. Data that only it had is lost.
func (c *Cluster) Rejoin(name string) {
	c.t.Helper()
	n, primary := c.Node(name), c.Primary()
	if n == primary {
		c.t.Fatalf("pgcluster: rejoining %s: it is the primary", name)
	}
	c.check(n.rebuild(primary))
}

// rebuild replaces the data of a node by a base backup.
func (n *Node) rebuild(primary *Node) error {
	if err := n.stop(Immediate); err != nil {
		return err
	}
	if err := os.RemoveAll(n.data()); err != nil {
		return err
	}
	if err := n.cluster.install.run("pg_basebackup", "--pgdata="+n.data(), fmt.Sprintf("--dbname=host=%s port=%d user=replicator sslmode=disable", primary.Host, primary.Port),
		"--checkpoint=fast", "--wal-method=stream", "--no-sync"); err != nil {
		return fmt.Errorf("rejoining %s: %w", n.Name, err)
	}
	n.upstream = primary
	if err := n.markStandby(); err != nil {
		return err
	}
	if err := n.writeConfig(); err != nil {
		return err
	}
	if err := n.start(); err != nil {
		return err
	}
	return n.waitCaughtUp()
}

// Exec runs statements as superuser in database postgres.
func (c *Cluster) Exec(name, sql string) {
	c.t.Helper()
	if err := c.Node(name).exec(context.Background(), sql); err != nil {
		c.t.Fatalf("pgcluster: %s: %v\n%s", name, err, sql)
	}
}

// Query returns the one value of a query as text, as superuser. NULL is "".
func (c *Cluster) Query(name, sql string) string {
	c.t.Helper()
	var value *string
	if err := c.Node(name).queryRow(context.Background(), "SELECT ("+sql+")::text", &value); err != nil {
		c.t.Fatalf("pgcluster: %s: %v\n%s", name, err, sql)
	}
	if value == nil {
		return ""
	}
	return *value
}

// WaitFor asks a node, for at most a minute, until a query of one boolean says true.
func (c *Cluster) WaitFor(name, sql string) {
	c.t.Helper()
	c.check(c.Node(name).waitFor(sql, sql))
}

// Set gives a node settings of its own, as lines of postgresql.conf, in place of
// those set before; none takes them back. New sessions see them on return. The
// node may be down.
func (c *Cluster) Set(name string, lines ...string) {
	c.t.Helper()
	n := c.Node(name)
	c.check(c.install.write(n.faultFile(), strings.Join(append(lines, ""), "\n")))
	c.check(n.reload())
}

// Override replaces the answer of aurora_replica_status() on a node by JSON in
// the form that the emulation's header describes; "" takes it back. It works at
// once and in sessions that are open.
func (c *Cluster) Override(name, json string) {
	c.t.Helper()
	if !c.options.Emulation {
		c.t.Fatal("pgcluster: Override needs Options.Emulation")
	}
	c.check(c.install.write(c.Node(name).overrideFile(), json))
}
