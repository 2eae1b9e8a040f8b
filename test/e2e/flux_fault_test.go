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

// TestFlux21SecondFailover: another one comes during the hand-back of the first, in the state before Flux has the commit and in the
// one after. Only the newest is waited for, and the Writer goes from a over b to c.
func TestFlux21SecondFailover(t *testing.T) {
	for name, handBack := range map[string]func(c *cluster) (goOn func()){
		"before Flux has the commit": func(c *cluster) func() {
			c.suspend(kustomizations, "story", true)
			c.failover("b")
			c.git.AwaitSubject(2, "writer a → b (epoch 2)")
			c.awaitOverride("b")
			return func() { c.suspend(kustomizations, "story", false) }
		},
		"after the receipt, before the unfreeze": func(c *cluster) func() {
			killed, p := make(chan struct{}), c.p
			c.gate.before(unfreezes, func() { p.Kill(); close(killed) })
			c.failover("b")
			c.awaitKill(killed)
			c.start()
			return func() {}
		},
		"after the unfreeze": func(c *cluster) func() {
			killed, p := make(chan struct{}), c.p
			c.gate.after(both(isPatchOf("reader"), unfreezes), func() { p.Kill(); close(killed) })
			c.failover("b")
			c.awaitKill(killed)
			return func() { c.start() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := bootstrap(t, flux{})
			goOn := handBack(c)
			c.pg.Rejoin("a")
			c.failover("c")
			goOn()
			c.git.Await("writer b → c", func() bool { return strings.Contains(strings.Join(c.git.Subjects(), "\n"), "writer b → c") })
			c.awaitHandedBackAtHead("c")
			var seen []string
			for _, s := range c.selections("writer") {
				if len(seen) == 0 || seen[len(seen)-1] != s.instance {
					seen = append(seen, s.instance)
				}
			}
			if got := strings.Join(seen, " "); got != "a b c" {
				t.Errorf("the Writer was at %s, want a b c\n%s", got, c.describe())
			}
			c.wantNeverTwo()
			c.wantOwner("kustomize-controller")
			c.git.WantSoundHistory()
		})
	}
}

// TestFluxFailBackBeforeMerge: Git cannot be written; the writer fails over and back before anything is committed. The Services go
// back with it and are released, for Git has said so all the time.
func TestFluxFailBackBeforeMerge(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{})
	c.git.Down()
	c.failover("b")
	c.awaitOverride("b")
	c.pg.Rejoin("a")
	c.failover("a")
	c.pg.Rejoin("b")
	c.awaitWriter("a")
	c.git.Up()
	c.awaitHandedBackAtHead("a")
	if all := strings.Join(c.git.Subjects(), "\n"); strings.Contains(all, "→ b") {
		t.Errorf("there are commits\n%s", all)
	}
	c.wantNeverTwo()
	c.wantOwner("kustomize-controller")
	c.failover("c") // Git is obeyed again
	c.git.Await("writer a → c", func() bool { return strings.Contains(strings.Join(c.git.Subjects(), "\n"), "writer a → c") })
	c.awaitHandedBackAtHead("c")
}

// TestFlux22ReceiptButAnotherSelector: somebody changed the Writer by hand in the very commit that Flux applies. Its receipt is there, its
// selector is not ours: nothing is released and the Writer is moved again, until Git says the truth.
func TestFlux22ReceiptButAnotherSelector(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{branch: "deploy"})
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.deployEdited("main", "services.yaml", instanceKey+": b", instanceKey+": c")
	c.awaitEvent("writer", "Reasserted", "kustomize-controller put it back")
	c.awaitServing("b")
	c.deploy("main")
	c.awaitHandedBack("b", 2)
	c.wantOwner("kustomize-controller")
	c.pg.Rejoin("a") // a planned change is applied
	c.git.AwaitSubject(3, "readers gain a (epoch 3)")
	c.deploy("main")
	c.awaitHandedBack("b", 3)
}

