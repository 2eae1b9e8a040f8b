//go:build e2e

package e2e

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// smokeRounds are enough to see that the benchmark works; `make bench-live` sets BENCH_ROUNDS.
const smokeRounds = 3

// TestBenchLive measures what a failover takes, on real parts: PostgreSQL, API server, EndpointSlice controller, Flux and Argo CD. poolwright
// reaches the API server directly, and not through the gate of the other tests. Times are taken on the one clock of this machine:
//
//   - the role change is visible in the database not before the last answer "in recovery" of a poll every millisecond;
//   - decided is the time of poolwright's log line;
//   - patched is when the API server's audit log says that the patch was answered;
//   - served and handed back are when the events of this test's own watches arrive, so that they contain the way to here;
//   - committed is when git's server has carried out the push.
//
// Then the failovers are made once more, while a sampler reads the Writer's EndpointSlices as fast as one reader can. It is a load of its
// own, so that the times are those of the rounds without it.
func TestBenchLive(t *testing.T) {
	n := smokeRounds
	if text := os.Getenv("BENCH_ROUNDS"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		check(t, err)
	} else {
		t.Parallel()
	}
	r := newReport()
	t.Run("flux", func(t *testing.T) { benchFailovers(t, r, n) })
	t.Run("argo", func(t *testing.T) { benchReverts(t, r, n) })
	t.Run("stanza", func(t *testing.T) { benchStanza(t, r, n, "server-side apply", argo{}) })
	t.Run("stanza, client-side", func(t *testing.T) { benchStanza(t, r, n, "client-side apply", argo{clientSide: true}) })
	t.Run("lease", func(t *testing.T) { benchTakeovers(t, r, n) })
	r.write(os.Stdout)
	for _, fault := range r.faults {
		t.Error(fault)
	}
}

// TestBenchFaults: what a measurement and a smoke take for wrong.
func TestBenchFaults(t *testing.T) {
	t.Parallel()
	const target = 50 * time.Millisecond
	for name, c := range map[string]struct {
		n           int
		most, worst time.Duration
		target      time.Duration
		want        string
	}{
		"a measurement that meets it":          {20, 20 * time.Millisecond, 49 * time.Millisecond, target, ""},
		"one that misses it once":              {20, 20 * time.Millisecond, 50 * time.Millisecond, target, "misses its target of 50ms: p99 50 ms"},
		"one without a target":                 {20, time.Hour, time.Hour, 0, ""},
		"a smoke that misses it":               {3, 60 * time.Millisecond, time.Minute, target, ""},
		"a smoke that is wrong by its kind":    {3, 500 * time.Millisecond, 500 * time.Millisecond, target, "is 500 ms in the middle, more than 10 times its target of 50ms"},
		"a time that was never taken":          {3, 20 * time.Millisecond, -time.Hour, target, "is -1h0m0s: it ends before it begins"},
		"the same without a target":            {3, 20 * time.Millisecond, -time.Hour, 0, "is -1h0m0s: it ends before it begins"},
		"two clocks' readings that are near":   {3, 20 * time.Millisecond, -time.Millisecond, target, ""},
		"nothing":                              {0, 0, 0, target, "was never measured"},
		"nothing, and it would have no target": {0, 0, 0, 0, "was never measured"},
	} {
		f := figure{target: c.target}
		for range c.n - 1 {
			f.add(c.most)
		}
		if c.n > 0 {
			f.add(c.worst)
		}
		if got := f.fault(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// benchReverts measures how long Argo CD without the stanza has the Writer Service at the old instance: from the watch's event of the revert
// to its event of poolwright's patch. Commits of somebody else make Argo CD sync, and so begin its self-heal anew, but not so often that poolwright slows down.
func benchReverts(t *testing.T, r *report, n int) {
	c := bootstrapArgo(t, argo{webhook: true})
	c.p.Stop()
	c.kubeconfig = c.direct()
	c.restart()
	let := c.holdPushes()
	c.failover("b")
	c.awaitOverride("b")
	again := &figure{what: "Argo CD without the stanza: put back → moved again, on the wire", target: 200 * time.Millisecond}
	for i := 0; len(now(c.stage, c.exposures)) < n; i++ {
		c.awaitLull()
		text := "note " + strconv.Itoa(i)
		c.someone(text, "clusters/story/custom/note.yaml", note("note", text))
		c.tool.look(c)
		c.awaitNote(text)
	}
	c.awaitReverts(n)
	for _, e := range now(c.stage, c.exposures) {
		again.add(e.lasted)
	}
	r.add(again)
	let()
	c.awaitHandedBack("b", 2)
	c.p.Stop()
}

// awaitLull waits until the Writer Service was put back less than five times within a minute: poolwright slows down after ten, and
// each commit brings up to four.
func (c *cluster) awaitLull() {
	c.t.Helper()
	for {
		var recent []time.Time
		for _, p := range now(c.stage, func() []sighting { return c.past }) {
			if p.object == "service/story-writer" && p.service.manager != "" && p.service.instance() == "a" && time.Since(p.at) < time.Minute {
				recent = append(recent, p.at)
			}
		}
		if len(recent) < 5 {
			return
		}
		<-time.After(time.Until(recent[len(recent)-5].Add(time.Minute)))
	}
}
