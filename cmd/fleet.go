package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/poolwright/poolwright/gitsync"
)

// fleet is all clusters of one process and the lanes that they share.
type fleet struct {
	outside outside
	say     func(Event)

	mu    sync.Mutex
	lanes map[string]*lane
	keeps map[place]string  // which file keeps a place
	names map[string]string // and which a cluster, by namespace and name
	ctx   context.Context   // ends the lanes, after the clusters
}

// overlaps reports whether two places share files.
func (p place) overlaps(other place) bool {
	inside := func(a, b string) bool { return a == b || strings.HasPrefix(a, b+"/") }
	return p.repository == other.repository && p.branch == other.branch && (inside(p.dir, other.dir) || inside(other.dir, p.dir))
}

// runFleet keeps the clusters of these files until ctx ends, and returns when
// what was under way is finished.
func runFleet(ctx context.Context, world outside, files []string, say func(Event)) {
	lanes, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	f := &fleet{outside: world, say: say, lanes: map[string]*lane{}, keeps: map[place]string{}, names: map[string]string{}, ctx: lanes}
	if world.Kube != nil {
		world.Kube.keeps.expect(files)
	}
	var all sync.WaitGroup
	for _, path := range files {
		all.Go(func() { f.keep(ctx, path) })
	}
	all.Wait()
}

// keep keeps one cluster.
func (f *fleet) keep(ctx context.Context, path string) {
	eyes := &lookout{outside: f.outside}
	defer eyes.close()
	file := &declarationFile{path: path}
	declare := func() (declaration, error) {
		d, err := file.read()
		if err == nil {
			err = f.claim(path, d.place())
		}
		if err == nil && f.outside.Kube != nil {
			err = f.claimName(path, d.Metadata.Namespace+"/"+d.Metadata.Name)
		}
		f.tells(path, d, err)
		return d, err
	}
	r := &Reconciler{Name: path, Declare: declare, Eyes: eyes, Git: f, Now: f.outside.Now, Say: f.say}
	if f.outside.Kube != nil {
		side := f.outside.Kube.side(ctx, f.outside, &r.fast, r.ears)
		defer side.end()
		r.Live = side
	}
	r.Run(ctx)
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

// claim makes a file the keeper of a place, and of no other. The first file
// that names a place keeps it, with all that is below: two would undo each
// other's commits for ever.
func (f *fleet) claim(path string, p place) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for other, keeper := range f.keeps {
		if keeper != path && other.overlaps(p) {
			return fmt.Errorf("reading %s: its directory %s overlaps with %s of %s, in the same repository", path, p.dir, other.dir, keeper)
		}
	}
	maps.DeleteFunc(f.keeps, func(other place, keeper string) bool { return keeper == path && other != p })
	f.keeps[p] = path
	return nil
}

// claimName makes a file the keeper of a cluster in Kubernetes, and of no other: two would move the Services to and fro for ever.
func (f *fleet) claimName(path, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if keeper, taken := f.names[name]; taken && keeper != path {
		return fmt.Errorf("reading %s: it declares cluster %s, as %s does", path, name, keeper)
	}
	maps.DeleteFunc(f.names, func(other, keeper string) bool { return keeper == path && other != name })
	f.names[name] = path
	return nil
}

// Read reads a cluster's directory through its lane.
func (f *fleet) Read(ctx context.Context, d declaration) (gitsync.Base, error) {
	l, err := f.lane(d)
	if err != nil {
		return gitsync.Base{}, err
	}
	return l.Read(ctx, d.Dir())
}

// Submit publishes through the cluster's lane.
func (f *fleet) Submit(ctx context.Context, d declaration, edit gitsync.Edit) gitsync.Receipt {
	l, err := f.lane(d)
	if err != nil {
		return gitsync.Receipt{Err: err}
	}
	return l.Submit(ctx, edit)
}

// lane returns the lane of a declaration. Clusters with the same repository,
// branch, credentials and identity share one.
func (f *fleet) lane(d declaration) (*lane, error) {
	p := d.Cluster.Spec.Publish
	key, err := json.Marshal([]any{p.Repository, p.Branch, p.Auth, p.Author, p.Committer})
	if err != nil {
		return nil, fmt.Errorf("comparing repositories: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if l, ok := f.lanes[string(key)]; ok {
		return l, nil
	}
	git, err := publisher(d)
	if err != nil {
		return nil, err
	}
	l := newLane(git)
	f.lanes[string(key)] = l
	go l.run(f.ctx)
	return l, nil
}
