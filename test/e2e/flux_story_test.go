//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestFluxD02D06WholeStory: Flux as it is installed, no webhook, ten seconds between its looks, and no way into Git for a while. A failover
// moves the Services at once; commits of others are applied meanwhile and Flux does not put the Services back; when the commit
// is applied nothing of poolwright's is left, and no pod was restarted. Then Git is obeyed again.
func TestFluxD02D06WholeStory(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{quiet: true})
	pods := c.sorted("pod")
	check(t, c.git.Hook("pre-receive", "echo 'not now' >&2; exit 1"))
	c.failover("b")
	c.awaitOverride("b")
	for n := range 2 {
		c.foreign(fmt.Sprintf("somebody else %d", n), "elsewhere.yaml", fmt.Sprintf("n: %d\n", n))
		c.awaitApplied("main")
	}
	c.wantWriters("a by kustomize-controller", "b by "+fieldManager)
	check(t, c.git.Hook("pre-receive", "exit 0"))
	c.git.AwaitSubject(4, "writer a → b (epoch 2)")
	c.awaitHandedBack("b", 2)
	if n := c.reverts("a"); n > 1 {
		t.Errorf("the Writer Service was put back %d times, want at most the one that was in flight", n)
	}
	c.wantNeverTwo()
	c.wantOwner("kustomize-controller")
	if got := c.sorted("pod"); !slices.Equal(got, pods) {
		t.Errorf("there are pods %q, were %q", got, pods)
	}

	c.pg.Rejoin("a")
	c.git.AwaitSubject(5, "readers gain a (epoch 3)")
	c.awaitHandedBack("b", 3)
	readers := c.selections("reader")
	if by := readers[len(readers)-1].manager; by != "kustomize-controller" {
		t.Errorf("the planned change was applied by %s", by)
	}
	c.p.Stop()
	c.git.WantSoundHistory()
}

// sorted are the names of a kind of objects.
func (c *cluster) sorted(kind string) []string {
	names := c.names(kind)
	slices.Sort(names)
	return names
}

// awaitApplied waits until Flux says that it has applied a revision of the repository.
func (c *cluster) awaitApplied(revision string) {
	c.t.Helper()
	commit := c.git.MustGit("rev-parse", revision)
	c.awaitKustomization("commit "+commit, func(o *unstructured.Unstructured) bool {
		return strings.HasSuffix(field(o, "status", "lastAppliedRevision"), commit)
	})
}

// deploy makes the branch that Flux applies be at a revision.
func (c *cluster) deploy(revision string) {
	c.t.Helper()
	c.git.MustGit("update-ref", "refs/heads/deploy", revision)
	c.tool.look(c)
}

// deployEdited is deploy with a file of the cluster's directory changed, in a commit of somebody else's.
func (c *cluster) deployEdited(revision, path, old, new string) {
	c.t.Helper()
	text := c.git.File(revision, path)
	if !strings.Contains(text, old) {
		c.t.Fatalf("%s has no %q:\n%s", path, old, text)
	}
	c.git.MustGit("update-ref", "refs/heads/edited", revision)
	c.commitOn("edited", "somebody else's", "clusters/story/"+path, strings.Replace(text, old, new, 1))
	c.deploy("edited")
}
