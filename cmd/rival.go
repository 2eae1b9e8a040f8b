package cmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// rival is a process that keeps clusters instead of this one; the zero rival is none.
type rival struct {
	identity string
	// lease is what it holds, "namespace/name".
	lease string
	// keeps are the clusters that it says it keeps, "namespace/name"; nil when it does not say.
	keeps []string
}

// neglects is the error about a cluster that nobody keeps, because the rival keeps others.
func (r rival) neglects(cluster string) error {
	if r.identity == "" || !neglected(r.keeps, cluster) {
		return nil
	}
	return fmt.Errorf("nobody keeps %s: %s holds lease %s and keeps other clusters (%s); hint: %s", cluster, r.identity, r.lease, few(r.keeps), neglectHint)
}

// neglectHint mends two configurations that share a Lease.
const neglectHint = "give each `poolwright run` with clusters of its own a Lease of its own: --lease NAME"

// neglected reports whether a holder says that it keeps clusters, and not this one.
func neglected(keeps []string, cluster string) bool {
	return len(keeps) > 0 && !slices.Contains(keeps, cluster)
}

// few are the first of many names.
func few(names []string) string {
	const some = 3
	if len(names) <= some {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:some], ", "), len(names)-some)
}

// roster is which clusters this process keeps, by their files.
type roster struct {
	mu sync.Mutex
	of map[string]string
	// unread are the files that have not been read yet.
	unread map[string]bool
}

// expect names the files that are to be read.
func (r *roster) expect(files []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of, r.unread = map[string]string{}, map[string]bool{}
	for _, f := range files {
		r.unread[f] = true
	}
}

// note takes which cluster a file declares, "" for none that can be kept. One that was kept is kept until another is.
func (r *roster) note(file, cluster string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.unread, file)
	if cluster != "" {
		r.of[file] = cluster
	}
}

// names are the clusters, sorted; nil until every file has been read once.
func (r *roster) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.unread) > 0 {
		return nil
	}
	return slices.Compact(slices.Sorted(maps.Values(r.of)))
}
