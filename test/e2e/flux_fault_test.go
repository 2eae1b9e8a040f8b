//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poolwright/poolwright/test/driver"
)

// TestFlux01InFlight: Flux read the Service before our patch and applies the old one after it. That is undone once; the freeze
// is not Flux's to take off, so there is no second time.
func TestFlux01InFlight(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{})
	c.suspend(kustomizations, "story", true)
	c.failover("b")
	c.awaitOverride("b")
	c.asFlux("writer", c.git.Commits()[0])
	c.p.AwaitLine("reasserted", "kustomize-controller had put it back")
	c.awaitEvent("writer", "Reasserted", "kustomize-controller put it back")
	c.awaitServing("b")
	c.suspend(kustomizations, "story", false)
	c.awaitHandedBack("b", 2)
	c.wantWriters("a by kustomize-controller", "b by "+fieldManager, "a by kustomize-controller", "b by "+fieldManager)
	c.wantOwner("kustomize-controller")
}

// asFlux applies a role's Service of a commit the way kustomize-controller does.
func (c *cluster) asFlux(role, commit string) {
	c.t.Helper()
	for doc := range strings.SplitSeq(c.git.File(commit, "services.yaml"), "\n---\n") {
		if driver.YAMLValue(doc, "name") != "story-"+role {
			continue
		}
		doc = strings.Replace(doc, "  labels:\n", fmt.Sprintf("  labels:\n    kustomize.toolkit.fluxcd.io/name: story\n    kustomize.toolkit.fluxcd.io/namespace: %s\n", c.ns), 1)
		c.run(c.t, doc, "kubectl", "-n", c.ns, "apply", "--server-side", "--force-conflicts", "--field-manager=kustomize-controller", "-f", "-")
	}
}

// TestFlux09CommitCannotBeApplied: something else in the same directory is invalid, and Flux applies nothing of it. The override
// holds without a receipt; when it is mended, the Services are handed back.
func TestFlux09CommitCannotBeApplied(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{branch: "deploy"})
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.deployEdited("main", "base/poddisruptionbudget.yaml", "spec:", "spec:\n  maxUnavailable: [wrong]")
	c.awaitKustomization("the failure", func(o *unstructured.Unstructured) bool {
		return strings.HasSuffix(field(o, "status", "lastAttemptedRevision"), c.git.Tip("deploy")) && isNotReady(o)
	})
	c.wantFrozenAhead("b", "1")
	c.deploy("main")
	c.awaitHandedBack("b", 2)
	c.wantWriters("a by kustomize-controller", "b by "+fieldManager)
}

func isNotReady(o *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Ready" {
			return m["status"] == "False"
		}
	}
	return false
}

// wantFrozenAhead wants both Services to be ahead of Git at an instance, frozen, with the receipt of an older epoch.
func (c *cluster) wantFrozenAhead(writer, receipt string) {
	c.t.Helper()
	for _, role := range []string{"writer", "reader"} {
		svc := now(c.stage, func() service { return c.service(role) })
		if !svc.isOverridden() || svc.record().To != writer || svc.annotations[freezeAnnotation] != "disabled" || svc.annotations[epochAnnotation] != receipt {
			c.t.Errorf("the %s has annotations %v, want it ahead of Git", role, svc.annotations)
		}
	}
	if got := now(c.stage, func() string { return c.service("writer").instance() }); got != writer {
		c.t.Errorf("the Writer is at %q", got)
	}
}

// TestFlux10WaitNeverReady: with spec.wait the Kustomization waits for a pod that never becomes ready, and its lastAppliedRevision
// stays behind. The hand-back does not wait for it.
func TestFlux10WaitNeverReady(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{wait: true})
	c.kubectl("annotate", "pods", "-l", instanceKey+"=a", "bed.poolwright.dev/ready=false")
	c.await(t, "a to have no ready pod", func() bool { return c.ready("a") == 0 })
	c.failover("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.awaitHandedBack("b", 2)
	if got := c.status("lastAppliedRevision"); strings.HasSuffix(got, c.git.Tip("main")) {
		t.Errorf("the Kustomization says that it has applied %s, so this test shows nothing", got)
	}
	c.wantOwner("kustomize-controller")
}

// TestFlux12ControllerDown: kustomize-controller does not run. The override holds, and nothing is released without a receipt; when
// it is back the Services are handed back. Not in parallel: everybody uses it.
func TestFlux12ControllerDown(t *testing.T) {
	c := bootstrap(t, flux{})
	up := c.down(t, "kustomize-controller")
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.p.AwaitLine("handover", "committed")
	c.wantFrozenAhead("b", "1")
	if asked := c.gate.all(func(q question) bool { return releases(q) || unfreezes(q) }); len(asked) > 0 {
		t.Errorf("without a receipt it asked for %v", asked)
	}
	up()
	c.awaitHandedBack("b", 2)
	c.wantWriters("a by kustomize-controller", "b by "+fieldManager)
}

