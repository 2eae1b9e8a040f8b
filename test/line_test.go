package test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/test/pgcluster"
)

// providers are the ways to ask the same three real servers.
var providers = map[string]func(*pgcluster.Cluster) string{
	"postgres": func(c *pgcluster.Cluster) string { return "provider: postgres\n" + hosts(c) },
	"aurora": func(c *pgcluster.Cluster) string {
		return "clusterName: story\ndomainName: aurora.invalid\n" + hosts(c)
	},
}

func hosts(c *pgcluster.Cluster) string {
	text := "sslMode: disable\nhosts:\n"
	for _, n := range c.Nodes() {
		text += fmt.Sprintf("- {name: %s, host: %s, port: %d}\n", n.Name, n.Host, n.Port)
	}
	return text
}

// realCluster is three real PostgreSQL servers which also answer like Aurora,
// a repository on a real Git server, and the Cluster file between them.
func realCluster(t *testing.T, provider string) (c *pgcluster.Cluster, r *remote, file string) {
	t.Helper()
	c = pgcluster.Start(t, pgcluster.Options{Nodes: []string{"a", "b", "c"}, Emulation: provider == "aurora"})
	r = newRemote(t)
	return c, r, clusterFile(t, providers[provider](c), r.url)
}

// TestPromoteStopAndBringBack: the right commits in the right order, nothing else.
func TestPromoteStopAndBringBack(t *testing.T) {
	for provider := range providers {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			c, r, file := realCluster(t, provider)
			p := start(t, "run", "-f", file)
			r.awaitSubject(1, "first tree, writer a")
			c.Promote("b")
			r.awaitSubject(2, "writer a → b (epoch 2)")
			c.Stop("a", pgcluster.Fast)
			c.Rejoin("a")
			r.awaitSubject(3, "readers gain a (epoch 3)")
			p.stop()
			if got := r.subjects(); len(got) != 3 {
				t.Errorf("got commits %q, want the three above and nothing else", got)
			}
			r.wantSoundHistory()
			all := r.commits()
			if got, want := r.changedFiles(all[1]), []string{"clusters/story/services.yaml", "clusters/story/topology.yaml"}; !slices.Equal(got, want) {
				t.Errorf("the failover changes %q, want %q", got, want)
			}
			wantServing(t, r, "b", "a", "c")
		})
	}
}

// TestKilledAtRandomPoints: failovers go on while poolwright is killed with
// signal 9 at a random point of each and started again. Each ends in the tree
// that an undisturbed one ends in, and nothing is committed twice.
func TestKilledAtRandomPoints(t *testing.T) {
	for provider := range providers {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			c, r, file := realCluster(t, provider)
			p := start(t, "run", "-f", file)
			r.awaitSubject(1, "first tree")
			names := []string{"a", "b", "c"}
			for round := range 10 {
				from, to := names[round%3], names[(round+1)%3]
				killed := killAt(p, time.Duration(rand.Int64N(int64(1500*time.Millisecond))))
				c.Promote(to)
				c.Stop(from, pgcluster.Fast)
				<-killed
				p = start(t, "run", "-f", file)
				c.Rejoin(from)
				r.await("everybody serving behind "+to, func() bool { return serving(r, to, names) })
			}
			p.stop()
			r.wantSoundHistory()
			wantServing(t, r, names[10%3], names[11%3], names[12%3])
			wantOnlySwitches(t, r)
		})
	}
}

// killAt kills p after d: the point is random, and nothing waits for it to be a certain one.
func killAt(p *process, d time.Duration) <-chan struct{} {
	killed := make(chan struct{})
	time.AfterFunc(d, func() {
		defer close(killed)
		p.kill()
	})
	return killed
}

// serving reports whether the head has that writer and all others as readers.
func serving(r *remote, writer string, names []string) bool {
	services := r.file("main", "services.yaml")
	reader := selector(services, "reader")
	return slices.Contains(selector(services, "writer"), "poolwright.dev/instance: "+writer) &&
		len(reader) == 2 && strings.HasPrefix(reader[1], "slot.poolwright.dev/"+fmt.Sprint(slices.Index(names, writer)))
}

func wantServing(t *testing.T, r *remote, writer string, readers ...string) {
	t.Helper()
	names := append([]string{writer}, readers...)
	slices.Sort(names)
	if !serving(r, writer, names) {
		t.Errorf("got services\n%s\nwant writer %s and readers %q", r.file("main", "services.yaml"), writer, readers)
	}
}

// wantOnlySwitches wants everything but the selectors and the memory to be as in the first tree.
func wantOnlySwitches(t *testing.T, r *remote) {
	t.Helper()
	first := r.commits()[0]
	changed := strings.Fields(r.git("diff", "--name-only", first, "main"))
	want := []string{"clusters/story/services.yaml", "clusters/story/topology.yaml"}
	if !slices.Equal(changed, want) {
		t.Errorf("after all failovers %q differ from the first tree, want only %q", changed, want)
	}
}
