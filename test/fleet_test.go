package test

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/poolwright/poolwright/discovery/aurorasim"
	"github.com/poolwright/poolwright/gitsync/gitserver"
	"github.com/poolwright/poolwright/test/driver"
)

// simulated starts a simulated cluster and returns what a Cluster file says to reach it.
func simulated(t *testing.T, names ...string) (*aurorasim.Cluster, string) {
	t.Helper()
	return simulatedAs(t, aurorasim.Config{Name: "story", Instances: names})
}

func simulatedAs(t *testing.T, config aurorasim.Config) (*aurorasim.Cluster, string) {
	t.Helper()
	sim, err := aurorasim.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sim.Close)
	text := "clusterName: story\ndomainName: aurora.invalid\nsslMode: disable\nclusterEndpoints:\n"
	text += "  writer: " + flow(sim.EndpointAddr(aurorasim.WriterEndpoint), "")
	text += "  reader: " + flow(sim.EndpointAddr(aurorasim.ReaderEndpoint), "")
	text += "hosts:\n"
	for _, n := range config.Instances {
		text += "- " + flow(sim.Addr(n), n)
	}
	return sim, text
}

// flow is an address as a YAML flow mapping.
func flow(addr, name string) string {
	host, port, _ := net.SplitHostPort(addr)
	if name != "" {
		name = "name: " + name + ", "
	}
	return fmt.Sprintf("{%shost: %s, port: %s}\n", name, host, port)
}

// TestC24TwoProcessesOnOneRepository: two of them see twenty changes of one
// topology; each change is committed once, by either.
func TestC24TwoProcessesOnOneRepository(t *testing.T) {
	t.Parallel()
	sim, discovery := simulated(t, "a", "b", "c")
	r := driver.NewRemote(t)
	file := driver.ClusterFile(t, discovery, r.URL)
	one, two := driver.Start(t, "run", "-f", file), driver.Start(t, "run", "-f", file)
	r.AwaitSubject(1, "first tree")
	for range 10 {
		was := sim.State().Writer
		check(t, sim.Kill(was))
		var now string
		check(t, sim.Wait(t.Context(), func(s aurorasim.State) bool { now = s.Writer; return now != "" && now != was }))
		r.Await("the failover to "+now, func() bool {
			return slices.Contains(driver.Selector(r.File("main", "services.yaml"), "writer"), "poolwright.dev/instance: "+now)
		})
		check(t, sim.Restart(was))
		r.Await(was+" serving readers", func() bool { return serving(r, now, []string{"a", "b", "c"}) })
	}
	one.Stop()
	two.Stop()
	if got := r.Subjects(); len(got) > 21 {
		t.Errorf("got %d commits for the first tree and 20 changes, want at most 21:\n%s", len(got), strings.Join(got, "\n"))
	}
	r.WantSoundHistory()
	wantOnlySwitches(t, r)
}

// TestC02AForeignCommitBeforeEveryPush: somebody else is always faster at
// first; history stays linear and both sides are in it.
func TestC02AForeignCommitBeforeEveryPush(t *testing.T) {
	t.Parallel()
	sim, discovery := simulated(t, "a", "b", "c")
	r := driver.NewRemote(t)
	var pushes, foreign atomic.Int64
	r.Server.Intercept(func(_ http.ResponseWriter, q *http.Request) bool {
		if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "git-receive-pack") && pushes.Add(1)%2 == 1 {
			n := foreign.Add(1)
			files := map[string]*gitserver.File{fmt.Sprintf("elsewhere/%d.yaml", n): gitserver.Text("a: b\n")}
			if _, err := r.Commit("main", fmt.Sprintf("somebody else %d", n), files); err != nil {
				t.Error(err)
			}
		}
		return false
	})
	p := driver.Start(t, "run", "-f", driver.ClusterFile(t, discovery, r.URL))
	r.Await("the first tree", func() bool { return r.File("main", "services.yaml") != "" })
	check(t, sim.Kill("a"))
	r.Await("the failover", func() bool {
		return !slices.Contains(driver.Selector(r.File("main", "services.yaml"), "writer"), "poolwright.dev/instance: a")
	})
	p.Stop()
	r.WantSoundHistory()
	for n := range foreign.Load() {
		if got := r.MustGit("show", fmt.Sprintf("main:elsewhere/%d.yaml", n+1)); got != "a: b" {
			t.Errorf("foreign commit %d is lost: got %q", n+1, got)
		}
	}
	if foreign.Load() < 2 {
		t.Errorf("got %d foreign commits, want one before each push", foreign.Load())
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
