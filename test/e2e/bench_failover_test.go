//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/poolwright/poolwright/test/driver"
	"github.com/poolwright/poolwright/test/pgcluster"
)

// failovers are the figures of all rounds.
type failovers struct {
	*cluster
	known  string // of the log
	pushes *pushes

	patched, answered, noticed, served, committed, back *figure
	reverts                                             int
}

// benchFailovers moves the writer n times, n times more under the eyes of the sampler, and then looks at a minute of nothing.
func benchFailovers(t *testing.T, r *report, n int) {
	b := newFailovers(t)
	writers := []string{"b", "c", "a"}
	for i := range n {
		b.round(writers[i%3])
	}
	r.add(b.patched, b.answered, b.noticed, b.served, b.committed, b.back)
	s := b.sample()
	for i := range n {
		b.round(writers[(n+i)%3])
	}
	reads, two, none := s.end()
	r.count("failover → put back by Flux", strconv.Itoa(b.reverts), 2*n, "≤ 1 each")
	r.count("sampler: two instances behind the Writer Service", strconv.Itoa(two), reads, "0")
	r.count("sampler: nobody behind the Writer Service", strconv.Itoa(none), reads, "0")
	if two+none > 0 {
		t.Errorf("two instances seen %d times, none %d times", two, none)
	}
	b.idle(r, n)
	b.p.Stop()
}

func newFailovers(t *testing.T) *failovers {
	t.Helper()
	c := newCluster(t, flux{quiet: true})
	b := &failovers{
		cluster: c, pushes: &pushes{},
		noticed:   &figure{what: "role change visible in the database → Writer Service patched", target: 300 * time.Millisecond},
		patched:   &figure{what: "decided → Writer Service patched", target: 50 * time.Millisecond},
		answered:  &figure{what: "of that: the API server's own time"},
		served:    &figure{what: "role change visible → only the new writer's pods in the EndpointSlices", target: 500 * time.Millisecond},
		committed: &figure{what: "decided → committed and pushed"},
		back:      &figure{what: "pushed → handed back, nothing of poolwright's left; with the right to ask Flux to look"},
	}
	c.kubeconfig = c.direct()
	c.start("--log-format", "json")
	c.git.AwaitSubject(1, "first tree, writer a")
	c.tool.begin(c)
	c.git.After(func() { b.pushes.note(c.git.Tip("main")) })
	c.awaitRest("a", 1)
	printed, _ := c.asPerson("gitops-config", "--flux", "--service-account", c.ns+"/poolwright")
	c.grant(uncommented(printed))
	return b
}

// direct is a kubeconfig that does not lead through the gate.
func (c *cluster) direct() string {
	c.t.Helper()
	return c.kubeconfigFor("poolwright", &clientcmdapi.Cluster{Server: c.config.Host, CertificateAuthorityData: c.config.CAData, CertificateAuthority: c.config.CAFile})
}

// round kills the writer, promotes another server, and waits until all is handed back.
func (b *failovers) round(to string) {
	b.t.Helper()
	from := b.pg.Primary().Name
	b.known = b.p.Text()
	mark, audited := now(b.stage, func() int { return len(b.past) }), b.audited()
	visible := driver.WhenPromoted(b.t, b.pg.Node(to))
	b.pg.Stop(from, pgcluster.Immediate)
	b.pg.Promote(to)
	b.awaitServing(to)
	b.await(b.t, "the end of the override to "+to, func() bool { return b.isBack(mark, to) })
	back := time.Now()

	seen := <-visible
	decided := b.loggedAt("decided", "failover")
	patch := b.patchOf("story-writer", audited)
	patched, served := patch.StageTimestamp, now(b.stage, func() time.Time { return b.firstServing(mark, to) })
	pushed := b.pushes.first(decided)
	b.noticed.add(patched.Sub(seen))
	b.patched.add(patched.Sub(decided))
	b.answered.add(patched.Sub(patch.RequestReceivedTimestamp))
	b.served.add(served.Sub(seen))
	b.committed.add(pushed.Sub(decided))
	b.back.add(back.Sub(pushed))
	reverts := now(b.stage, func() int { return b.revertsSince(mark, to) })
	if b.reverts += reverts; reverts > 1 {
		b.t.Errorf("%s → %s: put back %d times", from, to, reverts)
	}
	b.t.Logf("%s → %s: patched %v after the role change and %v after the decision (%v of them in the API server), served after %v, pushed after %v, back after %v", from, to,
		patched.Sub(seen), patched.Sub(decided), patched.Sub(patch.RequestReceivedTimestamp), served.Sub(seen), pushed.Sub(decided), back.Sub(pushed))
	b.pg.Rejoin(from)
}

