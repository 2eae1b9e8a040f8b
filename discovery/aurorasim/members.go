package aurorasim

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/discovery"
)

// AddInstance creates an instance, a reader unless it is the first. It has the given faults from its first moment.
func (c *Cluster) AddInstance(name string, faults ...Fault) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	if name == "" || c.find(name) != nil {
		return fmt.Errorf("adding instance %q: the name is empty or taken", name)
	}
	n := &node{c: c, name: name, addr: anyAddr, sessions: map[*session]struct{}{}, faults: map[Fault]setting{}}
	n.zone = c.cfg.Zones[len(c.members)%len(c.cfg.Zones)]
	c.newMachine(n)
	c.members = append(c.members, n)
	for _, f := range faults {
		n.setFault(f, newSetting(f))
	}
	n.settle()
	if n.listener == nil && !n.has(Refuse) {
		return fmt.Errorf("adding instance %s: no port on %s to listen on", name, anyAddr)
	}
	if c.writer == nil {
		c.promote(n)
	}
	c.announce()
	return nil
}

// newMachine gives n a resource id of its own. c.mu is held.
func (c *Cluster) newMachine(n *node) {
	c.born++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", c.cfg.Name, n.name, c.born))
	n.resource = "db-" + base32.StdEncoding.EncodeToString(sum[:])[:26]
	n.started = c.cfg.Now()
}

// RemoveInstance deletes an instance: its name, port and row are gone. Deleting the writer makes the cluster fail over.
func (c *Cluster) RemoveInstance(name string) error {
	return c.with(name, func(n *node) error {
		n.retire()
		c.members = slices.DeleteFunc(c.members, func(m *node) bool { return m == n })
		if c.writer == n {
			c.failOver(n)
		}
		return nil
	})
}

// Replace deletes a reader and creates one of the same name on a new machine: new resource id, no faults, no sessions.
func (c *Cluster) Replace(name string) error {
	return c.with(name, func(n *node) error {
		if n == c.writer {
			return fmt.Errorf("replacing instance %s: it is the writer", name)
		}
		n.cut() // life is over even for those that could not be told
		n.life++
		n.faults = map[Fault]setting{}
		n.deleting = false
		c.newMachine(n)
		n.setPhase(up)
		return nil
	})
}

// SetDeleting marks an instance as deleting in Metadata. It goes on answering until RemoveInstance.
func (c *Cluster) SetDeleting(name string) error {
	return c.with(name, func(n *node) error {
		n.deleting = true
		return nil
	})
}

// Metadata is what the provider's API would say now.
func (c *Cluster) Metadata() discovery.Metadata {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := discovery.Metadata{State: discovery.MetadataFresh, At: c.cfg.Now()}
	for _, n := range c.members {
		m.Instances = append(m.Instances, discovery.MetaInstance{
			Name: n.name, Resource: n.resource, Zone: n.zone, Class: c.cfg.Class, Status: n.status(), Writer: n == c.writer,
		})
	}
	slices.SortFunc(m.Instances, func(a, b discovery.MetaInstance) int { return strings.Compare(a.Name, b.Name) })
	return m
}

// status is the DBInstanceStatus.
func (n *node) status() string {
	switch {
	case n.deleting:
		return "deleting"
	case n.phase == down:
		return "failed"
	case n.phase == starting:
		return "rebooting"
	}
	return "available"
}

// with runs f on an instance under the lock and announces the change.
func (c *Cluster) with(name string, f func(*node) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	n := c.find(name)
	if n == nil {
		return fmt.Errorf("cluster %s has no instance %q", c.cfg.Name, name)
	}
	err := f(n)
	c.announce()
	return err
}

func (c *Cluster) find(name string) *node {
	i := slices.IndexFunc(c.members, func(n *node) bool { return n.name == name })
	if i < 0 {
		return nil
	}
	return c.members[i]
}
