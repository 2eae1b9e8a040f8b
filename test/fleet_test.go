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
	r := newRemote(t)
	file := clusterFile(t, discovery, r.url)
	one, two := start(t, "run", "-f", file), start(t, "run", "-f", file)
	r.awaitSubject(1, "first tree")
	for range 10 {
		was := sim.State().Writer
		check(t, sim.Kill(was))
		var now string
		check(t, sim.Wait(t.Context(), func(s aurorasim.State) bool { now = s.Writer; return now != "" && now != was }))
		r.await("the failover to "+now, func() bool {
			return slices.Contains(selector(r.file("main", "services.yaml"), "writer"), "poolwright.dev/instance: "+now)
		})
		check(t, sim.Restart(was))
		r.await(was+" serving readers", func() bool { return serving(r, now, []string{"a", "b", "c"}) })
	}
	one.stop()
	two.stop()
	if got := r.subjects(); len(got) > 21 {
		t.Errorf("got %d commits for the first tree and 20 changes, want at most 21:\n%s", len(got), strings.Join(got, "\n"))
	}
	r.wantSoundHistory()
	wantOnlySwitches(t, r)
}

// TestC02AForeignCommitBeforeEveryPush: somebody else is always faster at
// first; history stays linear and both sides are in it.
func TestC02AForeignCommitBeforeEveryPush(t *testing.T) {
	t.Parallel()
	sim, discovery := simulated(t, "a", "b", "c")
	r := newRemote(t)
	var pushes, foreign atomic.Int64
	r.server.Intercept(func(_ http.ResponseWriter, q *http.Request) bool {
		if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "git-receive-pack") && pushes.Add(1)%2 == 1 {
			n := foreign.Add(1)
			files := map[string]*gitserver.File{fmt.Sprintf("elsewhere/%d.yaml", n): gitserver.Text("a: b\n")}
			if _, err := r.Commit("main", fmt.Sprintf("somebody else %d", n), files); err != nil {
				t.Error(err)
			}
		}
		return false
	})
	p := start(t, "run", "-f", clusterFile(t, discovery, r.url))
	r.await("the first tree", func() bool { return r.file("main", "services.yaml") != "" })
	check(t, sim.Kill("a"))
	r.await("the failover", func() bool {
		return !slices.Contains(selector(r.file("main", "services.yaml"), "writer"), "poolwright.dev/instance: a")
	})
	p.stop()
	r.wantSoundHistory()
	for n := range foreign.Load() {
		if got := r.git("show", fmt.Sprintf("main:elsewhere/%d.yaml", n+1)); got != "a: b" {
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
