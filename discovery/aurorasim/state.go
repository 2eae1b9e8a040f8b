package aurorasim

import "context"

// State is what the simulation is like at one moment: the truth, that no client can ask for.
type State struct {
	// Writer is who the storage takes writes from and is up; "" when nobody is.
	Writer    string
	Instances []InstanceState // in the order of creation
}

// InstanceState is one instance of a State.
type InstanceState struct {
	Name     string
	Resource string
	Up       bool
	Sessions int
}

// State gives the present state.
func (c *Cluster) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state()
}

func (c *Cluster) state() State {
	var s State
	if c.writer != nil && c.writer.phase == up {
		s.Writer = c.writer.name
	}
	for _, n := range c.members {
		s.Instances = append(s.Instances, InstanceState{n.name, n.resource, n.phase == up, len(n.sessions)})
	}
	return s
}

// Wait returns once until holds, or with the error of ctx.
func (c *Cluster) Wait(ctx context.Context, until func(State) bool) error {
	for {
		c.mu.Lock()
		s, changed := c.state(), c.changed
		c.mu.Unlock()
		if until(s) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.ctx.Done():
			return errClosed
		}
	}
}