// TestFlux26ServiceDeletedAndMadeAnew: somebody deletes the Writer during an override, and Flux makes it anew as Git said before. The
// override is put on it again from what is remembered.
func TestFlux26ServiceDeletedAndMadeAnew(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{branch: "deploy"})
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	uid := now(c.stage, func() string { return c.service("writer").uid })
	c.kubectl("delete", "service", "story-writer")
	c.p.AwaitLine("hindered", c.object("writer")+": service-missing")
	c.request(kustomizations, "story")
	c.await(t, "another Writer Service at b", func() bool {
		svc := c.service("writer")
		return svc.exists && svc.uid != uid && svc.instance() == "b" && svc.isOverridden()
	})
	c.deploy("main")
	c.awaitHandedBack("b", 2)
	c.wantOwner("kustomize-controller")
}

// TestFlux27AnotherCommitThanOurs: what Flux applies is a squash of ours on another branch, so that no hash is ever the same. Receipts
// do not care.
func TestFlux27AnotherCommitThanOurs(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{branch: "deploy"})
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	squash := c.git.MustGit("-c", "user.name=P", "-c", "user.email=p@example.com", "commit-tree", "-m", "release 7", "main^{tree}")
	c.deploy(squash)
	c.awaitHandedBack("b", 2)
	c.wantWriters("a by kustomize-controller", "b by "+fieldManager)
}

// TestFlux30Suspended: a person has suspended the Kustomization. The override holds, and `status` says that Git has it and that it is not
// applied; when it goes on, the Services are handed back.
func TestFlux30Suspended(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{})
	c.suspend(kustomizations, "story", true)
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.p.AwaitLine("handover", "committed")
	out, said, code := c.once("status", "-f", c.file, "--lease-namespace", c.ns, "--exit-code")
	if code != 1 || !strings.Contains(out, "merged yes (2)") {
		t.Errorf("status: exit code %d\n%s%s", code, out, said)
	}
	c.wantFrozenAhead("b", "1")
	c.suspend(kustomizations, "story", false)
	c.awaitHandedBack("b", 2)
}

// TestFlux35FreezeHidesOtherChanges: another change of the Writer in Git is not applied while it is frozen. It is after the hand-back, and
// `status` says meanwhile that it is frozen.
func TestFlux35FreezeHidesOtherChanges(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{branch: "deploy"})
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	const port, other = "port: 6432", "port: 7432"
	c.deployEdited(c.git.Commits()[0], "services.yaml", port, other)
	c.awaitApplied("deploy")
	ports := func() string {
		return strings.TrimSpace(c.kubectl("get", "service", "story-writer", "-o", "jsonpath={.spec.ports[0].port}"))
	}
	if got := ports(); got != "6432" {
		t.Errorf("the frozen Writer has port %s", got)
	}
	if out, _ := c.asPerson("status", "--lease-namespace", c.ns); !strings.Contains(out, "frozen") {
		t.Errorf("status says nothing of the freeze:\n%s", out)
	}
	c.deployEdited("main", "services.yaml", port, other)
	c.await(t, "the hand-back", func() bool { return c.isHandedBack("2") })
	if got := ports(); got != "7432" {
		t.Errorf("after the hand-back the Writer has port %s", got)
	}
}

// TestFluxD05GitOwnsAtRest: outside of an override a person changes the live Writer. Flux puts it back; poolwright only says so.
func TestFluxD05GitOwnsAtRest(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{})
	c.kubectl("patch", "service", "story-writer", "--type=merge", "-p", `{"spec":{"selector":{"`+instanceKey+`":"b"}}}`)
	c.p.AwaitLine("hindered", c.object("writer")+": drifted", "kubectl-patch")
	c.request(kustomizations, "story")
	c.awaitServing("a")
	c.p.AwaitLine("cleared", c.object("writer")+": drifted")
	c.wantWriters("a by kustomize-controller", "b by kubectl-patch", "a by kustomize-controller")
	if asked := c.gate.all(isServicePatch); len(asked) > 0 {
		t.Errorf("poolwright patched %v", asked)
	}
}

// TestFluxD09WrongTreePrunesNoRoleService: a commit loses services.yaml. Flux prunes what it no longer finds, and not these two.
func TestFluxD09WrongTreePrunesNoRoleService(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{branch: "deploy"})
	before := now(c.stage, func() string { return c.service("writer").uid })
	c.deployEdited("main", "kustomization.yaml", "  - services.yaml\n", "")
	c.awaitApplied("deploy")
	if after := now(c.stage, func() string { return c.service("writer").uid }); after != before {
		t.Error("the Writer was pruned")
	}
	c.awaitServing("a")
}
