package cmd

import (
	"context"
	"fmt"
	"os"
	"path"
	"sync"
	"time"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/gitsync"
)

// follower keeps the clusters whose Cluster files are in the repository itself: it reads them there again and again, and begins with
// each that appears and ends with each that is gone. A file that is gone changes nothing in Git.
type follower struct {
	fleet *fleet
	path  string // of the Fleet file
	// changed receives after the repository was said to have changed.
	changed chan struct{}

	members map[string]*member
	trouble trouble
	all     sync.WaitGroup
}

// member is one Cluster file of a fleet.
type member struct {
	stop context.CancelFunc
	left bool          // its file is gone
	rest chan struct{} // closed when nothing of it is under way any more
	mu   sync.Mutex
	spec string // of the file and the fleet's, as parsed last
	last declaration
	err  error
}

// declaredFleet is a Fleet file as it was read.
type declaredFleet struct {
	clusters.Fleet
	spec string
}

// set parses the file of that path if it or the fleet's is another than before.
func (m *member) set(of declaredFleet, path string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	spec := specOf(data)
	if m.spec == of.spec+spec {
		return
	}
	m.spec, m.last = of.spec+spec, declaration{Spec: spec}
	m.last.Cluster, m.err = of.Load(path, data)
}

// read is the newest declaration.
func (m *member) read() (declaration, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last, m.err
}

// run follows until ctx ends, and returns when every cluster has come to rest.
func (w *follower) run(ctx context.Context) {
	w.members = map[string]*member{}
	for ctx.Err() == nil {
		w.tell(w.look(ctx))
		select {
		case <-ctx.Done():
		case <-w.changed:
		case <-time.After(readEvery):
		}
	}
	w.all.Wait()
}

// nudge makes it look soon.
func (w *follower) nudge() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// look reads the Fleet file and the files it points to, and keeps what it finds. An error leaves everything as it is.
func (w *follower) look(ctx context.Context) error {
	text, err := os.ReadFile(w.path)
	if err != nil {
		return fmt.Errorf("reading the Fleet file: %w", err)
	}
	of, err := clusters.LoadFleet(w.path, text)
	if err != nil {
		return err
	}
	found, err := w.read(ctx, of)
	if err != nil {
		return err
	}
	w.take(ctx, declaredFleet{of, specOf(text)}, found)
	return nil
}

// read finds the Cluster files at the branch's head.
func (w *follower) read(ctx context.Context, of clusters.Fleet) (gitsync.Files, error) {
	l, err := w.fleet.lane(of.Spec.Publish)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	found, _, err := l.git.Glob(ctx, of.Spec.Clusters)
	if err == nil && len(found) == 0 {
		return nil, fmt.Errorf("finding the Cluster files: no file of the repository is like %s", of.Spec.Clusters)
	}
	return found, err
}

// take makes the members be those found.
func (w *follower) take(ctx context.Context, of declaredFleet, found gitsync.Files) {
	if kube := w.fleet.outside.Kube; kube != nil && len(w.members) == 0 {
		kube.keeps.expect(sortedKeys(found))
	}
	w.leave(found)
	for _, name := range sortedKeys(found) {
		m, begun := w.members[name]
		switch {
		case !begun:
			w.begin(ctx, of, name, found[name])
		case !m.left: // else it is begun anew when it has come to rest
			m.set(of, name, found[name])
		}
	}
}

// begin keeps one more cluster.
func (w *follower) begin(ctx context.Context, of declaredFleet, name string, data []byte) {
	alone, stop := context.WithCancel(ctx)
	m := &member{stop: stop, rest: make(chan struct{})}
	m.set(of, name, data)
	w.members[name] = m
	w.all.Go(func() {
		defer close(m.rest)
		w.fleet.keep(alone, name, m.read)
	})
}

// leave ends with the clusters whose files are gone. One stays a member until it has come to rest: were its file back
// before, two would be in each other's way.
func (w *follower) leave(found gitsync.Files) {
	for _, name := range sortedKeys(w.members) {
		m := w.members[name]
		if _, there := found[name]; !there && !m.left {
			m.left = true
			m.stop()
			w.fleet.say(Event{At: w.fleet.outside.Now(), Cluster: name, Kind: Left, Detail: "its Cluster file is gone from the repository; what it rendered stays"})
		}
		select {
		case <-m.rest:
			delete(w.members, name)
		default:
		}
	}
}

// tell says that the fleet cannot be read, and that it can again.
func (w *follower) tell(err error) {
	now := w.fleet.outside.Now()
	say := func(kind EventKind, err error) {
		w.fleet.say(Event{At: now, Cluster: path.Base(w.path), Kind: kind, Err: err})
	}
	switch {
	case err == nil && w.trouble.text != "":
		w.trouble = trouble{}
		say(Moving, nil)
	case err != nil && (err.Error() != w.trouble.text || now.Sub(w.trouble.at) >= remindEvery):
		w.trouble = trouble{err.Error(), now}
		say(Standing, err)
	}
}
