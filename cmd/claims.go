package cmd

import (
	"fmt"
	"maps"
	"strings"
	"sync"
)

// claims are what each Cluster file keeps alone in this process: the first that names a thing has it until it names
// another or goes away. Two would undo each other's work for ever.
type claims struct {
	mu    sync.Mutex
	dirs  map[place]string  // which file keeps a directory of a branch
	pulls map[place]string  // a pull request's branch, which is the place's dir
	names map[string]string // and a cluster in Kubernetes, by namespace and name
}

func newClaims() *claims {
	return &claims{dirs: map[place]string{}, pulls: map[place]string{}, names: map[string]string{}}
}

// take claims for a file all that its declaration names. A cluster without a Kubernetes to patch may be declared twice.
func (c *claims) take(path string, d declaration, live bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.dir(path, d.place()); err != nil {
		return err
	}
	if err := c.pull(path, d.pull()); err != nil || !live {
		return err
	}
	return c.name(path, d.Metadata.Namespace+"/"+d.Metadata.Name)
}

// leave gives up what a file claimed.
func (c *claims) leave(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, places := range []map[place]string{c.dirs, c.pulls} {
		turn(places, path)
	}
	turn(c.names, path)
}

// dir claims a directory with all that is below.
func (c *claims) dir(path string, p place) error {
	if other, keeper := overlapping(c.dirs, path, p); keeper != "" {
		return fmt.Errorf("reading %s: its directory %s overlaps with %s of %s, in the same repository", path, p.dir, other.dir, keeper)
	}
	turn(c.dirs, path, p)
	return nil
}

// pull claims the branch of a pull request, which cannot exist beside one below it either. No branch is nothing to claim.
func (c *claims) pull(path string, p place) error {
	if p.dir == "" {
		turn(c.pulls, path)
		return nil
	}
	if other, keeper := overlapping(c.pulls, path, p); keeper != "" {
		return fmt.Errorf("reading %s: its pull request's branch %s is not apart from %s of %s, in the same repository: name another as spec.publish.pullRequest.branch",
			path, p.dir, other.dir, keeper)
	}
	turn(c.pulls, path, p)
	return nil
}

// name claims a cluster in Kubernetes, whose Services two would move to and fro.
func (c *claims) name(path, name string) error {
	if keeper, taken := c.names[name]; taken && keeper != path {
		return fmt.Errorf("reading %s: it declares cluster %s, as %s does", path, name, keeper)
	}
	turn(c.names, path, name)
	return nil
}

// turn gives up what a file claimed and claims these for it.
func turn[K comparable](kept map[K]string, path string, to ...K) {
	maps.DeleteFunc(kept, func(_ K, keeper string) bool { return keeper == path })
	for _, k := range to {
		kept[k] = path
	}
}

// overlapping is a place that another file keeps and that shares files with this one; without a keeper there is none.
func overlapping(kept map[place]string, path string, p place) (other place, keeper string) {
	for other, keeper := range kept {
		if keeper != path && other.overlaps(p) {
			return other, keeper
		}
	}
	return place{}, ""
}

// overlaps reports whether two places share files.
func (p place) overlaps(other place) bool {
	inside := func(a, b string) bool { return a == b || strings.HasPrefix(a, b+"/") }
	return p.repository == other.repository && p.branch == other.branch && (inside(p.dir, other.dir) || inside(other.dir, p.dir))
}
