//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// ordered gives an order for b, against what the databases say.
func (c *cluster) ordered() {
	c.t.Helper()
	if out, code := c.asPerson("patch", "--to", "b", "--reason", "a is slow", "--force", "--yes"); code != 0 {
		c.t.Fatalf("patch: exit code %d\n%s", code, out)
	}
	c.awaitOverride("b")
}

// wantNoOrder wants nothing of a person's order to be left.
func (c *cluster) wantNoOrder() {
	c.t.Helper()
	if said := now(c.stage, func() map[string]string { return c.data("story-control") }); said["order"] != "" || said["override"] != "" {
		c.t.Errorf("the control ConfigMap says %v", said)
	}
}

// TestCore18ReleaseBeforeGitHasIt: a person orders b, and takes it back before the order could be committed. The poolwright that runs
// puts the Services back at once; Git never hears of it.
func TestCore18ReleaseBeforeGitHasIt(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	c.git.Down()
	c.ordered()
	out, code := c.asPerson("release")
	if code != 4 || !strings.Contains(out, "--force") {
		t.Errorf("release: exit code %d\n%s", code, out)
	}
	out, code = c.asPerson("release", "--force")
	if code != 0 || !strings.Contains(out, "handed back by the poolwright that runs") || !strings.Contains(out, "Git has what the Services select") {
		t.Errorf("release --force: exit code %d\n%s", code, out)
	}
	c.awaitHandedBack("a", 1)
	c.awaitServing("a")
	c.wantNoOrder()
	known := c.p.Text()
	c.git.Up()
	c.p.AwaitLineAfter(known, "git-back")
	c.failover("b") // an epoch that was taken back is not used again
	c.git.AwaitSubject(2, "writer a → b (epoch 3)")
	c.apply("main", "--server-side", "--force-conflicts")
	c.awaitHandedBack("b", 3)
	c.wantCommits("first tree", "writer a → b (epoch 3)")
}

// TestCore18ReleaseOfWhatGitHas: the order is in Git already. Taken back, what the databases say is a failover like any other, and the
// command says so.
func TestCore18ReleaseOfWhatGitHas(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	c.ordered()
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	out, code := c.asPerson("release", "--force")
	if code != 0 || !strings.Contains(out, "moved on by the poolwright that runs, to a (epoch 3)") {
		t.Errorf("release --force: exit code %d\n%s", code, out)
	}
	c.awaitServing("a")
	c.git.AwaitSubject(4, "readers gain b (epoch 4)") // after the way back
	c.wantCommits("first tree", "writer a → b (epoch 2)", "writer b → a (epoch 3)", "readers gain b (epoch 4)")
	c.apply("main", "--server-side", "--force-conflicts")
	c.awaitHandedBack("a", 4)
	c.wantNoOrder()
}

// TestCore18ReleaseThatIsContested: poolwright itself moved the Services, because the databases say so. A release does not last, and says
// what does.
func TestCore18ReleaseThatIsContested(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	c.git.Down()
	c.failover("b")
	c.awaitOverride("b")
	out, code := c.asPerson("release", "--force")
	if code != 4 || !strings.Contains(out, "has moved them ahead of Git again, to b (epoch 3)") || !strings.Contains(out, "poolwright pause") {
		t.Errorf("release --force: exit code %d\n%s", code, out)
	}
	c.awaitOverride("b")
	if out, code := c.asPerson("pause", "--reason", "the override is given up"); code != 0 {
		t.Fatalf("pause: exit code %d\n%s", code, out)
	}
	c.p.AwaitLine("paused", "given up")
	if out, code := c.asPerson("release", "--force"); code != 0 || !strings.Contains(out, "story-writer selects b, and Git says a") {
		t.Errorf("release --force of a paused cluster: exit code %d\n%s", code, out)
	}
	c.await(t, "no trace of poolwright", func() bool {
		return c.service("writer").isClean() && c.service("reader").isClean() && c.data("story-control")["override"] == ""
	})
}
