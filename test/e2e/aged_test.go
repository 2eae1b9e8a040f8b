//go:build e2e

// What takes long begins first, and so stands in the first file.

package e2e

import (
	"strings"
	"testing"
	"time"
)

// TestCore07D20GitDown: the Git server is away for the whole failover and for ten minutes after. The override holds and its age is told; when
// the server is back the commit says what is live.
func TestCore07D20GitDown(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	c.git.Down()
	c.failover("b")
	c.awaitOverride("b")
	c.awaitServing("b")
	c.p.AwaitLine("git-failed")
	out, said, code := c.once("status", "-f", c.file, "--lease-namespace", c.ns, "--exit-code")
	if code != 1 || !strings.Contains(out, "live ahead of Git since") || !strings.Contains(out, "a → b") {
		t.Errorf("status: exit code %d\n%s%s", code, out, said)
	}
	c.p.AwaitLine("hindered", "ahead-of-git", "a → b")
	<-time.After(10 * time.Minute)
	if out, _, _ := c.once("status", "-f", c.file, "--lease-namespace", c.ns); !strings.Contains(out, "live ahead of Git since") {
		t.Errorf("status after ten minutes:\n%s", out)
	}
	c.wantWriters("a by kubectl-client-side-apply", "b by "+fieldManager)
	c.git.Up()
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.wantAsInGit()
	known := c.p.Text()
	c.apply("main", "--server-side", "--force-conflicts")
	c.awaitHandedBack("b", 2)
	c.p.AwaitLineAfter(known, "cleared", "ahead-of-git")
	out, said, code = c.once("status", "-f", c.file, "--lease-namespace", c.ns, "--exit-code")
	if strings.Contains(out, "ahead of Git") {
		t.Errorf("status after the hand-back: exit code %d\n%s%s", code, out, said)
	}
}
