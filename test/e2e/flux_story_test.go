//go:build e2e

package e2e

import "testing"

// TestFluxWholeStory: no webhook, no configuration of Flux, ten seconds between its looks. A failover moves the Services at
// once; Flux does not put them back; the commit is applied, and nothing of poolwright's is left. Then Git is obeyed again.
func TestFluxWholeStory(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{quiet: true})
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.awaitHandedBack("b", 2)
	if n := c.reverts("a"); n > 1 {
		t.Errorf("the Writer Service was put back %d times, want at most the one that was in flight", n)
	}
	c.wantNeverTwo()
	c.wantOwner("kustomize-controller")

	c.pg.Rejoin("a")
	c.git.AwaitSubject(3, "readers gain a (epoch 3)")
	c.awaitHandedBack("b", 3)
	c.p.Stop()
	c.git.WantSoundHistory()
}
