//go:build e2e

package e2e

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/poolwright/poolwright/test/driver"
)

// TestFluxKilledAtEachStep: poolwright is killed with signal 9 at each step of the protocol and started again, at once and half a minute later. Each time it ends as if
// nothing had happened: one commit, the Writer never back at a, nothing left behind.
func TestFluxKilledAtEachStep(t *testing.T) {
	writer, reader := isPatchOf("writer"), isPatchOf("reader")
	for name, c := range map[string]struct {
		at   func(c *cluster, kill func())
		dead func(c *cluster) // what is looked at meanwhile
	}{
		"before the patch": {at: func(c *cluster, kill func()) { c.gate.before(both(writer, moves), kill) }},
		"after the Writer": {at: func(c *cluster, kill func()) { c.gate.after(both(writer, moves), kill) }},
		"after the Reader": {at: func(c *cluster, kill func()) { c.gate.after(both(reader, moves), kill) }},
		"15 before the push": {at: func(c *cluster, kill func()) {
			c.git.Server.Intercept(func(_ http.ResponseWriter, q *http.Request) bool {
				if !driver.IsPush(q) {
					return false
				}
				c.git.Server.Intercept(nil)
				kill()
				panic(http.ErrAbortHandler)
			})
		}},
		"16 after the push": {at: func(c *cluster, kill func()) {
			kill = sync.OnceFunc(kill)
			c.git.After(func() { kill(); c.tool.look(c) })
		}},
		"11 after the receipt": {
			at: func(c *cluster, kill func()) { c.gate.before(unfreezes, kill) },
			dead: func(c *cluster) { // Flux says that it has applied the commit; the frozen Services prove the contrary
				c.awaitApplied("main")
				for _, role := range []string{"writer", "reader"} {
					svc := now(c.stage, func() service { return c.service(role) })
					if svc.annotations[epochAnnotation] != "1" || svc.annotations[freezeAnnotation] != "disabled" || !svc.isOverridden() {
						c.t.Errorf("the %s has annotations %v", role, svc.annotations)
					}
				}
			},
		},
		"17 after the first unfreeze":  {at: func(c *cluster, kill func()) { c.gate.after(both(writer, unfreezes), kill) }},
		"17 after the second unfreeze": {at: func(c *cluster, kill func()) { c.gate.after(both(reader, unfreezes), kill) }},
		"17 before the release":        {at: func(c *cluster, kill func()) { c.gate.before(releases, kill) }},
		"17 after the first release":   {at: func(c *cluster, kill func()) { c.gate.after(releases, kill) }},
	} {
		for after, away := range map[string]time.Duration{"": 0, ", for half a minute": 30 * time.Second} {
			t.Run(name+after, func(t *testing.T) {
				t.Parallel()
				k := bootstrap(t, flux{})
				killed := make(chan struct{})
				p := k.p
				c.at(k, func() { p.Kill(); close(killed) })
				k.failover("b")
				k.awaitKill(killed)
				if c.dead != nil {
					c.dead(k)
				}
				<-time.After(away)
				k.start()
				k.wantAsIfNothing()
			})
		}
	}
}

// wantAsIfNothing wants the end of a failover to b that nobody died in.
func (c *cluster) wantAsIfNothing() {
	c.t.Helper()
	c.awaitHandedBack("b", 2)
	c.wantCommits("first tree", "writer a → b (epoch 2)")
	c.wantOwner("kustomize-controller")
	c.wantNeverTwo()
	for _, s := range c.selections("writer")[1:] {
		if s.instance != "b" {
			c.t.Errorf("the Writer was at %s again, by %s", s.instance, s.manager)
		}
	}
	c.p.Stop()
	c.git.WantSoundHistory()
}

// awaitKill waits until poolwright has been killed where it was meant to be.
func (c *cluster) awaitKill(killed <-chan struct{}) {
	c.t.Helper()
	select {
	case <-killed:
	case <-time.After(driver.Patience):
		c.t.Fatalf("poolwright never came to the step\n%s", c.describe())
	}
}