// TestFlux13RevertDuringOverride: a person reverts the failover in Git before Flux has applied it. That holds the commits and is said; the
// Services stay where the databases are. After a resume the truth is committed under a new epoch.
func TestFlux13RevertDuringOverride(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{})
	c.suspend(kustomizations, "story", true)
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.revert()
	c.p.AwaitLine("decided", "hold", "revert")
	c.suspend(kustomizations, "story", false)
	c.awaitApplied("main")
	c.wantFrozenAhead("b", "1")
	c.wantSaid("hindered", "ahead-of-git")
	if out, code := c.asPerson("resume"); code != 0 {
		t.Fatalf("resume: exit code %d\n%s", code, out)
	}
	c.git.AwaitSubject(4, "writer a → b (epoch 3)")
	c.awaitHandedBack("b", 3)
	c.wantWriters("a by kustomize-controller", "b by "+fieldManager)
}

// revert is git revert of main's head by a person, pushed.
func (c *cluster) revert() {
	c.t.Helper()
	work := filepath.Join(c.t.TempDir(), "work")
	c.git.MustGit("clone", "-q", c.git.Dir, work)
	for _, args := range [][]string{{"revert", "--no-edit", "HEAD"}, {"push", "-q", "origin", "main"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=P", "GIT_AUTHOR_EMAIL=p@example.com", "GIT_COMMITTER_NAME=P", "GIT_COMMITTER_EMAIL=p@example.com")
		if out, err := cmd.CombinedOutput(); err != nil {
			c.t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	c.tool.look(c)
}

// TestFlux13RevertAfterHandBack: a person reverts the failover when Git owns the Services again. Flux obeys Git, and so does poolwright:
// it says that what is applied went backwards, and patches nothing. After a resume the failover is made again.
func TestFlux13RevertAfterHandBack(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{})
	c.failover("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.awaitHandedBack("b", 2)
	patched := len(c.gate.all(isServicePatch))
	c.revert()
	c.awaitWriter("a")
	c.p.AwaitLine("decided", "hold", "revert")
	c.awaitApplied("main")
	if n := len(c.gate.all(isServicePatch)); n != patched {
		t.Errorf("against a person's revert it made %d patches", n-patched)
	}
	if out, code := c.asPerson("resume"); code != 0 {
		t.Fatalf("resume: exit code %d\n%s", code, out)
	}
	c.git.AwaitSubject(4, "writer a → b (epoch 3)")
	c.awaitHandedBack("b", 3)
	c.wantNeverTwo()
}

// TestFlux14PersonEditsTheService: a person puts the live Writer back during an override. It is moved again and the person named, unless
// the person has paused the cluster; then it stays until the resume.
func TestFlux14PersonEditsTheService(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{})
	c.suspend(kustomizations, "story", true)
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	back := func() {
		c.kubectl("patch", "service", "story-writer", "--type=merge", "-p", `{"spec":{"selector":{"`+instanceKey+`":"a"}}}`)
	}
	back()
	c.awaitEvent("writer", "Reasserted", "kubectl-patch put it back")
	c.awaitServing("b")
	c.wantWriters("a by kustomize-controller", "b by "+fieldManager, "a by kubectl-patch", "b by "+fieldManager)

	known := c.p.Text()
	if out, code := c.asPerson("pause", "--reason", "I do this by hand"); code != 0 {
		t.Fatalf("pause: exit code %d\n%s", code, out)
	}
	c.p.AwaitLineAfter(known, "handover", "blocked")
	patched := len(c.gate.all(isServicePatch))
	back()
	c.awaitServing("a")
	if out, _ := c.asPerson("status", "--lease-namespace", c.ns); !strings.Contains(out, "I do this by hand") || !strings.Contains(out, "live ahead of Git") {
		t.Errorf("status says\n%s", out)
	}
	if n := len(c.gate.all(isServicePatch)); n != patched {
		t.Errorf("while paused it made %d patches", n-patched)
	}
	if out, code := c.asPerson("resume"); code != 0 {
		t.Fatalf("resume: exit code %d\n%s", code, out)
	}
	c.awaitServing("b")
	c.suspend(kustomizations, "story", false)
	c.awaitHandedBack("b", 2)
	c.wantOwner("kustomize-controller")
}

// TestFlux18Uninstalled: poolwright is gone for good in the middle of an override. The frozen Services stay right while Flux applies
// other commits; a person takes everything off with `release --force`, and Flux goes on.
func TestFlux18Uninstalled(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{})
	c.suspend(kustomizations, "story", true)
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.p.Kill()
	c.suspend(kustomizations, "story", false)
	c.foreign("somebody else", "elsewhere.yaml", "n: 1\n")
	c.tool.look(c)
	c.awaitApplied("main")
	c.wantFrozenAhead("b", "1")
	if out, code := c.asPerson("release"); code != 4 {
		t.Errorf("release: exit code %d\n%s", code, out)
	}
	if out, code := c.asPerson("release", "--force"); code != 0 {
		t.Fatalf("release --force: exit code %d\n%s", code, out)
	}
	c.request(kustomizations, "story")
	c.awaitHandedBack("b", 2)
	c.wantWriters("a by kustomize-controller", "b by "+fieldManager)
}
