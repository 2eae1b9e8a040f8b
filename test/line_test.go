package test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/test/driver"
	"github.com/poolwright/poolwright/test/pgcluster"
)

// providers are the ways to ask the same three real servers.
var providers = map[string]func(*pgcluster.Cluster) string{"postgres": driver.Postgres, "aurora": driver.Aurora}

// realCluster is three real PostgreSQL servers which also answer like Aurora,
// a repository on a real Git server, and the Cluster file between them.
func realCluster(t *testing.T, provider string) (c *pgcluster.Cluster, r *driver.Remote, file string) {
	t.Helper()
	c = pgcluster.Start(t, pgcluster.Options{Nodes: []string{"a", "b", "c"}, Emulation: provider == "aurora"})
	r = driver.NewRemote(t)
	return c, r, driver.ClusterFile(t, providers[provider](c), r.URL)
}

// TestPromoteStopAndBringBack: the right commits in the right order, nothing else.
func TestPromoteStopAndBringBack(t *testing.T) {
	for provider := range providers {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			c, r, file := realCluster(t, provider)
			p := driver.Start(t, "run", "-f", file)
			r.AwaitSubject(1, "first tree, writer a")
			c.Promote("b")
			r.AwaitSubject(2, "writer a → b (epoch 2)")
			c.Stop("a", pgcluster.Fast)
			c.Rejoin("a")
			r.AwaitSubject(3, "readers gain a (epoch 3)")
			p.Stop()
			if got := r.Subjects(); len(got) != 3 {
				t.Errorf("got commits %q, want the three above and nothing else", got)
			}
			r.WantSoundHistory()
			all := r.Commits()
			if got, want := r.ChangedFiles(all[1]), []string{"clusters/story/services.yaml", "clusters/story/topology.yaml"}; !slices.Equal(got, want) {
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
			p := driver.Start(t, "run", "-f", file)
			r.AwaitSubject(1, "first tree")
			names := []string{"a", "b", "c"}
			for round := range 10 {
				from, to := names[round%3], names[(round+1)%3]
				killed := killAt(p, time.Duration(rand.Int64N(int64(1500*time.Millisecond))))
				c.Promote(to)
				c.Stop(from, pgcluster.Fast)
				<-killed
				p = driver.Start(t, "run", "-f", file)
				c.Rejoin(from)
				r.Await("everybody serving behind "+to, func() bool { return serving(r, to, names) })
			}
			p.Stop()
			r.WantSoundHistory()
			wantServing(t, r, names[10%3], names[11%3], names[12%3])
			wantOnlySwitches(t, r)
		})
	}
}

// killAt kills p after d: the point is random, and nothing waits for it to be a certain one.
func killAt(p *driver.Process, d time.Duration) <-chan struct{} {
	killed := make(chan struct{})
	time.AfterFunc(d, func() {
		defer close(killed)
		p.Kill()
	})
	return killed
}

// serving reports whether the head has that writer and all others as readers.
func serving(r *driver.Remote, writer string, names []string) bool {
	services := r.File("main", "services.yaml")
	reader := driver.Selector(services, "reader")
	return slices.Contains(driver.Selector(services, "writer"), "poolwright.dev/instance: "+writer) &&
		len(reader) == 2 && strings.HasPrefix(reader[1], "slot.poolwright.dev/"+fmt.Sprint(slices.Index(names, writer)))
}

func wantServing(t *testing.T, r *driver.Remote, writer string, readers ...string) {
	t.Helper()
	names := append([]string{writer}, readers...)
	slices.Sort(names)
	if !serving(r, writer, names) {
		t.Errorf("got services\n%s\nwant writer %s and readers %q", r.File("main", "services.yaml"), writer, readers)
	}
}

// wantOnlySwitches wants everything but the selectors and the memory to be as in the first tree.
func wantOnlySwitches(t *testing.T, r *driver.Remote) {
	t.Helper()
	first := r.Commits()[0]
	changed := strings.Fields(r.MustGit("diff", "--name-only", first, "main"))
	want := []string{"clusters/story/services.yaml", "clusters/story/topology.yaml"}
	if !slices.Equal(changed, want) {
		t.Errorf("after all failovers %q differ from the first tree, want only %q", changed, want)
	}
}
