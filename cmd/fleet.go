package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/forge"
	"github.com/poolwright/poolwright/render/build"
)

// fleet is all clusters of one process and the lanes that they share.
type fleet struct {
	outside outside
	say     func(Event)
	builder build.Builder
	claims  *claims

	mu    sync.Mutex
	lanes map[string]*lane
	hints map[string]chan hint
	ctx   context.Context // ends the lanes, after the clusters
}

// newFleet is a fleet without clusters. end waits for nobody: it ends the lanes, after the clusters.
func newFleet(ctx context.Context, world outside, say func(Event)) (f *fleet, end context.CancelFunc) {
	lanes, end := context.WithCancel(context.WithoutCancel(ctx))
	return &fleet{
		outside: world, say: say, claims: newClaims(), lanes: map[string]*lane{},
		hints: map[string]chan hint{}, ctx: lanes,
	}, end
}

// run keeps the clusters of these files until ctx ends, and returns when what was under way is finished.
func (f *fleet) run(ctx context.Context, files []string) {
	if f.outside.Kube != nil {
		f.outside.Kube.keeps.expect(files)
	}
	var all sync.WaitGroup
	for _, path := range files {
		file := &declarationFile{path: path}
		all.Go(func() { f.keep(ctx, path, file.read) })
	}
	all.Wait()
}

// keep keeps one cluster. read reads the Cluster file of that path.
func (f *fleet) keep(ctx context.Context, path string, read func() (declaration, error)) {
	eyes := &lookout{outside: f.outside}
	defer eyes.close()
	defer f.leave(path)
	declare := func() (declaration, error) {
		d, err := read()
		if err == nil {
			err = f.claims.take(path, d, f.outside.Kube != nil)
		}
		f.tells(path, d, err)
		return d, err
	}
	r := &Reconciler{
		Name: path, Declare: declare, Eyes: eyes, Git: f, Reviews: f, Builder: &f.builder, Hints: f.hear(path), Now: f.outside.Now, Say: f.say,
	}
	if f.outside.Kube != nil {
		side := f.outside.Kube.side(ctx, f.outside, &r.fast, r.ears)
		defer side.end()
		r.Live = side
	}
	r.Run(ctx)
}

// hear is where a cluster hears what others tell this process.
func (f *fleet) hear(path string) <-chan hint {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hints[path] = make(chan hint, 16)
	return f.hints[path]
}

// tell tells every cluster. Who has much to hear yet looks soon anyway.
func (f *fleet) tell(h hint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, to := range f.hints {
		select {
		case to <- h:
		default:
		}
	}
}

// leave gives up what a file claimed and heard.
func (f *fleet) leave(path string) {
	f.claims.leave(path)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.hints, path)
}

// tells says for the Lease which cluster a file declares.
func (f *fleet) tells(path string, d declaration, err error) {
	switch {
	case f.outside.Kube == nil:
	case err != nil:
		f.outside.Kube.keeps.note(path, "")
	default:
		f.outside.Kube.keeps.note(path, d.Metadata.Namespace+"/"+d.Metadata.Name)
	}
}

// Read reads a cluster's directory through its lane.
func (f *fleet) Read(ctx context.Context, d declaration) (gitsync.Base, error) {
	l, err := f.lane(d.Cluster.Spec.Publish.PublishTo)
	if err != nil {
		return gitsync.Base{}, err
	}
	return l.Read(ctx, d.Dir())
}

// Submit publishes through the cluster's lane.
func (f *fleet) Submit(ctx context.Context, d declaration, edit gitsync.Edit) gitsync.Receipt {
	l, err := f.lane(d.Cluster.Spec.Publish.PublishTo)
	if err != nil {
		return gitsync.Receipt{Err: err}
	}
	return l.Submit(ctx, edit)
}

// Keep keeps up a cluster's pull request.
func (f *fleet) Keep(ctx context.Context, d declaration, w forge.Wish) (forge.Standing, error) {
	l, err := f.lane(d.Cluster.Spec.Publish.PublishTo)
	if err != nil {
		return forge.Standing{}, err
	}
	if l.pulls == nil {
		return forge.Standing{}, errNoForge
	}
	return l.pulls.Keep(ctx, w)
}

var errNoForge = errors.New("keeping a pull request: no forge is declared")

// lane returns the lane of a branch. Clusters with the same repository, branch, credentials and identity share one.
func (f *fleet) lane(to clusters.PublishTo) (*lane, error) {
	key, err := json.Marshal(to)
	if err != nil {
		return nil, fmt.Errorf("comparing repositories: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if l, ok := f.lanes[string(key)]; ok {
		return l, nil
	}
	b, err := openBranch(to, f.outside.Now)
	if err != nil {
		return nil, err
	}
	l := newLane(b)
	f.lanes[string(key)] = l
	go l.run(f.ctx)
	return l, nil
}
