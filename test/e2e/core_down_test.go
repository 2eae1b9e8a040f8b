//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// TestCore33APIServerDown: it does not answer in a failover. The commit goes out alone; the Services follow when it is back.
// Not in parallel: everybody uses it.
func TestCore33APIServerDown(t *testing.T) {
	c := bootstrap(t, hands{})
	up := c.down(t, "apiserver")
	c.failover("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.p.AwaitLine("hindered", "api server: unreachable", "hint: Git goes on alone")
	up()
	c.awaitOverride("b")
	c.p.AwaitLine("cleared", "api server: unreachable")
	c.apply("main", "--server-side", "--force-conflicts")
	c.awaitHandedBack("b", 2)
	c.wantNeverTwo()
	c.p.Stop()
}

// TestCoreControlPlaneRestarts: etcd and the API server are killed in the middle of an override, and another failover comes
// while they are away. Not in parallel.
func TestCoreControlPlaneRestarts(t *testing.T) {
	c := bootstrap(t, hands{})
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	up := c.down(t, "apiserver", "etcd")
	c.pg.Rejoin("a")
	c.failover("c")
	c.git.Await("writer b → c", func() bool { return strings.Contains(strings.Join(c.git.Subjects(), "\n"), "writer b → c") })
	up()
	c.awaitOverride("c")
	c.apply("main", "--server-side", "--force-conflicts")
	c.awaitHandedBackAtHead("c")
	c.p.Stop()
	c.git.WantSoundHistory()
}
