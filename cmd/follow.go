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
	for name, m := range w.members {
		if _, there := found[name]; !there {
			m.stop()
			delete(w.members, name)
		}
	}
	for _, name := range sortedKeys(found) {
		m, begun := w.members[name]
		if !begun {
			m = &member{}
			w.members[name] = m
		}
		m.set(of, name, found[name])
		if !begun {
			alone, stop := context.WithCancel(ctx)
			m.stop = stop
			w.all.Go(func() { w.fleet.keep(alone, name, m.read) })
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