// isBack reports whether the Writer has been moved and nothing of the override is left. It needs the stage's mutex.
func (b *failovers) isBack(mark int, to string) bool {
	return !b.firstPatch(mark, to).IsZero() && b.service("writer").instance() == to && b.service("writer").isClean() && b.service("reader").isClean() &&
		b.data("story-control")["override"] == ""
}

// firstPatch is when the Writer Service was seen to select an instance. It needs the stage's mutex.
func (b *failovers) firstPatch(mark int, to string) time.Time {
	return b.first(mark, func(p sighting) bool { return p.object == "service/story-writer" && p.service.instance() == to })
}

// firstServing is when exactly an instance was seen behind it. It needs the stage's mutex.
func (b *failovers) firstServing(mark int, to string) time.Time {
	return b.first(mark, func(p sighting) bool { return p.object == "behind/story-writer" && p.behind == to })
}

func (b *failovers) first(mark int, is func(sighting) bool) time.Time {
	if i := slices.IndexFunc(b.past[mark:], is); i >= 0 {
		return b.past[mark+i].at
	}
	return time.Time{}
}

// revertsSince is how often the Writer Service was moved away again. It needs the stage's mutex.
func (b *failovers) revertsSince(mark int, to string) (n int) {
	there := false
	for _, p := range b.past[mark:] {
		if p.object != "service/story-writer" {
			continue
		}
		if there && p.service.instance() != to {
			n++
		}
		there = p.service.instance() == to
	}
	return n
}

// loggedAt is the time of the first line of this round's log with a message and a detail that begins like this.
func (b *failovers) loggedAt(message, detail string) time.Time {
	b.t.Helper()
	line := b.p.AwaitLineAfter(b.known, `"msg":"`+message+`"`, `"detail":"`+detail)
	var said struct{ Time time.Time }
	check(b.t, json.Unmarshal([]byte(line), &said))
	return said.Time
}

// pushes are the pushes that have been carried out.
type pushes struct {
	mu  sync.Mutex
	all []push
}

type push struct {
	at  time.Time
	tip string
}

func (p *pushes) note(tip string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, push{time.Now(), tip})
}

// first is the first push after a time.
func (p *pushes) first(after time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.all {
		if q.at.After(after) {
			return q.at
		}
	}
	return time.Time{}
}

// sampler reads the Writer's EndpointSlices again and again.
type sampler struct {
	stop func()
	done chan struct{}

	reads, two, none int
}

// sample begins to read, where exactly one instance must be.
func (c *cluster) sample() *sampler {
	ctx, cancel := context.WithCancel(context.Background())
	s := &sampler{stop: cancel, done: make(chan struct{})}
	c.t.Cleanup(cancel)
	go func() {
		defer close(s.done)
		for ctx.Err() == nil {
			list, err := c.client.DiscoveryV1().EndpointSlices(c.ns).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=story-writer"})
			if err != nil {
				continue
			}
			s.reads++
			switch behind := instancesOf(list.Items); {
			case behind == "":
				s.none++
			case strings.Contains(behind, " "):
				s.two++
			}
		}
	}()
	return s
}

func (s *sampler) end() (reads, two, none int) {
	s.stop()
	<-s.done
	return s.reads, s.two, s.none
}

// idle counts what poolwright asks the API server for while nothing happens: a minute, or ten seconds of a smoke.
func (b *failovers) idle(r *report, n int) {
	b.t.Helper()
	span := time.Minute
	if n == smokeRounds {
		span = 10 * time.Second
	}
	b.p.AwaitLineAfter(b.known, `"msg":"window-closed"`)
	from := b.audited()
	<-time.After(span)
	asked := b.auditSince(from)
	lease, lists, writes, rest := 0, 0, 0, 0
	for _, a := range asked {
		switch {
		case a.ObjectRef.Resource == "leases":
			lease++
		case a.Verb == "list":
			lists++
		case a.Verb == "get" || a.Verb == "watch":
			rest++
		default:
			writes++
		}
	}
	r.count("at rest: requests to the API server a minute", fmt.Sprintf("%d for the Lease, %d lists, %d writes, %d others", perMinute(lease, span), perMinute(lists, span), perMinute(writes, span), perMinute(rest, span)), len(asked), "0 lists, 0 writes")
	if lists+writes > 0 {
		b.t.Errorf("%d lists and %d writes in %v of nothing", lists, writes, span)
	}
}

func perMinute(n int, span time.Duration) int {
	return int(float64(n) * float64(time.Minute) / float64(span))
}
