//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/poolwright/poolwright/test/pgcluster"
)

// TestCoreD21OrderFromBehind: the tool has not applied Git's newest commit, so the person who orders counts from an older one, and comes
// to the epoch that Git has. The Services are moved once.
func TestCoreD21OrderFromBehind(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	c.pg.Stop("c", pgcluster.Fast)
	c.git.AwaitSubject(2, "(epoch 2)")
	if out, code := c.asPerson("patch", "--to", "b", "--reason", "a is slow", "--force", "--yes"); code != 0 {
		t.Fatalf("patch: exit code %d\n%s", code, out)
	}
	c.awaitOverride("b")
	c.git.Await("the order", func() bool { return strings.Contains(strings.Join(c.git.Subjects(), "\n"), "writer a → b") })
	c.wantWriters("a by kubectl-client-side-apply", "b by "+fieldManager)
}

// TestFluxBackwards: the repository is put back to its first commit, so that it counts from below what is live, and Flux does not come to
// the next one. The override of a failover then holds: an old receipt proves nothing.
func TestFluxBackwards(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{})
	first := c.git.Commits()[0]
	c.failover("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.awaitHandedBack("b", 2)
	c.pg.Rejoin("a")
	c.git.AwaitSubject(3, "epoch 3")
	c.awaitHandedBack("b", 3)
	c.suspend(gitRepositories, "flux-system", true)
	c.git.MustGit("update-ref", "refs/heads/main", first)
	c.failover("c")
	c.awaitOverride("c")
	c.git.Await("a commit that says c", func() bool { return strings.Contains(strings.Join(c.git.Subjects(), "\n"), "→ c") })
	c.request(kustomizations, "story") // it applies what it has
	c.awaitServing("c")
	c.wantFrozenAhead("c", "3")
	c.suspend(gitRepositories, "flux-system", false)
	c.request(gitRepositories, "flux-system")
	c.awaitHandedBackAtHead("c")
	if n := c.reverts("c"); n > 0 {
		t.Errorf("the Writer Service was put back %d times", n)
	}
}

// TestFluxPatchServicesOff: the Cluster file leaves the Services to Flux from now on, in the middle of an override. That one is handed
// back as ever; the next failover is Flux's alone.
func TestFluxPatchServicesOff(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{}, "  failover: {patchServices: true}")
	c.suspend(kustomizations, "story", true)
	c.failover("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.awaitOverride("b")
	c.edit("patchServices: true", "patchServices: false")
	c.suspend(kustomizations, "story", false)
	c.request(kustomizations, "story")
	c.await(t, "nothing of an override", func() bool {
		return c.service("writer").isClean() && c.service("reader").isClean() && c.service("writer").annotations[epochAnnotation] != "1"
	})
	c.pg.Rejoin("a")
	c.failover("c")
	c.git.Await("writer b → c", func() bool { return strings.Contains(strings.Join(c.git.Subjects(), "\n"), "writer b → c") })
	c.awaitWriter("c")
	c.wantOwner("kustomize-controller")
}

// TestFluxRenamedInAnOverride: the Cluster file gives the Writer Service another name in the middle of an override. The old one is freed, so
// that Flux prunes it.
func TestFluxRenamedInAnOverride(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{}, "  services: {writer: {name: writer}}")
	c.suspend(kustomizations, "story", true)
	c.failover("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.awaitOverride("b")
	c.edit("name: writer", "name: primary")
	c.await(t, "the old Service to be free", func() bool { return c.service("writer").isClean() })
	c.git.Await("the new name", func() bool { return strings.Contains(c.git.File("main", "services.yaml"), "primary") })
}
