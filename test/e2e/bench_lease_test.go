//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/test/driver"
)

// pairs is how many Leases change hands at the same time: to wait for the end of one takes 15 s.
const pairs = 5

// benchTakeovers measures how long a Lease has no holder that lives: from the signal to the watch's event of the other's name in it.
func benchTakeovers(t *testing.T, r *report, n int) {
	c := bootstrap(t, hands{})
	c.p.Stop()
	c.grant(fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: bench, namespace: %[1]s}
rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: bench, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: bench}
subjects: [{kind: ServiceAccount, name: poolwright, namespace: %[1]s}]
`, c.ns))
	c.kubeconfig = c.direct()
	asked := &figure{what: "Lease: SIGTERM of the holder → the other holds it", target: 3 * time.Second}
	killed := &figure{what: "Lease: kill -9 of the holder → the other holds it"}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range pairs {
		p := c.newPair("bench-" + strconv.Itoa(i))
		rounds := (n + pairs - 1) / pairs
		all.Go(func() {
			for range rounds {
				d, k := p.takeover((*driver.Process).Stop), p.takeover((*driver.Process).Kill)
				mu.Lock()
				asked.add(d)
				killed.add(k)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	r.add(asked, killed)
}

// pair is two processes with one Lease.
type pair struct {
	c               *cluster
	lease           string
	holder, standby *driver.Process

	mu   sync.Mutex
	name string
	at   time.Time
	news chan struct{}
}

func (c *cluster) newPair(lease string) *pair {
	c.t.Helper()
	p := &pair{c: c, lease: lease, news: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	c.t.Cleanup(cancel)
	go p.watch(ctx)
	p.holder = p.run()
	p.await("")
	p.standby = p.another()
	return p
}

func (p *pair) run() *driver.Process {
	return driver.Start(p.c.t, "run", "-f", p.c.file, "--kubeconfig", p.c.kubeconfig, "--lease", p.lease)
}

// another begins a process that stands by.
func (p *pair) another() *driver.Process {
	process := p.run()
	process.AwaitLine("msg=standby")
	return process
}

func (p *pair) watch(ctx context.Context) {
	for ctx.Err() == nil {
		w, err := p.c.client.CoordinationV1().Leases(p.c.ns).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + p.lease})
		if err != nil {
			continue
		}
		for e := range w.ResultChan() {
			if l, ok := e.Object.(*coordinationv1.Lease); ok && l.Spec.HolderIdentity != nil {
				p.see(*l.Spec.HolderIdentity)
			}
		}
	}
}

func (p *pair) see(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name != p.name {
		p.name, p.at = name, time.Now()
	}
	select {
	case p.news <- struct{}{}:
	default:
	}
}

func (p *pair) seen() (string, time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.name, p.at
}

// await waits until the Lease has another holder, and returns when that was seen.
func (p *pair) await(before string) time.Time {
	late := time.NewTimer(driver.Patience)
	defer late.Stop()
	for {
		if name, at := p.seen(); name != "" && name != before {
			return at
		}
		select {
		case <-p.news:
		case <-late.C:
			p.c.t.Errorf("nobody takes lease %s", p.lease)
			return time.Now()
		}
	}
}

// takeover ends the holder, and returns how long it was until the other held the Lease.
func (p *pair) takeover(end func(*driver.Process)) time.Duration {
	before, _ := p.seen()
	began := time.Now()
	end(p.holder)
	at := p.await(before)
	p.holder, p.standby = p.standby, p.another()
	return at.Sub(began)
}
