package evict

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/poolwright/poolwright/live"
)

// fate is how a process ends.
type fate string

const (
	killed      fate = "killed before it was done"
	killedAfter fate = "killed before its answer came"
	ended       fate = "told to end after it"
)

// process is one poolwright.
type process struct {
	world  *world
	runner *Runner
	cancel context.CancelFunc // tells it to end
	stop   func()             // the same, and waits for it
	left   int                // commands before its fate; negative: it has none
	fate   fate
	// fallen is true when its fate has come; dead when it does nothing any more.
	fallen, dead, holds bool
}

var errDead = errors.New("this process is dead")

// begin starts a process that holds the cluster.
func (w *world) begin(change func(*Config)) *process {
	p := &process{world: w, left: -1, holds: true}
	config := Config{
		Names:   live.Names{Cluster: "pg", Namespace: "db", Services: map[live.Role]string{live.Writer: "pg-writer", live.Reader: "pg-reader"}},
		Client:  p.client(),
		Pods:    w.seePods,
		Console: p.console, Mode: ModeConsole,
		Holds: func() bool { w.mu.Lock(); defer w.mu.Unlock(); return p.holds && !p.dead },
		Tell:  func(e Event) { w.mu.Lock(); defer w.mu.Unlock(); w.events = append(w.events, e) },
	}
	change(&config)
	p.runner = New(config)
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { p.runner.Run(ctx) })
	p.stop = func() {
		p.cancel()
		running.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.processes = slices.DeleteFunc(w.processes, func(q *process) bool { return q == p })
	}
	w.mu.Lock()
	w.processes = append(w.processes, p)
	w.mu.Unlock()
	w.show()
	return p
}

// doom gives a process a fate at a command: 0 is the next one.
func (w *world) doom(p *process, command int, f fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.left, p.fate = command, f
}

// act does a command, unless the process is dead or dies of it.
func (p *process) act(do func()) error {
	last, err := p.next()
	if err != nil {
		return err
	}
	do()
	if !last {
		return nil
	}
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	p.fallen = true
	if p.fate == ended {
		p.cancel()
		return nil
	}
	p.dead = true
	return errDead
}

// next counts a command, which may be the last one, or not be done at all.
func (p *process) next() (last bool, err error) {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	last = p.left == 0
	p.left--
	if last && p.fate == killed {
		p.fallen, p.dead = true, true
	}
	if p.dead {
		return false, errDead
	}
	return last, nil
}

// hasFallen reports whether the fate of a process has come.
func (p *process) hasFallen() bool {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	return p.fallen
}

func (p *process) isDead() bool {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	return p.dead
}
