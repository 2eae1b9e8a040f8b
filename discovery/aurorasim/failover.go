package aurorasim

import (
	"fmt"
	"slices"
	"time"
)

// Kill ends the process of an instance: its sessions are reset (left silent under HalfOpen) and its port refuses.
// When it was the writer, a live reader is promoted after FailoverDelay. It is back after RestartDelay, or on Restart.
func (c *Cluster) Kill(name string) error {
	return c.with(name, func(n *node) error {
		n.setPhase(down)
		n.nextLife()
		if n == c.writer {
			c.failOver(n)
		}
		if c.cfg.RestartDelay > 0 {
			c.inLife(n, n.life, c.cfg.RestartDelay, func() { c.comeUp(n) })
		}
		return nil
	})
}

// Restart brings a killed instance up at once. One that is up is rebooted: its sessions are reset and it is
// starting up (57P03) for RestartDelay; its role stays.
func (c *Cluster) Restart(name string) error {
	return c.with(name, func(n *node) error {
		if n.phase != up {
			n.nextLife()
			c.comeUp(n)
			return nil
		}
		c.reboot(n)
		c.inLife(n, n.life, c.cfg.RestartDelay, func() { c.comeUp(n) })
		return nil
	})
}

// Failover is a planned one to a reader that is up: both restart. The target is the writer after FailoverDelay,
// the old writer a reader after the longer of FailoverDelay and RestartDelay.
func (c *Cluster) Failover(target string) error {
	return c.with(target, func(n *node) error {
		if n == c.writer || n.phase != up {
			return fmt.Errorf("failing over to %s: it is not a reader that is up", target)
		}
		old := c.writer
		c.reboot(n)
		rest := func() {}
		if old != nil && old.phase == up {
			c.reboot(old)
			life, pause := old.life, c.cfg.RestartDelay-c.cfg.FailoverDelay
			rest = func() { c.inLife(old, life, pause, func() { c.comeUp(old) }) }
		}
		life := n.life
		c.after(c.cfg.FailoverDelay, func() {
			c.inLife(n, life, 0, func() { c.promote(n); c.comeUp(n) })
			rest()
		})
		return nil
	})
}

// Promote makes an instance the writer at once, without any restart. The former
// writer is a reader from then on and keeps its sessions, which are stale now.
func (c *Cluster) Promote(name string) error {
	return c.with(name, func(n *node) error {
		if n.phase != up {
			return fmt.Errorf("promoting %s: it is not up", name)
		}
		c.promote(n)
		return nil
	})
}

// Demote makes the writer a reader with nobody in its place, until Promote.
func (c *Cluster) Demote() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writer, c.headless = nil, true
	c.announce()
}

func (c *Cluster) promote(n *node) {
	c.writer, c.headless = n, false
	lag := c.cfg.DNSLag
	if c.named == nil {
		lag = 0 // a cluster is created with its name
	}
	c.after(lag, func() { c.named = c.writer })
}

// failOver promotes the first live reader after FailoverDelay, unless the lost writer is back by then.
func (c *Cluster) failOver(lost *node) {
	if c.cfg.FailoverDelay < 0 {
		return
	}
	life := lost.life
	c.after(c.cfg.FailoverDelay, func() {
		if c.writer == lost && lost.life == life && lost.phase != up {
			c.promoteReader()
		}
	})
}

// promoteReader promotes the first instance that can be a writer; when there is none, the first that comes up will be.
func (c *Cluster) promoteReader() {
	i := slices.IndexFunc(c.members, func(n *node) bool { return n.beating() && !n.deleting })
	if i < 0 {
		c.writer = nil
		return
	}
	n := c.members[i]
	n.nextLife() // a promotion is a restart of the process
	n.started = c.cfg.Now()
	c.promote(n)
}

// comeUp ends a start. When the cluster has lost its writer for good, this is the next one.
func (c *Cluster) comeUp(n *node) {
	n.setPhase(up)
	if c.writer == nil && !c.headless {
		c.promote(n)
	}
}

func (c *Cluster) reboot(n *node) {
	n.setPhase(starting)
	n.nextLife()
}

// inLife runs f after d unless the instance is in another life by then.
func (c *Cluster) inLife(n *node, life int, d time.Duration, f func()) {
	c.after(d, func() {
		if n.life == life {
			f()
		}
	})
}
